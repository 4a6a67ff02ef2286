//! What ended a call, told apart by what may be done about it.

use super::{ConnectionInfo, connect::ConnectFailure, request_body::Upload};
use http::{StatusCode, uri::Authority};
use mainstay_layers::{
    BoxError,
    classify::{Class, Classify, Failed, HttpClassifier, Sent, Verdict},
    error::find_cause,
};
use std::{error::Error, fmt, io};

/// What kind of failure ended a call.
///
/// | kind | class | sent |
/// | --- | --- | --- |
/// | `Dns`, `Refused`, `Tls`, `Proxy`, `Connect`, `NotSent` | `Transport` | no |
/// | `ConnectTimeout` | `Timeout` | no |
/// | `Reset`, `Body` | `Transport` | maybe |
/// | `Protocol` | `Malformed` | maybe |
/// | `RequestBody` | `Cancelled`, or what the body's error says of itself | maybe |
/// | `InvalidRequest` | `InvalidRequest` | no |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientErrorKind {
    /// The name was not resolved.
    Dns,
    /// Nothing listens there.
    Refused,
    /// The TLS handshake failed: an untrusted certificate, or no TLS at all.
    Tls,
    /// The proxy could not be reached or would not let us through.
    Proxy,
    /// DNS, TCP, proxy and TLS together took longer than the connect timeout.
    ConnectTimeout,
    /// Another reason for which there is no connection: no route, a socket error.
    Connect,
    /// The connection was closed, or the stream refused, before the server took the request in.
    NotSent,
    /// Closed or reset after the request was sent, before the head of a reply.
    Reset,
    /// Broken in the middle of the reply's body.
    Body,
    /// The server sent what is no HTTP.
    Protocol,
    /// The request's own body failed.
    RequestBody,
    /// The request cannot be sent as it is.
    InvalidRequest,
}

/// Why a call failed, in its message in words and without credentials, paths or query strings.
///
/// Its `source` is a [`Failed`], so that [`HttpClassifier`] finds the verdict, and below that the cause.
pub struct ClientError(Box<Inner>);

struct Inner {
    kind: ClientErrorKind,
    message: String,
    failed: Failed,
}

impl ClientError {
    /// What kind of failure it was.
    pub fn kind(&self) -> ClientErrorKind {
        self.0.kind
    }

    /// How much of the request the server can have seen.
    pub fn sent(&self) -> Sent {
        self.verdict().sent
    }

    /// Whether a kept connection was closed before it answered anything: most likely before the request was read.
    pub fn is_stale(&self) -> bool {
        self.verdict().stale
    }

    /// The verdict on it.
    pub fn verdict(&self) -> &Verdict {
        self.0.failed.verdict()
    }

    fn new(kind: ClientErrorKind, message: String, stale: bool, source: BoxError) -> Self {
        use ClientErrorKind as Kind;
        let (class, sent, status, code) = match kind {
            Kind::Dns | Kind::Refused | Kind::Tls | Kind::Proxy | Kind::Connect | Kind::NotSent => {
                (Class::Transport, Sent::No, Some(StatusCode::BAD_GATEWAY), Some("upstream_unreachable"))
            }
            Kind::ConnectTimeout => {
                (Class::Timeout, Sent::No, Some(StatusCode::GATEWAY_TIMEOUT), Some("connect_timeout"))
            }
            Kind::Reset => {
                (Class::Transport, Sent::Maybe, Some(StatusCode::BAD_GATEWAY), Some("upstream_unreachable"))
            }
            Kind::Protocol => {
                (Class::Malformed, Sent::Maybe, Some(StatusCode::BAD_GATEWAY), Some("upstream_malformed"))
            }
            // What a cut body is called depends on what it was a body of: for a judge above to say.
            Kind::Body => (Class::Transport, Sent::Maybe, None, None),
            Kind::RequestBody => (Class::Cancelled, Sent::Maybe, None, None),
            Kind::InvalidRequest => {
                (Class::InvalidRequest, Sent::No, Some(StatusCode::BAD_REQUEST), Some("invalid_request"))
            }
        };
        let verdict = Verdict::new(class)
            .with_sent(sent)
            .with_stale(stale)
            .with_status(status)
            .with_code(code)
            .with_message(Some(&message));
        Self::judged(kind, message, verdict, source)
    }

    fn judged(kind: ClientErrorKind, message: String, verdict: Verdict, source: BoxError) -> Self {
        Self(Box::new(Inner { kind, message, failed: Failed::new(verdict, source) }))
    }

    pub(super) fn invalid_request(reason: &'static str) -> Self {
        Self::new(ClientErrorKind::InvalidRequest, reason.to_owned(), false, reason.into())
    }

    /// The caller's body failed. A layer may have ended it (a limit, a deadline), and its verdict stands; else whoever
    /// wrote it went away, which says nothing about the server.
    fn request_body(source: BoxError) -> Self {
        let judged = HttpClassifier::new().error(&*source);
        let verdict = if judged.class == Class::Transport && find_cause::<Failed>(&*source).is_none() {
            Verdict::new(Class::Cancelled)
        } else {
            judged
        };
        let message = "the request's body failed".to_owned();
        let verdict = match verdict.message {
            Some(_) => verdict,
            None => verdict.with_message(Some(&message)),
        };
        Self::judged(ClientErrorKind::RequestBody, message, verdict, source)
    }

    /// An error in place of a reply.
    ///
    /// `connected`: there was a connection that the request was handed to; `info` is what is known of it.
    pub(super) fn before_head(
        error: BoxError,
        connected: bool,
        info: Option<&ConnectionInfo>,
        peer: &Authority,
        upload: Option<&Upload>,
    ) -> Self {
        if let Some(source) = upload.and_then(Upload::take_error) {
            return Self::request_body(source);
        }
        let (kind, message) = describe(&*error, connected, peer);
        let stale = match kind {
            ClientErrorKind::NotSent => is_graceful_goaway(&*error),
            ClientErrorKind::Reset => info.is_some_and(ConnectionInfo::is_stale),
            _ => false,
        };
        Self::new(kind, message, stale, error)
    }

    /// An error in the middle of a reply's body.
    pub(super) fn in_body(error: hyper::Error, upload: Option<&Upload>) -> Self {
        if let Some(source) = upload.and_then(Upload::take_error) {
            return Self::request_body(source);
        }
        let cut = find_cause::<io::Error>(&error).is_some_and(|e| e.kind() == io::ErrorKind::UnexpectedEof);
        let reason = if cut || error.is_incomplete_message() {
            "connection closed in the middle of the reply".to_owned()
        } else {
            format!("reply broken off: {}", reason(&error))
        };
        Self::new(ClientErrorKind::Body, reason, false, error.into())
    }
}

/// The kind of hyper-util's error, whose own kinds are private, or hyper's, and the words for it.
fn describe(error: &(dyn Error + 'static), connected: bool, peer: &Authority) -> (ClientErrorKind, String) {
    use ClientErrorKind as Kind;
    if let Some(failure) = find_cause::<ConnectFailure>(error) {
        return (failure.kind, failure.message.clone());
    }
    // Only a request that was handed to a connection fails with an error of hyper's.
    let Some(cause) = find_cause::<hyper::Error>(error) else {
        return (Kind::NotSent, format!("the connection was given up before the request was sent ({peer})"));
    };
    if cause.is_canceled() {
        return (Kind::NotSent, format!("connection closed before the request was sent ({peer})"));
    }
    if !connected {
        return (Kind::Connect, format!("no HTTP on the connection: {} ({peer})", reason(cause)));
    }
    if let Some(h2) = find_cause::<h2::Error>(cause) {
        // Neither was processed, the server says (RFC 9113 §8.7).
        if h2.is_remote() && h2.is_reset() && h2.reason() == Some(h2::Reason::REFUSED_STREAM) {
            return (Kind::NotSent, format!("the server refused the stream ({peer})"));
        }
        if is_graceful_goaway(error) {
            return (Kind::NotSent, format!("the server is closing the connection ({peer})"));
        }
        if h2.is_library() || h2.reason() == Some(h2::Reason::HTTP_1_1_REQUIRED) {
            return (Kind::Protocol, format!("no valid HTTP/2: {} ({peer})", reason(cause)));
        }
        return (Kind::Reset, format!("reset before a reply: {} ({peer})", reason(cause)));
    }
    if cause.is_parse() {
        return (Kind::Protocol, format!("no valid HTTP: {} ({peer})", reason(cause)));
    }
    if cause.is_body_write_aborted() {
        return (Kind::RequestBody, "the request's body was shorter than announced".to_owned());
    }
    if cause.is_incomplete_message() {
        return (Kind::Reset, format!("connection closed before a reply ({peer})"));
    }
    (Kind::Reset, format!("reset before a reply: {} ({peer})", reason(cause)))
}

/// GOAWAY without an error, on a stream that it says was not processed.
fn is_graceful_goaway(error: &(dyn Error + 'static)) -> bool {
    find_cause::<h2::Error>(error)
        .is_some_and(|e| e.is_go_away() && e.is_remote() && e.reason() == Some(h2::Reason::NO_ERROR))
}

/// The last words of a chain, which name the cause.
fn reason(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientError")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("sent", &self.sent())
            .field("stale", &self.is_stale())
            .finish_non_exhaustive()
    }
}

impl Error for ClientError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0.failed)
    }
}
