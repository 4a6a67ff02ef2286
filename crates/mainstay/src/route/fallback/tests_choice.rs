//! Which target comes first, and what happens while there is none.

use super::super::testing::{Play, Provider, Watch, chat, request, route};
use super::*;
use crate::route::CallFailed;
use mainstay_layers::classify::{Class, Verdict};
use std::{collections::HashMap, time::Duration};
use tokio::time::Instant;
use tower::ServiceExt;

const SECOND: Duration = Duration::from_secs(1);

fn well() -> Provider {
    Provider::new([Play::answer("x")])
}

async fn served(fallback: &Fallback, request: Request<RequestBody>) -> String {
    let response = fallback.clone().oneshot(request).await.unwrap();
    response.extensions().get::<Served>().unwrap().target.to_string()
}

#[tokio::test(start_paused = true)]
async fn at_once_goes_on_without_a_retry_or_a_wait_and_the_last_one_keeps_its_tries() {
    let a = Provider::new([Play::error(500, "x")]).attempts(3);
    let b = Provider::new([Play::error(500, "x"), Play::error(500, "x"), Play::answer("b")]).attempts(3);
    let (fallback, _) = route(&[("a", &a), ("b", &b)]);
    let fallback = fallback.with_failover(Failover::AtOnce);
    let before = Instant::now();
    assert_eq!(served(&fallback, chat()).await, "b");
    assert_eq!((a.calls(), b.calls()), (1, 3));
    assert_eq!(before.elapsed(), SECOND * 3, "only the last one waited between its tries");
}

#[tokio::test(start_paused = true)]
async fn at_once_retries_where_no_other_target_is_free() {
    let (a, b) = (Provider::new([Play::error(500, "x"), Play::answer("a")]).attempts(3), well());
    b.breaker.force_open();
    let (fallback, _) = route(&[("a", &a), ("b", &b)]);
    assert_eq!(served(&fallback.with_failover(Failover::AtOnce), chat()).await, "a");
}

#[tokio::test(start_paused = true)]
async fn weights_are_shares_and_a_weight_of_nothing_comes_last() {
    fastrand::seed(7);
    let all = [well(), well(), well()];
    let (fallback, _) = route(&[("a", &all[0]), ("b", &all[1]), ("c", &all[2])]);
    let fallback = fallback.with_strategy(Strategy::Weighted([3, 1, 0].into()));
    for _ in 0..2000 {
        served(&fallback, chat()).await;
    }
    let calls: Vec<_> = all.iter().map(Provider::calls).collect();
    assert!((1400..1600).contains(&calls[0]) && calls[2] == 0, "{calls:?}");
    // Those that are passed by leave their share to the others.
    all[0].breaker.force_open();
    all[1].breaker.force_open();
    assert_eq!(served(&fallback, chat()).await, "c");
}

#[tokio::test(start_paused = true)]
async fn a_sticky_caller_stays_and_callers_are_spread_by_weight() {
    let all = [well(), well()];
    let (fallback, _) = route(&[("a", &all[0]), ("b", &all[1])]);
    let fallback = fallback.with_strategy(Strategy::Weighted([3, 1].into()));
    let header = fallback.clone().with_sticky(Sticky::Header("x-user".parse().unwrap()));
    let mut of: HashMap<u32, String> = HashMap::new();
    for round in 0..3 {
        for user in 0..400 {
            let mut request = chat();
            request.headers_mut().insert("x-user", user.into());
            let place = served(&header, request).await;
            assert_eq!(*of.entry(user).or_insert(place.clone()), place, "round {round}");
        }
    }
    let first = of.values().filter(|place| *place == "a").count();
    assert!((260..340).contains(&first), "{first}");

    // One that is down is stood in for, and only its callers move.
    all[1].breaker.force_open();
    for user in 0..50 {
        let mut request = chat();
        request.headers_mut().insert("x-user", user.into());
        assert_eq!(served(&header, request).await, "a");
    }
    all[1].breaker.force_close();
    let by_user = fallback.with_sticky(Sticky::User);
    for body in [
        r#"{"model":"m","user":"u-7"}"#,
        r#"{"user":"u-7","x":1,"model":"m"}"#,
        r#"{"model":"m","metadata":{"user_id":"u-7"}}"#,
    ] {
        let place = served(&by_user, request("/v1/chat/completions", r#"{"model":"m","user":"u-7"}"#)).await;
        assert_eq!(served(&by_user, request("/v1/chat/completions", body)).await, place);
    }
}

#[tokio::test(start_paused = true)]
async fn the_faster_of_two_is_asked_and_a_slow_one_gets_another_chance_in_time() {
    let slow = Provider::new([Play::answer("x").after(SECOND * 2), Play::answer("x").after(SECOND / 10)]);
    let fast = Provider::new([Play::answer("x").after(SECOND / 5)]);
    let (fallback, _) = route(&[("slow", &slow), ("fast", &fast)]);
    let fallback = fallback.with_strategy(Strategy::Latency);
    for _ in 0..20 {
        served(&fallback, chat()).await;
    }
    assert_eq!(slow.calls(), 1, "it was tried, since nothing was known of it");
    tokio::time::advance(SECOND * 300).await;
    for _ in 0..20 {
        served(&fallback, chat()).await;
    }
    assert!(slow.calls() > 1);
}

#[tokio::test(start_paused = true)]
async fn of_two_that_are_as_fast_the_one_with_fewer_calls_is_asked() {
    let all =
        [Provider::new([Play::answer("x").after(SECOND)]), Provider::new([Play::answer("x").after(SECOND)])];
    let (fallback, _) = route(&[("a", &all[0]), ("b", &all[1])]);
    let fallback = fallback.with_strategy(Strategy::Latency);
    let calls = (0..40).map(|n| {
        let fallback = fallback.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(n)).await;
            served(&fallback, chat()).await
        }
    });
    let tasks: Vec<_> = calls.map(tokio::spawn).collect();
    for task in tasks {
        task.await.unwrap();
    }
    let calls: Vec<_> = all.iter().map(Provider::calls).collect();
    assert!(calls.iter().all(|calls| (18..=22).contains(calls)), "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn an_ill_target_is_no_choice_of_the_fastest() {
    let all = [well(), well(), well()];
    let (fallback, _) = route(&[("a", &all[0]), ("b", &all[1]), ("c", &all[2])]);
    all[0].breaker.force_open();
    all[1].breaker.force_open();
    let fallback = fallback.with_strategy(Strategy::Latency);
    for _ in 0..10 {
        assert_eq!(served(&fallback, chat()).await, "c");
    }
}

fn cool(fallback: &Fallback, at: usize, wait: Duration) {
    let target = &fallback.targets()[at];
    let verdict = Verdict::new(Class::RateLimited).with_wait(Some(wait));
    target.cool(http::StatusCode::TOO_MANY_REQUESTS, &verdict, true, &"m".into());
}

#[tokio::test(start_paused = true)]
async fn a_call_may_wait_for_the_target_that_comes_back_first() {
    let (a, b) = (well(), well());
    let (fallback, _) = route(&[("a", &a), ("b", &b)]);
    let fallback = fallback.when_exhausted(WhenExhausted::Wait(SECOND * 60));
    cool(&fallback, 0, SECOND * 20);
    cool(&fallback, 1, SECOND * 5);
    let before = Instant::now();
    assert_eq!(served(&fallback, chat()).await, "b");
    assert!((SECOND * 5..SECOND * 6).contains(&before.elapsed()));
}

#[tokio::test(start_paused = true)]
async fn it_does_not_wait_past_its_time_or_its_deadline() {
    let a = well();
    let (fallback, _) = route(&[("a", &a)]);
    let fallback = fallback.when_exhausted(WhenExhausted::Wait(SECOND * 60));
    cool(&fallback, 0, SECOND * 61);
    let failed = |error: BoxError| *error.downcast::<CallFailed>().unwrap();
    let before = Instant::now();
    let error = failed(fallback.clone().oneshot(chat()).await.unwrap_err());
    assert_eq!((before.elapsed(), error.status.as_u16()), (Duration::ZERO, 429));
    tokio::time::advance(SECOND * 40).await;
    let mut request = chat();
    request.extensions_mut().insert(mainstay_layers::deadline::Deadline::after(SECOND * 20));
    assert!(fallback.clone().oneshot(request).await.is_err());
    assert_eq!((a.calls(), before.elapsed()), (0, SECOND * 40));
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_for_an_open_circuit_send_no_more_than_its_probes_while_it_is_ill() {
    let a = Provider::new([Play::error(500, "x")]);
    let (fallback, _) = route(&[("a", &a)]);
    for _ in 0..5 {
        fallback.clone().oneshot(chat()).await.unwrap_err();
    }
    assert!(a.breaker.retry_in().is_some());
    let fallback = fallback.when_exhausted(WhenExhausted::Wait(SECOND * 100));
    let before = Instant::now();
    let tasks: Vec<_> = (0..50).map(|_| tokio::spawn(fallback.clone().oneshot(chat()))).collect();
    for task in tasks {
        assert!(task.await.unwrap().is_err());
    }
    assert!(before.elapsed() < SECOND * 101);
    // Four rounds of at most five probes.
    assert!(a.calls() <= 5 + 4 * 5, "{}", a.calls());
    a.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn odd_weights_are_no_trouble() {
    let all = [well(), well(), well()];
    let (fallback, _) = route(&[("a", &all[0]), ("b", &all[1]), ("c", &all[2])]);
    for sticky in [None, Some(Sticky::User)] {
        let weighted = |weights: &[u32]| {
            fallback.clone().with_strategy(Strategy::Weighted(weights.into())).with_sticky(sticky.clone())
        };
        for _ in 0..20 {
            // 0 comes last, in the order of the list; all 0 is the list itself; what is missing is 1, what is over is nobody's.
            assert_eq!(served(&weighted(&[0, 1, 0]), chat()).await, "b");
            assert_eq!(served(&weighted(&[0, 0, 0, 9]), chat()).await, "a");
            assert_eq!(served(&weighted(&[0, 0]), chat()).await, "c");
            assert_eq!(served(&weighted(&[0, u32::MAX, 0]), chat()).await, "b");
        }
    }
    // One of weight 0 is asked all the same when the others fail.
    all[1].replace([Play::error(500, "x")]);
    all[2].replace([Play::error(500, "x")]);
    let weighted = fallback.with_strategy(Strategy::Weighted([0, 1, 1].into()));
    assert_eq!(served(&weighted, chat()).await, "a");
}

#[tokio::test(start_paused = true)]
async fn a_target_that_is_listed_twice_is_asked_twice_and_has_one_circuit() {
    let a = Provider::new([Play::error(500, "x")]);
    for strategy in [Strategy::Order, Strategy::Latency, Strategy::Weighted([1, 5].into())] {
        let (fallback, _) = route(&[("a", &a), ("a", &a)]);
        let before = a.calls();
        let failed = fallback.with_strategy(strategy).oneshot(chat()).await.unwrap_err();
        let failed = failed.downcast::<CallFailed>().unwrap();
        assert_eq!((a.calls() - before, failed.tries, failed.attempts.len()), (2, 2, 2));
        a.breaker.force_open();
        let (fallback, _) = route(&[("a", &a), ("a", &a)]);
        let failed = fallback.oneshot(chat()).await.unwrap_err().downcast::<CallFailed>().unwrap();
        assert_eq!((failed.tries, failed.code), (0, Some("circuit_open")));
        a.breaker.force_close();
    }
}

#[test]
fn a_route_in_order_makes_no_list_of_its_own() {
    let watch = Arc::new(Watch::default());
    let fallback = Fallback::new([well().target("a", &watch), well().target("b", &watch)]);
    let (parts, body) = chat().into_parts();
    let targets =
        order::targets(fallback.settings(), &parts.headers, &body, crate::route::target::Asks::default());
    assert!(std::ptr::eq(targets.as_ptr(), fallback.targets().as_ptr()));
}
