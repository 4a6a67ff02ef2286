//! What an outage costs.

use super::*;
use parking_lot::Mutex;
use std::sync::Arc;

#[tokio::test(start_paused = true)]
async fn under_total_failure_calls_sent_per_call_offered_stay_under_the_ratio_plus_the_floor() {
    let (ratio, floor, calls) = (0.2, 10.0, 2000);
    let probe = statuses(&[503]);
    let layer = RetryLayer::new().with_budget(Budget::new(ratio, floor));
    let service = layer.layer(probe.clone());
    let began = tokio::time::Instant::now();
    let mut running = Vec::new();
    for _ in 0..calls {
        running.push(tokio::spawn(service.clone().oneshot(request())));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for call in running {
        assert_eq!(call.await.unwrap().unwrap().status(), 503);
    }
    let seconds = began.elapsed().as_secs_f64();
    let most = f64::from(calls) * (1.0 + ratio) + floor * (seconds + 1.0);
    let sent = probe.calls() as f64;
    assert!(sent <= most, "{sent} calls sent, at most {most}");
    assert!(sent > 0.9 * most, "{sent} calls sent: the budget is there to be used, up to {most}");
}

#[tokio::test(start_paused = true)]
async fn a_cold_start_allows_no_storm() {
    let probe = statuses(&[503]);
    let service = RetryLayer::new().with_budget(Budget::new(0.2, 10.0)).layer(probe.clone());
    let calls: Vec<_> = (0..1000).map(|_| tokio::spawn(service.clone().oneshot(request()))).collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    // One second of floor to begin with, a fifth of the calls, and the floor of the three seconds that it takes.
    let retries = probe.calls() - 1000;
    assert!(retries <= 10 + 200 + 30, "{retries} retries at once");
}

#[tokio::test(start_paused = true)]
async fn a_floor_of_less_than_one_a_second_grants_the_first_retry() {
    let budget = Budget::new(0.0, 1.0 / 60.0);
    assert!(budget.try_withdraw(1.0), "a floor is always there");
    assert!(!budget.try_withdraw(1.0));
    tokio::time::advance(Duration::from_secs(59)).await;
    assert!(!budget.try_withdraw(1.0));
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(budget.try_withdraw(1.0));
    assert!(!Budget::new(0.0, 0.0).try_withdraw(1.0), "there is no floor");
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_the_budget_denied_a_retry_says_so() {
    let reply = run(&exact().with_budget(Budget::new(0.0, 0.0)), &statuses(&[503])).await.unwrap();
    assert_eq!((outcome(&reply).attempts, outcome(&reply).reason), (1, Some(GiveUp::Budget)));
}

#[tokio::test(start_paused = true)]
async fn pitfall_23_nested_retries_draw_on_one_budget() {
    let budget = Budget::new(0.0, 2.0);
    let probe = Probe::<ReplayBody<Sent>, Script>::new(|_, _| async { Ok(status(503)) });
    let inner = exact().with_attempts(5).with_budget(budget.clone());
    let outer = exact().with_attempts(5).with_budget(budget);
    let reply = outer
        .with_base_delay(Duration::ZERO)
        .layer(inner.with_base_delay(Duration::ZERO).layer(probe.clone()));
    reply.oneshot(request()).await.unwrap();
    assert_eq!(probe.calls(), 3, "one call and two retries, not five times five");
}

#[tokio::test(start_paused = true)]
async fn clones_and_layers_share_one_budget() {
    let layer = exact().with_attempts(2).with_budget(Budget::new(0.0, 1.0)).with_base_delay(Duration::ZERO);
    let (one, other) = (statuses(&[503]), statuses(&[503]));
    run(&layer, &one).await.unwrap();
    run(&layer.clone(), &other).await.unwrap();
    assert_eq!(one.calls() + other.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_dear_call_costs_more_retries() {
    let budget = Budget::new(0.0, 8.0);
    let layer = exact()
        .with_base_delay(Duration::ZERO)
        .with_attempts(9)
        .with_budget(budget)
        .with_cost(|head, _| if head.headers.contains_key("x-dear") { 4.0 } else { 1.0 });
    let probe = statuses(&[503]);
    let mut dear = request();
    dear.headers_mut().insert("x-dear", "1".parse().unwrap());
    layer.layer(probe.clone()).oneshot(dear).await.unwrap();
    assert_eq!(probe.calls(), 3);
}

#[test]
fn the_cost_by_size_counts_units_and_is_at_least_one() {
    use http_body::SizeHint;
    let cost = cost_by_size(1000);
    let (mut head, ()) = Request::new(()).into_parts();
    assert_eq!(cost(&head, &SizeHint::with_exact(10)), 1.0);
    assert_eq!(cost(&head, &SizeHint::with_exact(2500)), 2.5);
    assert_eq!(cost(&head, &SizeHint::default()), 1.0);
    head.headers.insert("content-length", "4000".parse().unwrap());
    assert_eq!(cost(&head, &SizeHint::default()), 4.0);
}

#[tokio::test(start_paused = true)]
async fn tokens_come_by_the_second_and_are_saved_up_for_ten() {
    let budget = Budget::new(0.0, 3.0);
    assert_eq!(budget.available(), 3.0);
    tokio::time::advance(secs(1)).await;
    assert_eq!(budget.available(), 6.0);
    tokio::time::advance(secs(86_400)).await;
    assert_eq!(budget.available(), 30.0);
    assert!(budget.try_withdraw(30.0) && !budget.try_withdraw(0.1));
    tokio::time::advance(Duration::from_millis(500)).await;
    assert_eq!(budget.available(), 1.5);
    budget.refund(1.0);
    assert_eq!(budget.available(), 2.5);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_hour_of_deposits_pays_for_no_storm() {
    let budget = Budget::new(0.5, 0.0);
    (0..1000).for_each(|_| budget.deposit(1.0));
    assert_eq!(budget.available(), 10.0);
}

#[test]
fn nonsense_makes_no_retry_free() {
    for budget in [Budget::new(f64::NAN, f64::NAN), Budget::new(-1.0, -1.0)] {
        budget.deposit(1e300);
        assert_eq!(budget.available(), 0.0);
        assert!(!budget.try_withdraw(f64::NAN) && !budget.try_withdraw(f64::INFINITY));
    }
    let endless = Budget::new(f64::INFINITY, f64::INFINITY);
    assert!(endless.try_withdraw(1.0));
}

#[test]
fn many_threads_withdraw_no_token_twice() {
    let budget = Budget::new(1.0, 0.0);
    (0..10).for_each(|_| budget.deposit(1.0));
    let granted = Arc::new(Mutex::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..100).for_each(|_| *granted.lock() += usize::from(budget.try_withdraw(1.0))));
        }
    });
    assert_eq!(*granted.lock(), 10);
}

#[test]
fn grpc_throttling_follows_a6() {
    use crate::classify::Sent;
    let throttle = GrpcThrottle::new(10, 0.5);
    let failure = Verdict::new(Class::Overloaded).with_sent(Sent::No);
    (0..4).for_each(|_| throttle.record(&failure));
    assert!(throttle.try_withdraw(1.0), "6 of 10 are left");
    throttle.record(&failure);
    assert!(!throttle.try_withdraw(1.0), "half is not more than half");
    throttle.record(&Verdict::new(Class::InvalidRequest));
    throttle.record(&Verdict::new(Class::Success));
    assert!(throttle.is_open(), "a failure that no retry cures takes nothing, a success gives the ratio");
    throttle.record(&Verdict::new(Class::Overloaded).with_retry(Some(false)));
    assert!(!throttle.is_open(), "a server that forbids a retry takes one");
    (0..100).for_each(|_| throttle.record(&Verdict::new(Class::Success)));
    (0..4).for_each(|_| throttle.record(&failure));
    assert!(throttle.is_open(), "there are never more than 10");
    throttle.record(&failure);
    assert!(!throttle.is_open());
}
