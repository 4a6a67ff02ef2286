//! On paused time.

use super::{FaultBody, ProbeLayer, Reply, ScriptedError, ScriptedService, ServiceProbe};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use mainstay_layers::error::find_cause;
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;
use tokio_test::{assert_pending, assert_ready, task};
use tower::{Service, ServiceBuilder, ServiceExt};

const SECOND: Duration = Duration::from_secs(1);

fn request(body: &'static str) -> Request<Full<Bytes>> {
    Request::post("/v1/chat/completions").body(Full::from(body)).unwrap()
}

/// Waits until the service is ready, then calls it.
async fn called<S, T>(service: &mut S) -> S::Future
where
    S: Service<Request<Full<Bytes>>, Response = T>,
    S::Error: std::fmt::Debug,
{
    service.ready().await.unwrap().call(request(""))
}

#[tokio::test(start_paused = true)]
async fn frames_come_in_order_after_their_waits_with_trailers_last() {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    let mut body = FaultBody::new().data("a").wait(5 * SECOND).data("b").trailers(trailers.clone());
    let (watch, start) = (body.watch(), Instant::now());
    assert_eq!(body.size_hint().exact(), Some(2));
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "a");
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "b");
    assert_eq!(start.elapsed(), 5 * SECOND);
    assert!(!body.is_end_stream(), "trailers are still to come");
    assert_eq!(body.frame().await.unwrap().unwrap().into_trailers().unwrap(), trailers);
    assert!(body.is_end_stream() && !watch.ended());
    assert!(body.frame().await.is_none());
    assert!(watch.ended() && !watch.dropped());
    assert!(body.frame().await.is_none());
    drop(body);
    assert_eq!((watch.frames(), watch.late_polls(), watch.dropped()), (3, 1, true));
}

#[tokio::test(start_paused = true)]
async fn a_body_fails_where_it_was_told_to_and_is_over_then() {
    let mut body = FaultBody::new().data("a").fail("cut").data("never");
    assert_eq!(body.size_hint().exact(), None);
    body.frame().await.unwrap().unwrap();
    let error = body.frame().await.unwrap().unwrap_err();
    assert_eq!(find_cause::<ScriptedError>(&*error), Some(&ScriptedError::new("cut")));
    assert!(body.is_end_stream());
    assert!(body.frame().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn silence_never_ends() {
    let mut body = FaultBody::new().data("a").silence();
    body.frame().await.unwrap().unwrap();
    assert!(tokio::time::timeout(3600 * SECOND, body.frame()).await.is_err());
    assert!(!body.is_end_stream());
}

#[test]
fn hints_can_be_switched_off() {
    let body = FaultBody::new().without_hints();
    assert!(!body.is_end_stream());
    assert_eq!(body.size_hint().exact(), None);
    assert!(FaultBody::new().is_end_stream());
}

#[tokio::test(start_paused = true)]
async fn call_i_gets_reply_i_and_the_last_reply_serves_the_rest() {
    let script = ScriptedService::new([Reply::status(503), Reply::json(200, &json!({"a": 1}))]);
    for (status, body) in [(503, ""), (200, r#"{"a":1}"#), (200, r#"{"a":1}"#)] {
        let reply = script.clone().oneshot(request("{}")).await.unwrap();
        assert_eq!(reply.status(), status);
        assert_eq!(reply.into_body().collect().await.unwrap().to_bytes(), body);
    }
    assert_eq!((script.calls(), script.in_flight(), script.dropped()), (3, 0, 0));
    let none = ScriptedService::new([]).oneshot(request("")).await;
    assert!(none.unwrap_err().to_string().contains("no reply"));
}

#[tokio::test(start_paused = true)]
async fn a_call_is_kept_as_it_was() {
    let script = ScriptedService::new([Reply::status(200), Reply::status(200).unread()]);
    let mut call = request("one");
    call.extensions_mut().insert(7_u8);
    call.headers_mut().insert("authorization", HeaderValue::from_static("Bearer s3cret"));
    script.clone().oneshot(call).await.unwrap();
    tokio::time::advance(SECOND).await;
    script.clone().oneshot(request("two")).await.unwrap();
    let [first, second] = &script.requests()[..] else { panic!("two calls") };
    assert_eq!(first.body.as_deref(), Some(&b"one"[..]));
    assert_eq!(first.parts.extensions.get::<u8>(), Some(&7));
    assert_eq!((second.number, second.body.as_ref()), (1, None));
    assert_eq!(second.at - first.at, SECOND);
    assert!(!format!("{first:?}").contains("s3cret"));
}

#[tokio::test(start_paused = true)]
async fn a_reply_waits_fails_or_never_comes() {
    let script =
        ScriptedService::new([Reply::status(200).after(3 * SECOND), Reply::fail("refused"), Reply::never()]);
    let start = Instant::now();
    script.clone().oneshot(request("")).await.unwrap();
    assert_eq!(start.elapsed(), 3 * SECOND);
    let error = script.clone().oneshot(request("")).await.unwrap_err();
    assert!(find_cause::<ScriptedError>(&*error).is_some());
    let never = tokio::time::timeout(3600 * SECOND, script.clone().oneshot(request(""))).await;
    assert!(never.is_err());
    assert_eq!((script.in_flight(), script.dropped(), script.most_in_flight()), (0, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_body_of_a_request_is_read_before_the_reply_comes_and_its_error_is_the_calls() {
    let script = ScriptedService::new([Reply::status(200)]);
    let slow = Request::new(FaultBody::new().data("a").wait(SECOND).data("b"));
    let start = Instant::now();
    script.clone().oneshot(slow).await.unwrap();
    assert_eq!(start.elapsed(), SECOND);
    assert_eq!(script.requests()[0].body.as_deref(), Some(&b"ab"[..]));
    let broken = Request::new(FaultBody::new().data("a").fail("the caller left"));
    assert_eq!(script.clone().oneshot(broken).await.unwrap_err().to_string(), "the caller left");
    assert_eq!(script.requests()[1].body, None);
    assert_eq!(script.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_event_stream_goes_on_as_the_script_says() {
    let reply =
        Reply::sse(["data: 1\n\n".into(), "data: 2\n\n".into()], FaultBody::new().wait(SECOND).fail("reset"));
    let reply = reply.header(HeaderName::from_static("x-a"), HeaderValue::from_static("b"));
    let reply = ScriptedService::new([reply]).oneshot(request("")).await.unwrap();
    assert_eq!(reply.headers()["content-type"], "text/event-stream");
    assert_eq!(reply.headers()["x-a"], "b");
    let mut body = reply.into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "data: 1\n\n");
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "data: 2\n\n");
    assert!(body.frame().await.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn calling_the_fresh_clone_is_a_violation() {
    let (mut service, probe) = ServiceProbe::new(ScriptedService::new([Reply::status(200)]));
    ServiceExt::<Request<Full<Bytes>>>::ready(&mut service).await.unwrap();
    let mut clone = service.clone();
    clone.call(request("")).await.unwrap();
    assert_eq!(probe.violations(), ["1 calls of a service that was not ready"]);
    service.call(request("")).await.unwrap();
    assert_eq!(
        (probe.clones(), probe.calls(), probe.unready_calls(), probe.unused_readiness()),
        (1, 2, 1, 0)
    );
    service.call(request("")).await.unwrap();
    assert_eq!(probe.unready_calls(), 2, "readiness is good for one call");
}

#[tokio::test(start_paused = true)]
async fn readiness_that_nobody_used_is_counted_and_is_no_violation() {
    let (mut service, probe) = ServiceProbe::new(ScriptedService::new([Reply::status(200)]));
    ServiceExt::<Request<Full<Bytes>>>::ready(&mut service).await.unwrap();
    drop(service);
    assert_eq!((probe.unused_readiness(), probe.violations().len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn futures_and_bodies_are_counted_until_they_end_or_are_dropped() {
    let stream = Reply::ok(FaultBody::new().data("a").silence());
    let script = ScriptedService::new([Reply::never(), stream, Reply::json(200, &json!(1))]);
    let layer = ProbeLayer::new();
    let probe = layer.probe();
    let mut service = ServiceBuilder::new().layer(layer).service(script);

    let mut never = task::spawn(called(&mut service).await);
    assert_pending!(never.poll());
    assert_eq!(probe.in_flight(), 1);
    drop(never);
    assert_eq!((probe.in_flight(), probe.dropped_futures()), (0, 1));

    let mut body = called(&mut service).await.await.unwrap().into_body();
    assert_eq!(probe.open_bodies(), 1);
    body.frame().await.unwrap().unwrap();
    assert_eq!(probe.violations(), ["1 bodies still open"]);
    drop(body);
    assert_eq!((probe.open_bodies(), probe.dropped_bodies()), (0, 1));

    let mut body = called(&mut service).await.await.unwrap().into_body();
    body.frame().await.unwrap().unwrap();
    assert_eq!(
        (probe.open_bodies(), probe.dropped_bodies()),
        (0, 1),
        "a body at its end needs no further poll"
    );
    let mut polled = task::spawn(body.frame());
    assert!(assert_ready!(polled.poll()).is_none());
    drop(polled);
    assert_eq!(probe.late_body_polls(), 0);
    assert!(body.frame().await.is_none());
    assert_eq!(probe.violations(), ["1 polls of a body after its end"]);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_empty_from_the_start_is_never_open() {
    let (service, probe) = ServiceProbe::new(ScriptedService::new([Reply::status(204)]));
    drop(service.oneshot(request("")).await.unwrap());
    assert_eq!((probe.open_bodies(), probe.dropped_bodies()), (0, 0));
}
