//! What tower demands of a layer, checked by the testkit's probe below it.

use example_custom_layer::{QuotaUsed, TeamQuotaLayer};
use http::Request;
use http_body_util::BodyExt;
use mainstay_layers::error::find_cause;
use mainstay_testkit::memory::{FaultBody, Reply, ScriptedService, ServiceProbe};
use std::time::Duration;
use tokio_test::{assert_pending, task};
use tower::{Layer, Service, ServiceExt};

#[allow(clippy::unwrap_used, reason = "in a test that is an assertion")]
fn call(team: &'static str) -> Request<FaultBody> {
    Request::post("/").header("x-team", team).body(FaultBody::new()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn only_the_instance_that_is_ready_is_called() {
    let (service, probe) = ServiceProbe::new(ScriptedService::new([Reply::ok(FaultBody::from("a"))]));
    let mut service = TeamQuotaLayer::new(9).layer(service);
    let clone = ServiceExt::<Request<FaultBody>>::ready(&mut service).await.unwrap().clone();
    service.call(call("a")).await.unwrap().into_body().collect().await.unwrap();
    clone.oneshot(call("a")).await.unwrap().into_body().collect().await.unwrap();
    drop(service);
    assert_eq!(probe.calls(), 2);
    assert_eq!(probe.violations(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn to_be_ready_uses_up_nothing() {
    let layer = TeamQuotaLayer::new(1);
    let service = layer.layer(ScriptedService::new([Reply::status(200)]));
    let mut idle: Vec<_> = (0..9).map(|_| service.clone()).collect();
    for each in &mut idle {
        ServiceExt::<Request<FaultBody>>::ready(each).await.unwrap();
    }
    service.oneshot(call("a")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_leaves_nothing_in_flight() {
    let (service, probe) = ServiceProbe::new(ScriptedService::new([Reply::never()]));
    let mut running = task::spawn(TeamQuotaLayer::new(9).layer(service).oneshot(call("a")));
    assert_pending!(running.poll());
    assert_eq!(probe.in_flight(), 1);
    drop(running);
    assert_eq!((probe.in_flight(), probe.dropped_futures()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn the_count_is_one_for_all_routes_and_one_for_each_team() {
    let layer = TeamQuotaLayer::new(1);
    let route = || layer.clone().layer(ScriptedService::new([Reply::status(200)]));
    route().oneshot(call("a")).await.unwrap();
    let error = route().oneshot(call("a")).await.unwrap_err();
    assert!(find_cause::<QuotaUsed>(&*error).is_some());
    route().oneshot(call("b")).await.unwrap();
    tokio::time::advance(Duration::from_secs(60)).await;
    route().oneshot(call("a")).await.unwrap();
}
