use super::*;
use crate::{
    BoxError,
    classify::{Class, Classify, HttpClassifier, Sent},
    testing::{FedBody, data, failure, fed, next},
};
use bytes::Bytes;
use http::{
    Method, Request, Response,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};
use http_body::Body;
use http_body_util::{BodyExt, Empty, Full};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceExt};
use tower_test::mock::{self, Mock};

type Sent_ = Request<LimitBody<FedBody>>;
type Handle = mock::Handle<Sent_, Response<FedBody>>;
type Under = BodyLimit<Mock<Sent_, Response<FedBody>>>;

fn under(layer: BodyLimitLayer) -> (Under, Handle) {
    let (service, mut handle) = mock::pair();
    handle.allow(1000);
    (layer.layer(service), handle)
}

async fn reply_to(
    layer: BodyLimitLayer,
    request: Request<FedBody>,
    reply: Response<FedBody>,
) -> Result<Response<LimitBody<FedBody>>, BoxError> {
    let (mut under, mut handle) = under(layer);
    let future = under.ready().await.unwrap().call(request);
    let (_request, send) = handle.next_request().await.unwrap();
    send.send_response(reply);
    future.await
}

fn too_large(error: &BoxError) -> &BodyTooLarge {
    error.downcast_ref().expect("too large")
}

#[tokio::test]
async fn a_request_that_declares_too_much_is_refused_before_it_is_sent() {
    let (mut under, mut handle) = under(BodyLimitLayer::new().request(10));
    let by_header = Request::builder().header(CONTENT_LENGTH, 11).body(fed().1).unwrap();
    let by_body = Request::new(fed().1.with_hint(11, None));
    for request in [by_header, by_body] {
        let error = under.ready().await.unwrap().call(request).await.unwrap_err();
        assert_eq!(*too_large(&error), BodyTooLarge::new(Side::Request, 10, Some(11)));
        assert_eq!(error.to_string(), "the request body has 11 bytes, over the limit of 10");
        let verdict = HttpClassifier::new().error(&*error);
        assert_eq!((verdict.class, verdict.sent), (Class::TooLarge, Sent::No));
        assert_eq!(verdict.status.unwrap(), 413);
        assert_eq!(verdict.code.as_deref(), Some("request_too_large"));
    }
    drop(under);
    assert!(handle.next_request().await.is_none());
}

#[tokio::test]
async fn exactly_the_limit_passes_in_both_directions() {
    let (mut under, mut handle) = under(BodyLimitLayer::new().request(10).response(10));
    let (feed, body) = fed();
    let request = Request::builder().header(CONTENT_LENGTH, 10).body(body.with_hint(10, Some(10))).unwrap();
    feed.data("12345");
    feed.data("67890");
    drop(feed);
    let future = under.ready().await.unwrap().call(request);
    let (request, send) = handle.next_request().await.unwrap();
    assert_eq!(request.into_body().collect().await.unwrap().to_bytes().len(), 10);
    let (feed, body) = fed();
    feed.data("1234567890");
    feed.trailers();
    drop(feed);
    send.send_response(Response::builder().header(CONTENT_LENGTH, 10).body(body).unwrap());
    let whole = future.await.unwrap().into_body().collect().await.unwrap();
    assert!(whole.trailers().is_some());
    assert_eq!(whole.to_bytes().len(), 10);
}

#[tokio::test]
async fn one_byte_over_ends_a_body_that_declared_nothing_or_lied() {
    for reply in [Response::new(()), Response::builder().header(CONTENT_LENGTH, 3).body(()).unwrap()] {
        let (feed, body) = fed();
        let reply = reply_to(BodyLimitLayer::new().response(10), Request::new(fed().1), reply.map(|()| body))
            .await
            .unwrap();
        let mut body = reply.into_body();
        feed.data("1234567890");
        feed.data("1");
        assert_eq!(data(&mut body).await.len(), 10);
        let error = failure(&mut body).await;
        assert_eq!(*too_large(&error), BodyTooLarge::new(Side::Response, 10, None));
        assert_eq!(HttpClassifier::new().error(&*error).status.unwrap(), 502);
        // Pitfall 11: fused, and the inner body is gone.
        assert!(feed.is_gone());
        assert!(body.is_end_stream());
        assert!(next(&mut body).await.is_none());
    }
}

#[tokio::test]
async fn a_reply_that_declares_too_much_is_refused_at_its_head() {
    let (feed, body) = fed();
    let reply = Response::builder().header(CONTENT_LENGTH, 11).body(body).unwrap();
    let error = reply_to(BodyLimitLayer::new().response(10), Request::new(fed().1), reply).await.unwrap_err();
    assert_eq!(*too_large(&error), BodyTooLarge::new(Side::Response, 10, Some(11)));
    assert_eq!(too_large(&error).code(), "response_too_large");
    assert!(feed.is_gone());
}

#[tokio::test]
async fn an_error_keeps_its_status_whatever_its_body_declares() {
    for status in [400, 429, 503] {
        let (feed, body) = fed();
        let reply = Response::builder().status(status).header(CONTENT_LENGTH, 11).body(body).unwrap();
        let reply = reply_to(BodyLimitLayer::new().response(10), Request::new(fed().1), reply).await.unwrap();
        assert_eq!(reply.status(), status);
        let mut body = reply.into_body();
        feed.data("1234567890");
        feed.data("1");
        assert_eq!(data(&mut body).await.len(), 10);
        assert_eq!(*too_large(&failure(&mut body).await), BodyTooLarge::new(Side::Response, 10, None));
        assert!(feed.is_gone());
    }
}

#[tokio::test]
async fn the_answer_to_head_may_declare_what_it_likes() {
    let request = Request::builder().method(Method::HEAD).body(fed().1).unwrap();
    let reply = Response::builder().header(CONTENT_LENGTH, 1_000_000).body(fed().1).unwrap();
    reply_to(BodyLimitLayer::new().response(10), request, reply).await.unwrap();
}

#[tokio::test]
async fn a_length_that_is_no_number_says_nothing() {
    let reply = Response::builder().header(CONTENT_LENGTH, "many").body(fed().1).unwrap();
    reply_to(BodyLimitLayer::new().response(10), Request::new(fed().1), reply).await.unwrap();
}

#[tokio::test]
async fn a_stream_has_a_limit_of_its_own() {
    for content_type in ["text/event-stream", "application/x-ndjson", "application/grpc"] {
        for (stream, passes) in [(0, true), (100, true), (15, false)] {
            let (feed, body) = fed();
            let reply = Response::builder().header(CONTENT_TYPE, content_type).body(body).unwrap();
            let layer = BodyLimitLayer::new().response(1).stream(stream);
            let mut body = reply_to(layer, Request::new(fed().1), reply).await.unwrap().into_body();
            feed.data("1234567890");
            feed.data("1234567890");
            data(&mut body).await;
            assert_eq!(next(&mut body).await.unwrap().is_ok(), passes, "{content_type} {stream}");
        }
    }
}

#[tokio::test]
async fn zero_is_off_and_what_comes_with_the_request_replaces_the_layers_whole() {
    let (feed, body) = fed();
    let layer = BodyLimitLayer::new().request(0).response(0);
    let mut body = reply_to(layer, Request::new(fed().1), Response::new(body)).await.unwrap().into_body();
    feed.data(vec![0; 1 << 20]);
    data(&mut body).await;

    let mut request = Request::new(fed().1.with_hint(50, None));
    request.extensions_mut().insert(BodyLimits::new().with_response(5));
    let (feed, body) = fed();
    let layer = BodyLimitLayer::new().request(10).response(100);
    let mut body = reply_to(layer, request, Response::new(body)).await.unwrap().into_body();
    feed.data("123456");
    assert_eq!(too_large(&failure(&mut body).await).limit(), 5);
}

#[tokio::test]
async fn a_client_that_loses_the_cause_of_a_broken_upload_does_not_hide_it() {
    let (mut under, mut handle) = under(BodyLimitLayer::new().request(10));
    let (feed, body) = fed();
    feed.data("12345678901");
    let future = under.ready().await.unwrap().call(Request::new(body));
    let (request, send) = handle.next_request().await.unwrap();
    let mut body = request.into_body();
    failure(&mut body).await;
    send.send_error("stream was reset");
    let error = future.await.unwrap_err();
    assert_eq!(*too_large(&error), BodyTooLarge::new(Side::Request, 10, None));
}

#[tokio::test]
async fn another_error_of_the_inner_service_passes() {
    let (mut under, mut handle) = under(BodyLimitLayer::new().request(10));
    let future = under.ready().await.unwrap().call(Request::new(fed().1));
    let (_request, send) = handle.next_request().await.unwrap();
    send.send_error("refused");
    assert_eq!(future.await.unwrap_err().to_string(), "refused");
}

#[test]
fn pitfall_8_a_body_that_fits_is_announced_as_it_is() {
    let body = LimitBody::new(Full::new(Bytes::from("12345")), 5, Side::Response);
    assert_eq!(body.size_hint().exact(), Some(5));
    assert!(LimitBody::new(Empty::<Bytes>::new(), 5, Side::Response).is_end_stream());
    let body = LimitBody::new(fed().1.with_hint(2, Some(4)), 5, Side::Response);
    assert_eq!((body.size_hint().lower(), body.size_hint().upper()), (2, Some(4)));
}

#[tokio::test]
async fn pitfall_15_a_body_that_may_be_too_large_is_never_announced_as_exactly_the_limit() {
    for (lower, upper) in [(0, None), (5, None), (5, Some(6)), (6, Some(6)), (100, Some(100)), (9, None)] {
        for limit in [0, 5, 6] {
            if upper.is_some_and(|upper| upper <= limit) {
                continue;
            }
            let body = LimitBody::new(fed().1.with_hint(lower, upper), limit, Side::Request);
            assert_eq!(body.size_hint().exact(), None, "{lower} {upper:?} {limit}");
        }
    }
    // Nor once some of it is read.
    let (feed, inner) = fed();
    let mut body = LimitBody::new(inner, 5, Side::Request);
    feed.data("12345");
    data(&mut body).await;
    assert_eq!(body.size_hint().exact(), None);
}

#[tokio::test]
async fn pitfall_12_a_dropped_body_lets_the_inner_one_go() {
    let (feed, inner) = fed();
    drop(LimitBody::new(inner, 5, Side::Request));
    assert!(feed.is_gone());
}

#[tokio::test(start_paused = true)]
async fn draining_ends_with_the_body_the_bytes_the_time_or_an_error() {
    let second = Duration::from_secs(1);
    let (feed, body) = fed();
    feed.data(vec![0; 100]);
    drop(feed);
    assert_eq!(drain(body, 100, second).await, Drained::Whole);

    let (feed, body) = fed();
    feed.data(vec![0; 101]);
    assert_eq!(drain(body, 100, second).await, Drained::TooMuch);
    assert!(feed.is_gone());

    let start = Instant::now();
    let (feed, body) = fed();
    let dribble = async {
        loop {
            sleep(Duration::from_millis(100)).await;
            feed.data("x");
        }
    };
    let drained =
        tokio::select! { drained = drain(body, 100, second) => drained, () = dribble => unreachable!() };
    assert_eq!(drained, Drained::TooSlow);
    assert!(start.elapsed() < 2 * second);

    let (feed, body) = fed();
    feed.error();
    assert_eq!(drain(body, 100, second).await, Drained::Failed);
}

#[tokio::test(start_paused = true)]
async fn pitfall_43_a_refusal_is_readable_at_once_and_its_message_ends_when_the_upload_is_read() {
    let (feed, upload) = fed();
    let mut body = LingerBody::new(Full::new(Bytes::from("too large")), upload);
    assert_eq!(body.size_hint().exact(), None, "a server stops at the length it was told");
    assert_eq!(data(&mut body).await, "too large");
    assert!(!body.is_end_stream());
    let send = async {
        sleep(Duration::from_millis(500)).await;
        feed.data("rest");
        drop(feed);
    };
    let start = Instant::now();
    let (end, ()) = tokio::join!(next(&mut body), send);
    assert!(end.is_none());
    assert_eq!(start.elapsed().as_millis(), 500);
    assert!(body.is_end_stream());
}

#[tokio::test(start_paused = true)]
async fn pitfall_43_an_upload_without_end_is_read_on_for_a_second_and_let_go() {
    let (feed, upload) = fed();
    let mut body = LingerBody::new(Full::new(Bytes::from("too large")), upload);
    data(&mut body).await;
    let start = Instant::now();
    assert!(next(&mut body).await.is_none());
    assert_eq!(start.elapsed().as_secs(), 1);
    assert!(feed.is_gone());

    let (feed, upload) = fed();
    let mut body = LingerBody::new(Empty::<Bytes>::new(), upload);
    for _ in 0..17 {
        feed.data(vec![0; 1 << 16]);
    }
    let start = Instant::now();
    assert!(next(&mut body).await.is_none());
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert!(feed.is_gone());
}
