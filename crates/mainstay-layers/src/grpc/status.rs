//! A gRPC status, made of an error.

use crate::{
    classify::{GrpcClassifier, Verdict, own_verdict},
    deadline::{Deadline, DeadlineExceeded},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, header::CONTENT_TYPE};
use std::{error::Error, fmt::Write, time::Duration};

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

const CANCELLED: &[u8] = b"1";

/// Timers go by milliseconds and `grpc-timeout` is rounded down: so much before a deadline it may already have run out
/// for others.
const SLACK: Duration = Duration::from_millis(2);

/// How a call ended, as gRPC says it: a code, a message, and when to come again.
///
/// ```
/// use mainstay_layers::{grpc::GrpcStatus, timeout::{Phase, TimeoutError, TimeoutKind}};
/// use std::time::Duration;
///
/// let error = TimeoutError::new(TimeoutKind::Idle, Phase::Head, Duration::from_secs(2));
/// let status = GrpcStatus::of_error(&error).unwrap();
/// assert_eq!(status.code(), 4); // DEADLINE_EXCEEDED
/// assert_eq!(status.trailers()["grpc-status"], "4");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GrpcStatus {
    verdict: Verdict,
    message: String,
}

impl GrpcStatus {
    /// The status that an error of this crate's layers stands for, or one that carries a
    /// [`Failed`](crate::classify::Failed); `None` where there is neither in its chain.
    ///
    /// | error | code |
    /// | --- | --- |
    /// | a timer, a deadline | 4 DEADLINE_EXCEEDED |
    /// | a body over its limit | 8 RESOURCE_EXHAUSTED |
    /// | an open circuit, a full queue | 14 UNAVAILABLE, with the wait as pushback |
    /// | a verdict | the code that it names, else [`GrpcClassifier::code_of_class`] |
    pub fn of_error(error: &(dyn Error + 'static)) -> Option<Self> {
        own_verdict(error).map(|verdict| Self { verdict, message: error.to_string() })
    }

    /// The status of an error that came when the deadline was over, whatever it says.
    pub(super) fn of_late(error: &(dyn Error + 'static), deadline: Option<Deadline>) -> Option<Self> {
        Self::of_error(error).or_else(|| is_over(deadline).then(Self::deadline_exceeded))
    }

    fn deadline_exceeded() -> Self {
        let error = DeadlineExceeded::new();
        Self { verdict: error.verdict(), message: error.to_string() }
    }

    /// The number of the code.
    pub fn code(&self) -> u32 {
        GrpcClassifier::code_of_verdict(&self.verdict)
    }

    /// The words for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The verdict that it was made of.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// The trailers that say so.
    pub fn trailers(&self) -> HeaderMap {
        let mut trailers = HeaderMap::with_capacity(4);
        self.write(&mut trailers);
        trailers
    }

    /// A reply of trailers only: they are its headers, and `body` must be empty. The verdict is in its extensions.
    pub fn into_reply<B>(self, body: B) -> Response<B> {
        let mut reply = Response::new(body);
        reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        self.write(reply.headers_mut());
        reply.extensions_mut().insert(self.verdict);
        reply
    }

    fn write(&self, metadata: &mut HeaderMap) {
        metadata.insert(STATUS, HeaderValue::from(self.code()));
        if let Ok(message) = HeaderValue::from_maybe_shared(Bytes::from(percent_encoded(&self.message))) {
            metadata.insert(MESSAGE, message);
        }
        if let Some(wait) = self.verdict.wait {
            let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            metadata.insert(PUSHBACK, HeaderValue::from(wait));
        }
    }
}

/// A server that ran out of time says CANCELLED as often as not (tonic's does). Corrects that where the deadline was the
/// cause.
pub(super) fn correct(metadata: &mut HeaderMap, deadline: Option<Deadline>) {
    let cancelled = metadata.get(STATUS).is_some_and(|status| status.as_bytes() == CANCELLED);
    if cancelled && is_over(deadline) {
        metadata.remove(DETAILS);
        GrpcStatus::deadline_exceeded().write(metadata);
    }
}

fn is_over(deadline: Option<Deadline>) -> bool {
    deadline.is_some_and(|deadline| deadline.remaining() <= SLACK)
}

/// `grpc-message` holds printable ASCII; all else, and `%`, is escaped (gRPC over HTTP/2, "Responses").
fn percent_encoded(message: &str) -> String {
    let mut encoded = String::with_capacity(message.len());
    for byte in message.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => encoded.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => write!(encoded, "%{byte:02X}").unwrap_or_default(),
        }
    }
    encoded
}
