//! On paused time: it moves only while everything waits, and then to the next timer.

mod body;
mod head;
mod upload;
mod woken;
mod write_idle;

use super::*;
use crate::{
    BoxError,
    testing::{FedBody, fed},
};
use http::{Request, Response, header::CONTENT_TYPE};
use std::{future::Future, time::Duration};
use tokio::time::Instant;
use tower::{Layer, Service, ServiceExt};
use tower_test::mock::{self, Mock, SendResponse};

type Sent = Request<SentBody<FedBody>>;
type Handle = mock::Handle<Sent, Response<FedBody>>;
type Under = Timeout<Mock<Sent, Response<FedBody>>>;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn under(config: TimeoutConfig) -> (Under, Handle) {
    let (service, handle) = mock::pair();
    (TimeoutLayer::new(config).layer(service), handle)
}

/// A request whose body is over once it is read.
fn request() -> Request<FedBody> {
    Request::new(fed().1)
}

fn streaming() -> Request<FedBody> {
    let mut request = request();
    request.extensions_mut().insert(Streaming(true));
    request
}

fn reply(content_type: &str, body: FedBody) -> Response<FedBody> {
    let mut reply = Response::builder();
    if !content_type.is_empty() {
        reply = reply.header(CONTENT_TYPE, content_type);
    }
    reply.body(body).unwrap()
}

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const GRPC: &str = "application/grpc";

/// The reply to `request`, and what the service below got.
async fn call(
    under: &mut Under,
    handle: &mut Handle,
    request: Request<FedBody>,
) -> (
    impl Future<Output = Result<Response<TimeoutBody<FedBody>>, BoxError>> + use<>,
    Sent,
    SendResponse<Response<FedBody>>,
) {
    handle.allow(1);
    let future = under.ready().await.unwrap().call(request);
    let (request, send) = handle.next_request().await.unwrap();
    (future, request, send)
}

/// The body of a reply whose head comes after `head_after`.
async fn body_after(
    config: TimeoutConfig,
    request: Request<FedBody>,
    head_after: Duration,
    content_type: &str,
    body: FedBody,
) -> TimeoutBody<FedBody> {
    let (mut under, mut handle) = under(config);
    let (future, request, send) = call(&mut under, &mut handle, request).await;
    let reply = reply(content_type, body);
    let answer = async {
        sent(request).await;
        tokio::time::sleep(head_after).await;
        send.send_response(reply);
    };
    let (reply, ()) = tokio::join!(future, answer);
    reply.unwrap().into_body()
}

/// Reads the request as a client does that sends it.
async fn sent(request: Sent) {
    let mut body = request.into_body();
    while let Some(frame) = crate::testing::next(&mut body).await {
        frame.unwrap();
    }
}

#[track_caller]
fn assert_timeout(error: &BoxError, kind: TimeoutKind, phase: Phase, after: Duration) {
    let error = error.downcast_ref::<TimeoutError>().unwrap_or_else(|| panic!("{error} is no timeout"));
    assert_eq!(*error, TimeoutError::new(kind, phase, after));
}

/// How much time passed since, in whole seconds; timers are a millisecond late at most.
#[track_caller]
fn assert_elapsed(since: Instant, expected: Duration) {
    let elapsed = since.elapsed();
    assert!(
        elapsed >= expected && elapsed < expected + Duration::from_millis(3),
        "{elapsed:?} and not {expected:?}"
    );
}

#[test]
fn each_clock_says_what_it_is_in_code_and_words() {
    let error = TimeoutError::connect(secs(5));
    let verdict = error.verdict();
    assert_eq!(verdict.code.as_deref(), Some("connect_timeout"));
    assert_eq!(verdict.sent, crate::classify::Sent::No);
    assert_eq!(verdict.status.unwrap(), 504);
    assert_eq!(error.to_string(), "no connection within 5s");

    for (kind, code) in [
        (TimeoutKind::Attempt, "attempt_timeout"),
        (TimeoutKind::Idle, "idle_timeout"),
        (TimeoutKind::FirstEvent, "first_event_timeout"),
        (TimeoutKind::Progress, "progress_timeout"),
    ] {
        for phase in [Phase::Head, Phase::Body] {
            let verdict = TimeoutError::new(kind, phase, secs(7)).verdict();
            assert_eq!(verdict.class, crate::classify::Class::Timeout);
            assert_eq!(verdict.code.as_deref(), Some(code));
            assert_eq!(verdict.sent, crate::classify::Sent::Maybe);
            assert!(verdict.message.unwrap().contains("7s"));
        }
    }
}

#[test]
fn a_caller_that_stops_reading_or_writing_is_no_vote_against_the_server() {
    for kind in [TimeoutKind::UploadIdle, TimeoutKind::WriteIdle] {
        let verdict = TimeoutError::new(kind, Phase::Body, secs(1)).verdict();
        assert_eq!(verdict.vote(), crate::classify::Vote::Neutral);
        assert!(!verdict.is_retryable() && !verdict.falls_back());
    }
}

#[test]
fn the_classifier_finds_a_timeout_anywhere_in_a_chain() {
    use crate::classify::{Classify, HttpClassifier};
    let error = std::io::Error::from(TimeoutError::new(TimeoutKind::Idle, Phase::Body, secs(1)));
    assert_eq!(HttpClassifier::new().error(&error).code.as_deref(), Some("idle_timeout"));
}
