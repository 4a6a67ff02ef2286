use super::*;
use crate::{
    BoxError,
    classify::{Class, Classify, HttpClassifier, Sent},
    testing::{FedBody, data, failure, fed, next},
};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_test::{assert_pending, assert_ready, task};
use tower::{Layer, Service, ServiceExt};
use tower_test::mock::{self, Mock};

type Handle = mock::Handle<Request<()>, Response<FedBody>>;
type Under = WithDeadline<Mock<Request<()>, Response<FedBody>>>;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn under(layer: DeadlineLayer) -> (Under, Handle) {
    let (service, mut handle) = mock::pair();
    handle.allow(1000);
    (layer.layer(service), handle)
}

/// What is left of the deadline that a request has below the layer.
async fn remaining(layer: DeadlineLayer, request: Request<()>) -> Option<Duration> {
    let (mut under, mut handle) = under(layer);
    let _future = under.ready().await.unwrap().call(request);
    let (request, _send) = handle.next_request().await.unwrap();
    Deadline::of(request.extensions()).map(Deadline::remaining)
}

fn with(name: &'static str, value: &'static str) -> Request<()> {
    let mut request = Request::new(());
    request.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    request
}

#[tokio::test(start_paused = true)]
async fn the_earliest_deadline_wins() {
    let layer = || DeadlineLayer::after(secs(10)).with_grpc_timeout(true);
    assert_eq!(remaining(layer(), Request::new(())).await, Some(secs(10)));
    assert_eq!(remaining(layer(), with("grpc-timeout", "3S")).await, Some(secs(3)));
    assert_eq!(remaining(layer(), with("grpc-timeout", "1M")).await, Some(secs(10)));
    assert_eq!(remaining(layer(), with("grpc-timeout", "3")).await, Some(secs(10)));
    for (own, expected) in [(secs(2), secs(2)), (secs(20), secs(10))] {
        let mut request = Request::new(());
        request.extensions_mut().insert(Deadline::after(own));
        assert_eq!(remaining(layer(), request).await, Some(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_of_no_options_sets_none_and_reads_no_header() {
    assert_eq!(remaining(DeadlineLayer::new(), with("grpc-timeout", "3S")).await, None);
    assert_eq!(remaining(DeadlineLayer::after(Duration::ZERO), Request::new(())).await, None);
}

#[tokio::test(start_paused = true)]
async fn named_headers_are_read_as_seconds() {
    let layer = DeadlineLayer::new()
        .with_seconds_header(HeaderName::from_static("x-stainless-timeout"))
        .with_seconds_header(HeaderName::from_static("x-stainless-read-timeout"));
    let read = |name, value| remaining(layer.clone(), with(name, value));
    assert_eq!(read("x-stainless-timeout", "600").await, Some(secs(600)));
    assert_eq!(read("x-stainless-read-timeout", "1.5").await, Some(Duration::from_millis(1500)));
    assert_eq!(read("x-stainless-timeout", "0").await, None);
    assert_eq!(read("x-stainless-timeout", "soon").await, None);
    assert_eq!(read("x-stainless-timeout", "-1").await, None);
    assert_eq!(read("x-stainless-timeout", "99999999999").await, Some(secs(86_400)));
    let mut both = with("x-stainless-timeout", "600");
    both.headers_mut().insert("x-stainless-read-timeout", HeaderValue::from_static("60"));
    assert_eq!(remaining(layer.clone(), both).await, Some(secs(60)));
}

#[tokio::test(start_paused = true)]
async fn what_is_left_is_told_upstream_anew_for_each_try() {
    let (mut under, mut handle) = under(DeadlineLayer::new().with_pass_on(true));
    let mut request = with("grpc-timeout", "1H");
    request.extensions_mut().insert(Deadline::after(secs(10)));
    for expected in ["10000000u", "7000000u"] {
        let _future = under.ready().await.unwrap().call(request.clone());
        let (sent, _send) = handle.next_request().await.unwrap();
        assert_eq!(sent.headers()["grpc-timeout"], expected);
        tokio::time::advance(secs(3)).await;
    }
    // Without a deadline the caller's own is left alone.
    let _future = under.ready().await.unwrap().call(with("grpc-timeout", "1H"));
    assert_eq!(handle.next_request().await.unwrap().0.headers()["grpc-timeout"], "1H");
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_head_ends_at_the_deadline() {
    let (mut under, mut handle) = under(DeadlineLayer::after(secs(5)));
    let start = Instant::now();
    let future = under.ready().await.unwrap().call(Request::new(()));
    let (_request, _send) = handle.next_request().await.unwrap();
    let error = future.await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 5);
    let verdict = HttpClassifier::new().error(&*error);
    assert_eq!((verdict.class, verdict.sent), (Class::Timeout, Sent::Maybe));
    assert!(!verdict.is_retryable());
    assert_eq!(verdict.code.as_deref(), Some("deadline_exceeded"));
    assert_eq!(verdict.status.unwrap(), 504);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_sends_nothing() {
    let (mut under, mut handle) = under(DeadlineLayer::after(secs(5)).with_grpc_timeout(true));
    let mut late = Request::new(());
    late.extensions_mut().insert(Deadline::at(Instant::now()));
    for request in [late, with("grpc-timeout", "0n")] {
        let error = under.ready().await.unwrap().call(request).await.unwrap_err();
        assert_eq!(error.downcast_ref::<DeadlineExceeded>().unwrap().sent(), Sent::No);
    }
    drop(under);
    assert!(handle.next_request().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_head_that_is_there_is_good_however_late_it_is_looked_at() {
    let (mut under, mut handle) = under(DeadlineLayer::after(secs(5)));
    let mut future = task::spawn(under.ready().await.unwrap().call(Request::new(())));
    assert_pending!(future.poll());
    let (_request, send) = handle.next_request().await.unwrap();
    send.send_response(Response::new(fed().1));
    tokio::time::advance(secs(60)).await;
    assert_ready!(future.poll()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_body_is_under_the_same_deadline() {
    let (mut under, mut handle) = under(DeadlineLayer::after(secs(5)));
    let start = Instant::now();
    let future = under.ready().await.unwrap().call(Request::new(()));
    let (_request, send) = handle.next_request().await.unwrap();
    let (feed, inner) = fed();
    let answer = async {
        sleep(secs(2)).await;
        send.send_response(Response::new(inner));
        feed.data("x");
    };
    let (reply, ()) = tokio::join!(future, answer);
    let mut body = reply.unwrap().into_body();
    assert_eq!(data(&mut body).await, "x");
    assert!(failure(&mut body).await.is::<DeadlineExceeded>());
    assert_eq!(start.elapsed().as_secs(), 5);
    // Fused, and the inner body is gone.
    assert!(feed.is_gone());
    assert!(body.is_end_stream());
    assert!(next(&mut body).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn pitfall_7_what_came_in_time_is_read_after_the_deadline() {
    let (feed, inner) = fed();
    let mut body = DeadlineBody::new(inner, Some(Deadline::after(secs(1))));
    feed.data("x");
    sleep(secs(60)).await;
    assert_eq!(data(&mut body).await, "x");
    failure(&mut body).await;
}

#[tokio::test(start_paused = true)]
async fn pitfall_8_and_9_the_body_is_otherwise_the_inner_one() {
    let body = DeadlineBody::new(Full::new(Bytes::from("12345")), Some(Deadline::after(secs(1))));
    assert_eq!(body.size_hint().exact(), Some(5));
    assert!(!body.is_end_stream());
    let (feed, inner) = fed();
    feed.data("x");
    feed.trailers();
    drop(feed);
    let whole = DeadlineBody::new(inner, Some(Deadline::after(secs(1)))).collect().await.unwrap();
    assert_eq!(whole.trailers().unwrap()["grpc-status"], "0");
}

#[tokio::test(start_paused = true)]
async fn pitfall_12_a_dropped_call_lets_the_inner_one_go() {
    let (calls, service) = crate::testing::endless();
    let mut under = DeadlineLayer::after(secs(5)).layer(service);
    let mut future = task::spawn(under.call(Request::new(())));
    assert_pending!(future.poll());
    assert_eq!(calls.running(), 1);
    drop(future);
    assert_eq!(calls.running(), 0);

    let mut future = task::spawn(under.call(Request::new(())));
    assert_pending!(future.poll());
    tokio::time::advance(secs(6)).await;
    assert_ready!(future.poll()).unwrap_err();
    assert_eq!(calls.running(), 0, "before the future is dropped");
}

#[test]
fn a_deadline_far_beyond_all_clocks_is_none_that_overflows() {
    assert!(Deadline::after(Duration::MAX).remaining() > secs(86_400 * 365));
}

#[tokio::test(start_paused = true)]
async fn unspent_time_flows_on_and_overspent_time_is_missing_to_all() {
    let mut budget = TimeBudget::new(Deadline::after(secs(100)), [1.0, 1.0, 2.0]);
    assert_eq!(budget.steps_left(), 3);
    assert_eq!(budget.next_step().remaining(), secs(25));
    tokio::time::advance(secs(10)).await;
    assert_eq!(budget.next_step().remaining(), secs(30)); // a third of 90
    tokio::time::advance(secs(60)).await;
    assert_eq!(budget.next_step().remaining(), secs(30)); // all that is left
    assert_eq!(budget.steps_left(), 0);
    assert_eq!(budget.next_step(), budget.deadline());
    tokio::time::advance(secs(60)).await;
    assert!(budget.next_step().has_passed());
}

#[tokio::test(start_paused = true)]
async fn fractions_that_make_no_sense_give_no_panic_and_never_more_than_the_whole() {
    let whole = Deadline::after(secs(90));
    for odd in [f64::NAN, f64::INFINITY, -1.0, 0.0, f64::MAX, f64::MIN_POSITIVE] {
        let mut budget = TimeBudget::new(whole, [odd, odd, odd]);
        for _ in 0..4 {
            assert!(budget.next_step() <= whole);
        }
        assert!(budget.share(odd) <= whole);
    }
    let mut even = TimeBudget::new(whole, [0.0, 0.0, 0.0]);
    assert_eq!(even.next_step().remaining(), secs(30));
    assert_eq!(TimeBudget::new(whole, []).next_step(), whole);
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_inner_service_pass() {
    let (mut under, mut handle) = under(DeadlineLayer::after(secs(5)));
    let future = under.ready().await.unwrap().call(Request::new(()));
    let (_request, send) = handle.next_request().await.unwrap();
    send.send_error("refused");
    let error: BoxError = future.await.unwrap_err();
    assert_eq!(error.to_string(), "refused");
}
