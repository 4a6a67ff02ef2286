//! What happens to a failed reply, and when it is handed up after all.

use super::{script::Step, *};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::time::Instant;

/// A 500 with this body at first, then an open circuit.
fn then_rejected(body: impl Fn() -> Script + Send + Sync + 'static) -> Probe<Sent, Script> {
    Probe::new(move |n, _| {
        let body = body();
        async move {
            if n == 1 {
                return Ok(Response::builder().status(500).body(body).unwrap());
            }
            Err(failed(Verdict::new(Class::Rejected)))
        }
    })
}

fn trailers() -> http::HeaderMap {
    [("x-sum".parse().unwrap(), "1".parse().unwrap())].into_iter().collect()
}

#[tokio::test(start_paused = true)]
async fn pitfall_18_the_failed_reply_is_let_go_before_the_sleep() {
    for last in [vec![], vec![Step::Stall], vec![Step::Fail]] {
        let live = Arc::new(AtomicUsize::new(0));
        let count = live.clone();
        let probe = Probe::<Sent, Script>::new(move |_, _| {
            let steps = [Step::Data(b"sorry"), Step::Yield].into_iter().chain(last.clone());
            let body = Script::new(steps).counted(&count);
            async move { Ok(Response::builder().status(500).body(body).unwrap()) }
        });
        let mut call = tokio_test::task::spawn(exact().layer(probe).oneshot(request()));
        assert!(call.poll().is_pending());
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert!(call.poll().is_pending(), "asleep until 1 s");
        assert_eq!(live.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_reply_is_read_to_its_end_so_that_its_connection_lives() {
    let reads = Arc::new(AtomicUsize::new(0));
    let seen = reads.clone();
    let probe = Probe::<Sent, Seen>::new(move |_, _| {
        let body = Seen(Script::new([Step::Data(b"so"), Step::Yield, Step::Data(b"rry")]), seen.clone());
        async move { Ok(Response::builder().status(500).body(body).unwrap()) }
    });
    exact().with_attempts(2).layer(probe).oneshot(request()).await.unwrap();
    assert_eq!(reads.load(Ordering::SeqCst), 1, "the end of the first was seen, the second is the caller's");
}

/// Counts how often its end was seen.
struct Seen(Script, Arc<AtomicUsize>);

impl http_body::Body for Seen {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, BoxError>>> {
        let polled = std::pin::Pin::new(&mut self.0).poll_frame(cx);
        if let std::task::Poll::Ready(None) = polled {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
        polled
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_trickles_delays_the_next_try_by_no_more_than_the_bound() {
    for (base, took) in [(Duration::ZERO, Duration::from_millis(100)), (secs(1), secs(1))] {
        let probe = Probe::<Sent, Script>::new(|n, _| async move {
            let body = if n == 1 { Script::new([Step::Stall]) } else { Script::text("fine") };
            Ok(Response::builder().status(if n == 1 { 500 } else { 200 }).body(body).unwrap())
        });
        let began = Instant::now();
        run(&exact().with_base_delay(base), &probe).await.unwrap();
        assert_eq!(began.elapsed(), took, "reading counts as waiting");
    }
}

#[tokio::test(start_paused = true)]
async fn where_our_own_circuit_refuses_the_next_try_the_reply_before_is_handed_up_whole() {
    let probe = then_rejected(|| {
        Script::new([Step::Data(b"so"), Step::Yield, Step::Data(b"rry"), Step::Trailers(trailers())])
    });
    let reply = run(&exact(), &probe).await.unwrap();
    assert_eq!(reply.status(), 500);
    let outcome = outcome(&reply);
    assert_eq!((outcome.attempts, outcome.reason), (1, Some(GiveUp::Rejected)), "a refused try is none");
    assert_eq!(outcome.class, Class::ServerError);
    let mut body = reply.into_body();
    assert_eq!(http_body::Body::size_hint(&body).exact(), Some(5));
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "so");
    assert_eq!(http_body::Body::size_hint(&body).exact(), Some(3));
    let body = body.collect().await.unwrap();
    assert_eq!(body.trailers(), Some(&trailers()));
    assert_eq!(body.to_bytes(), "rry");
}

#[tokio::test(start_paused = true)]
async fn an_empty_reply_can_be_handed_up_too() {
    let reply = run(&exact(), &then_rejected(Script::empty)).await.unwrap();
    assert_eq!(reply.status(), 500);
    assert!(http_body::Body::is_end_stream(reply.body()));
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_was_not_read_whole_never_passes_for_a_whole_one() {
    const LONG: &[u8] = &[b'x'; 65];
    for steps in
        [vec![Step::Data(LONG)], vec![Step::Data(b"so"), Step::Stall], vec![Step::Data(b"so"), Step::Fail]]
    {
        let probe = then_rejected(move || Script::new(steps.clone()));
        let layer = exact().with_drain(64, Duration::from_millis(10));
        let error = run(&layer, &probe).await.unwrap_err();
        assert_eq!(outcome_of(&error).reason, Some(GiveUp::Rejected));
        let verdict = crate::classify::HttpClassifier::new().error(&*error);
        assert_eq!(verdict.class, Class::Rejected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_is_always_there_to_be_handed_up() {
    let probe = Probe::<Sent, Script>::new(|n, _| async move {
        let class = if n == 1 { Class::Transport } else { Class::Rejected };
        Err(failed(Verdict::new(class)))
    });
    let error = run(&exact(), &probe).await.unwrap_err();
    assert_eq!(crate::classify::HttpClassifier::new().error(&*error).class, Class::Transport);
    assert_eq!(outcome_of(&error).attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_first_try_that_our_own_circuit_refuses_is_not_repeated() {
    let probe = Probe::<Sent, Script>::new(|_, _| async { Err(failed(Verdict::new(Class::Rejected))) });
    let error = run(&exact(), &probe).await.unwrap_err();
    assert_eq!((probe.calls(), outcome_of(&error).attempts), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_later_failure_of_the_server_replaces_the_earlier_one() {
    let reply = run(&exact(), &statuses(&[500, 401])).await.unwrap();
    assert_eq!(reply.status(), 401);
    assert_eq!((outcome(&reply).attempts, outcome(&reply).reason), (2, Some(GiveUp::NotRetryable)));
}

#[tokio::test(start_paused = true)]
async fn what_is_committed_is_not_tried_again() {
    let probe = Probe::<Sent, Script>::new(|_, _| async {
        Err(failed(Verdict::new(Class::Transport).with_committed(true)))
    });
    let error = run(&exact(), &probe).await.unwrap_err();
    assert_eq!((probe.calls(), outcome_of(&error).reason), (1, Some(GiveUp::Committed)));
}

#[test]
fn pitfall_8_the_reply_body_forwards_size_hint_and_end() {
    use http_body::Body;
    let body = ResponseBody::passed(Script::text("sorry"));
    assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(5), false));
    let body = ResponseBody::passed(Script::empty());
    assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(0), true));
}
