//! How often, and when.

use super::*;
use http::HeaderValue;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::time::Instant;

/// Answers by status and headers and notes when it was asked.
fn timed(
    answer: impl Fn(usize) -> Response<Script> + Send + Sync + 'static,
) -> (Probe<Sent, Script>, Arc<Mutex<Vec<Duration>>>) {
    let (began, times) = (Instant::now(), Arc::<Mutex<Vec<Duration>>>::default());
    let noted = times.clone();
    let probe = Probe::new(move |n, _| {
        noted.lock().push(began.elapsed());
        let answer = answer(n);
        async move { Ok(answer) }
    });
    (probe, times)
}

fn after(code: u16, wait: &'static str) -> Response<Script> {
    let mut reply = status(code);
    reply.headers_mut().insert("retry-after", HeaderValue::from_static(wait));
    reply
}

#[tokio::test(start_paused = true)]
async fn a_success_is_handed_on_untouched_and_unmarked() {
    let probe = statuses(&[200]);
    let reply = run(&exact(), &probe).await.unwrap();
    assert_eq!(probe.calls(), 1);
    assert!(reply.extensions().get::<RetryOutcome>().is_none());
    assert_eq!(text(reply).await, "sorry");
}

#[tokio::test(start_paused = true)]
async fn the_delay_doubles_from_try_to_try() {
    let (probe, times) = timed(|_| status(500));
    let reply = run(&exact().with_attempts(4), &probe).await.unwrap();
    assert_eq!(*times.lock(), [0, 1, 3, 7].map(secs));
    assert_eq!(outcome(&reply).attempts, 4);
    assert_eq!(outcome(&reply).reason, Some(GiveUp::Attempts));
    assert_eq!(text(reply).await, "sorry", "the last reply is the provider's own, body and all");
}

#[tokio::test(start_paused = true)]
async fn a_success_after_failures_says_how_many_tries_it_took() {
    let reply = run(&exact(), &statuses(&[500, 502, 200])).await.unwrap();
    assert_eq!(reply.status(), 200);
    assert_eq!((outcome(&reply).attempts, outcome(&reply).reason), (3, None));
}

#[tokio::test(start_paused = true)]
async fn forty_tries_neither_overflow_nor_exceed_the_longest_delay() {
    let (probe, times) = timed(|_| status(500));
    let layer = exact().with_attempts(40).with_max_delay(secs(5)).with_within(None);
    run(&layer, &probe).await.unwrap();
    let times = times.lock();
    assert_eq!(times.len(), 40);
    assert_eq!(times[39], secs(1 + 2 + 4 + 36 * 5));
}

#[tokio::test(start_paused = true)]
async fn a_servers_wait_replaces_the_backoff() {
    let (probe, times) = timed(|n| if n == 1 { after(429, "7") } else { status(200) });
    run(&exact(), &probe).await.unwrap();
    assert_eq!(*times.lock(), [0, 7].map(secs));
}

#[tokio::test(start_paused = true)]
async fn retry_after_zero_does_not_switch_the_backoff_off() {
    let (probe, times) = timed(|_| after(503, "0"));
    run(&exact(), &probe).await.unwrap();
    assert_eq!(*times.lock(), [0, 1, 3].map(secs));
}

#[tokio::test(start_paused = true)]
async fn pitfall_24_a_wait_over_the_cap_ends_the_tries_at_once_and_is_named() {
    let (probe, times) = timed(|_| after(429, "61"));
    let reply = run(&exact(), &probe).await.unwrap();
    assert_eq!(*times.lock(), [secs(0)]);
    let outcome = outcome(&reply);
    assert_eq!((outcome.reason, outcome.wait), (Some(GiveUp::WaitTooLong), Some(secs(61))));
    assert_eq!(reply.headers()["retry-after"], "61");
}

#[tokio::test(start_paused = true)]
async fn the_wait_of_an_error_is_named_and_its_verdict_stays_findable() {
    let probe = Probe::<Sent, Script>::new(|_, _| async {
        Err(failed(Verdict::new(Class::RateLimited).with_wait(Some(secs(3600)))))
    });
    let error = run(&exact(), &probe).await.unwrap_err();
    assert_eq!(outcome_of(&error).wait, Some(secs(3600)));
    assert_eq!(error.to_string(), "it failed (after 1 try, wait_too_long, asked to wait 3600s)");
    let verdict = crate::classify::HttpClassifier::new().error(&*error);
    assert_eq!((verdict.class, verdict.wait), (Class::RateLimited, Some(secs(3600))));
}

#[tokio::test(start_paused = true)]
async fn no_try_begins_that_within_has_no_time_for() {
    let (probe, times) = timed(|_| status(500));
    let reply = run(&exact().with_attempts(9).with_within(secs(7)), &probe).await.unwrap();
    assert_eq!(*times.lock(), [0, 1, 3].map(secs), "7 s is too late");
    assert_eq!(outcome(&reply).reason, Some(GiveUp::NoTime));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_polled_too_late_begins_no_try() {
    let probe = statuses(&[500]);
    let service = exact().with_within(secs(5)).layer(probe.clone());
    let mut call = tokio_test::task::spawn(service.oneshot(request()));
    assert!(call.poll().is_pending());
    tokio::time::sleep(secs(5)).await;
    let reply = tokio_test::assert_ready!(call.poll()).unwrap();
    assert_eq!((probe.calls(), outcome(&reply).reason), (1, Some(GiveUp::NoTime)));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_the_time_left_does_not_hold_is_not_slept() {
    let (probe, times) = timed(|_| after(429, "30"));
    let began = Instant::now();
    let reply = run(&exact().with_within(secs(20)), &probe).await.unwrap();
    assert_eq!((times.lock().len(), began.elapsed()), (1, Duration::ZERO));
    assert_eq!((outcome(&reply).reason, outcome(&reply).wait), (Some(GiveUp::NoTime), Some(secs(30))));
}

#[cfg(feature = "deadline")]
#[tokio::test(start_paused = true)]
async fn pitfall_22_no_sleep_is_begun_that_would_cross_the_deadline() {
    use crate::deadline::Deadline;
    let (probe, times) = timed(|_| status(500));
    let mut request = request();
    request.extensions_mut().insert(Deadline::from(Instant::now() + secs(3)));
    let began = Instant::now();
    let reply = exact().with_attempts(9).layer(probe).oneshot(request).await.unwrap();
    assert_eq!(*times.lock(), [0, 1].map(secs));
    assert_eq!(began.elapsed(), secs(1), "given up where the time was known to be too short");
    assert_eq!(outcome(&reply).reason, Some(GiveUp::NoTime));
}

#[tokio::test(start_paused = true)]
async fn pitfall_21_a_thousand_callers_refused_at_once_come_back_spread() {
    let (probe, times) = timed(|n| if n <= 1000 { after(429, "5") } else { status(200) });
    let layer = RetryLayer::new();
    let service = layer.layer(probe);
    let calls = (0..1000).map(|_| tokio::spawn(service.clone().oneshot(request())));
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap().unwrap().status(), 200);
    }
    let times = times.lock();
    let mut second: Vec<_> = times[1000..].iter().map(Duration::as_millis).collect();
    second.sort_unstable();
    assert!((5000..=5100).contains(&second[0]) && (5900..=6001).contains(&second[999]));
    // In each tenth of the second over which they are spread there are about a hundred.
    for tenth in 0..10 {
        let from = 5000 + tenth * 100;
        let share = second.iter().filter(|at| (from..from + 100).contains(*at)).count();
        assert!((50..=160).contains(&share), "{share} of 1000 in one tenth");
    }
    let distinct = second.chunk_by(|a, b| a == b).count();
    assert!(distinct > 500, "{distinct} distinct milliseconds");
}

#[tokio::test(start_paused = true)]
async fn without_a_hint_a_thousand_second_tries_fill_the_whole_delay() {
    let (probe, times) = timed(|n| status(if n <= 1000 { 429 } else { 200 }));
    let service = RetryLayer::new().layer(probe);
    let calls = (0..1000).map(|_| tokio::spawn(service.clone().oneshot(request())));
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    let times = times.lock();
    for tenth in 0..10 {
        let from = tenth * 100;
        let share = times[1000..].iter().filter(|at| (from..from + 100).contains(&at.as_millis())).count();
        assert!((50..=160).contains(&share), "{share} of 1000 in one tenth");
    }
}

#[tokio::test(start_paused = true)]
async fn pitfall_26_a_stale_connection_is_replayed_once_for_free_and_not_for_ever() {
    let stale = || failed(Verdict::new(Class::Transport).with_stale(true));
    let (began, times) = (Instant::now(), Arc::<Mutex<Vec<Duration>>>::default());
    let noted = times.clone();
    let probe = Probe::<Sent, Script>::new(move |_, _| {
        noted.lock().push(began.elapsed());
        async move { Err(stale()) }
    });
    let budget = Budget::new(0.0, 0.0);
    budget.refund(1.0);
    let error = run(&exact().with_budget(budget), &probe).await.unwrap_err();
    // At once for free, then one retry that the budget pays for, then no more.
    assert_eq!(*times.lock(), [0, 0, 1].map(secs));
    assert_eq!((outcome_of(&error).attempts, outcome_of(&error).reason), (2, Some(GiveUp::Budget)));
}

#[tokio::test(start_paused = true)]
async fn a_stale_connection_does_not_cost_a_single_try_its_answer() {
    let probe = Probe::<Sent, Script>::new(|n, request| async move {
        assert_eq!(Attempt::of(request.extensions()).number, 1, "it is the same try");
        assert_eq!(request.into_body().collect().await.unwrap().to_bytes(), "a question");
        if n == 1 { Err(failed(Verdict::new(Class::Transport).with_stale(true))) } else { Ok(status(200)) }
    });
    let reply = run(&exact().with_attempts(1), &probe).await.unwrap();
    assert_eq!((reply.status().as_u16(), probe.calls()), (200, 2));
}

#[tokio::test(start_paused = true)]
async fn pitfall_20_extensions_are_carried_and_the_attempt_is_fresh() {
    #[derive(Clone, PartialEq, Debug)]
    struct Tenant(&'static str);

    let seen = Arc::<Mutex<Vec<_>>>::default();
    let noted = seen.clone();
    let probe = Probe::<Sent, Script>::new(move |_, mut request| {
        let tenant = request.extensions_mut().remove::<Tenant>();
        noted.lock().push((Attempt::of(request.extensions()).number, tenant.map(|tenant| tenant.0)));
        async { Ok(status(500)) }
    });
    let mut request = request();
    request.extensions_mut().insert(Tenant("a"));
    request.extensions_mut().insert(Attempt::new(7));
    exact().layer(probe).oneshot(request).await.unwrap();
    assert_eq!(*seen.lock(), [1, 2, 3].map(|number| (number, Some("a"))));
}

#[tokio::test(start_paused = true)]
async fn a_request_can_bring_its_own_configuration() {
    let probe = statuses(&[500]);
    let mut off = request();
    off.extensions_mut().insert(RetryConfig::off());
    let reply = exact().layer(probe.clone()).oneshot(off).await.unwrap();
    assert_eq!((probe.calls(), outcome(&reply).attempts), (1, 1));

    let mut more = request();
    more.extensions_mut().insert(RetryConfig { attempts: 5, ..RetryConfig::new() });
    let reply = exact().layer(probe).oneshot(more).await.unwrap();
    assert_eq!(outcome(&reply).attempts, 5);
}

#[tokio::test(start_paused = true)]
async fn switched_off_errors_pass_as_they_are() {
    let probe = Probe::<Sent, Script>::new(|_, _| async {
        Err(failed(Verdict::new(Class::Transport).with_stale(true)))
    });
    let error = run(&exact().with_config(RetryConfig::off()), &probe).await.unwrap_err();
    assert!(error.downcast_ref::<Failed>().is_some());
    assert_eq!(probe.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_tried_again_only_where_no_next_target_is_left() {
    for (next, calls) in [(None, 3), (Some(NextTarget(false)), 3), (Some(NextTarget(true)), 1)] {
        let probe = statuses(&[504]);
        let mut request = request();
        if let Some(next) = next {
            request.extensions_mut().insert::<NextTarget>(next);
        }
        exact().layer(probe.clone()).oneshot(request).await.unwrap();
        assert_eq!(probe.calls(), calls, "{next:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn keyed_safety_looks_for_the_key_that_the_idempotency_layer_sets() {
    let layer = exact().with_safety(RetrySafety::Keyed);
    let probe = statuses(&[500]);
    let reply = run(&layer, &probe).await.unwrap();
    assert_eq!((probe.calls(), outcome(&reply).reason), (1, Some(GiveUp::Unsafe)));

    let keys = Arc::<Mutex<Vec<_>>>::default();
    let noted = keys.clone();
    let probe = Probe::<Sent, Script>::new(move |_, request| {
        noted.lock().push(request.headers()["idempotency-key"].clone());
        async { Ok(status(500)) }
    });
    IdempotencyLayer::new().layer(layer.layer(probe)).oneshot(request()).await.unwrap();
    let mut keys = keys.lock().clone();
    assert_eq!(keys.len(), 3);
    keys.dedup();
    assert_eq!(keys.len(), 1, "one key for all tries");
}

#[tokio::test(start_paused = true)]
async fn the_hook_is_told_of_each_decision() {
    let told = Arc::<Mutex<Vec<String>>>::default();
    let noted = told.clone();
    let layer = exact().with_attempts(2).with_hook(move |event| {
        noted.lock().push(match event {
            RetryEvent::Retry { attempt, verdict, delay, .. } => {
                format!("{attempt} {verdict} {delay:?}", verdict = verdict.class)
            }
            RetryEvent::GiveUp { attempts, verdict, reason } => {
                format!("{attempts} {} {reason}", verdict.class)
            }
        });
    });
    run(&layer, &statuses(&[503, 500])).await.unwrap();
    run(&layer, &statuses(&[200])).await.unwrap();
    assert_eq!(*told.lock(), ["1 overloaded 1s", "2 server_error attempts"]);
}
