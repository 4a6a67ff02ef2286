//! Pitfall 32: what a layer counts is counted once, however often `layer()` is called. Some frameworks call it for each
//! route.

use crate::under::{Answer, Stack, Under, erase, request};
use http::{Response, StatusCode};
use mainstay_layers::{
    breaker::{CircuitBreakerLayer, CircuitOpen, Config},
    concurrency::{self, ConcurrencyLayer, Overloaded},
    error::find_cause,
    fault::{Fault, FaultLayer},
    retry::{Budget, GiveUp, Jitter, RetryLayer, RetryOutcome},
};
use mainstay_testkit::memory::{FaultBody, ServiceProbe};
use std::time::Duration;
use tower::{Layer, ServiceExt};

/// Two routes: the layer's own, and that of a clone.
macro_rules! routes {
    ($layer:expr, $under:expr) => {{
        let layer = $layer;
        let under = $under;
        let route = || ServiceProbe::new(under.clone()).0;
        let routes: [Stack; 2] = [erase(layer.layer(route())), erase(layer.clone().layer(route()))];
        routes
    }};
}

#[tokio::test(start_paused = true)]
async fn a_circuit_is_the_same_on_every_route() {
    let breaker = Config::new().with_failures(2).build("a").unwrap();
    let [one, two] = routes!(CircuitBreakerLayer::new(breaker), Under::statuses(&[500]));
    one.oneshot(request()).await.unwrap();
    two.clone().oneshot(request()).await.unwrap();
    let error = two.oneshot(request()).await.unwrap_err();
    assert!(find_cause::<CircuitOpen>(&*error).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_concurrency_limit_is_the_same_on_every_route() {
    let limit = concurrency::Config::new(1).with_queue_wait(Duration::ZERO).build();
    let silent = Under::new(|_| Answer::Reply(Response::new(FaultBody::new().silence())));
    let [one, two] = routes!(ConcurrencyLayer::new(limit), silent);
    let held = one.oneshot(request()).await.unwrap();
    let error = two.clone().oneshot(request()).await.unwrap_err();
    assert!(find_cause::<Overloaded>(&*error).is_some());
    drop(held);
    two.oneshot(request()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_retry_budget_is_the_same_on_every_route() {
    // One token to begin with, and one more a second.
    let layer = RetryLayer::new()
        .with_attempts(2)
        .with_budget(Budget::new(0.0, 1.0))
        .with_base_delay(Duration::from_millis(1))
        .with_jitter(Jitter::None);
    let [one, two] = routes!(layer, Under::statuses(&[500]));
    for (route, reason) in [(one, GiveUp::Attempts), (two, GiveUp::Budget)] {
        let reply = route.oneshot(request()).await.unwrap();
        assert_eq!(reply.extensions().get::<RetryOutcome>().unwrap().reason, Some(reason));
    }
}

#[tokio::test(start_paused = true)]
async fn a_script_of_faults_goes_on_over_all_routes() {
    let faults = FaultLayer::script([
        Fault::status(StatusCode::BAD_GATEWAY),
        Fault::status(StatusCode::SERVICE_UNAVAILABLE),
    ]);
    let [one, two] = routes!(faults, Under::statuses(&[200]));
    let mut statuses = Vec::new();
    for route in [&one, &two, &one] {
        statuses.push(route.clone().oneshot(request()).await.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [502, 503, 200]);
}
