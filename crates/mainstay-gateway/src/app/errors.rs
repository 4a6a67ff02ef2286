//! The gateway's own refusals, and providers' errors, in the dialect of the path.

mod seen;

use self::seen::{Seen, seen};
use super::{ReplyBody, upload::UploadError};
use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use mainstay::{
    BoxError,
    dialect::{self, Dialect, ErrorBody, ErrorFamily, render_error, render_stream_error, with_attempts},
    judge::ReplyError,
    layers::{
        classify::{Class, Classify, HttpClassifier},
        error::find_cause,
    },
    peek::PeekError,
    route::{Attempt, CallFailed, Incapable, ModelNotFound, own_words},
    secret::Redactor,
    translate::Untranslatable,
};
use std::time::Duration;

/// Something that the gateway itself says no to.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    code: &'static str,
    message: String,
    param: Option<&'static str>,
    /// The connection cannot be used on: the rest of a request is still on its way.
    close: bool,
    /// Whoever tries again by himself makes it worse.
    fatal: bool,
}

impl Refusal {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), param: None, close: false, fatal: false }
    }

    pub(super) fn model_not_found(error: &ModelNotFound) -> Self {
        Self {
            param: Some("model"),
            ..Self::new(StatusCode::NOT_FOUND, "model_not_found", error.to_string())
        }
    }

    pub(super) fn no_model() -> Self {
        Self {
            param: Some("model"),
            ..Self::new(StatusCode::BAD_REQUEST, "invalid_request", "name a model: /explain?model=NAME")
        }
    }

    pub(super) fn no_such_path(path: &str) -> Self {
        let path: String = path.chars().take(200).collect();
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            format!("there is nothing at {path:?}; the API is under /v1/"),
        )
    }

    pub(super) fn method_not_allowed(method: &Method, path: &str, allow: &str) -> Self {
        let path: String = path.chars().take(200).collect();
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            format!("{method} is not what {path:?} takes; it takes {allow}"),
        )
    }

    pub(super) fn unsupported_encoding(encoding: &str) -> Self {
        let message =
            format!("the content-encoding {encoding:?} is not known; there is gzip, br, zstd, deflate");
        Self { close: true, ..Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", message) }
    }

    pub(super) fn unreadable(error: &PeekError) -> Self {
        Self {
            param: error.param(),
            ..Self::new(StatusCode::BAD_REQUEST, "invalid_request", error.to_string())
        }
    }

    pub(super) fn upload(error: &UploadError) -> Self {
        let refusal = match error {
            UploadError::TooLarge { limit } => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "request_too_large",
                format!("the request body is over the limit of {limit} bytes (server.max_request_body)"),
            ),
            UploadError::Idle { after } => Self::new(
                StatusCode::REQUEST_TIMEOUT,
                "upload_timeout",
                format!("nothing of the request body came for {after:?} (server.upload_idle)"),
            ),
            UploadError::Broken(what) => Self::new(
                StatusCode::BAD_REQUEST,
                "invalid_request",
                format!("the request body cannot be read: {what}"),
            ),
        };
        Self { close: true, ..refusal }
    }

    pub(super) fn shutting_down() -> Self {
        Self {
            close: true,
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "shutting_down",
                "the gateway is shutting down; send the call again",
            )
        }
    }

    pub(super) fn loop_detected(passed: u32) -> Self {
        let message = format!(
            "the call has passed {passed} gateways (x-mainstay-hops): some of them have each other as a provider"
        );
        Self { fatal: true, ..Self::new(StatusCode::LOOP_DETECTED, "loop_detected", message) }
    }

    /// An answer that is no stream, when the head of one has gone out already.
    pub(super) fn no_stream() -> Self {
        Self::new(
            StatusCode::BAD_GATEWAY,
            "upstream_malformed",
            "the provider's reply is no stream, though one was asked for",
        )
    }

    pub(super) fn code(&self) -> &'static str {
        self.code
    }

    fn body(&self) -> ErrorBody<'_> {
        ErrorBody { param: self.param, ..ErrorBody::new(self.status.as_u16(), self.code, &self.message) }
    }

    /// The same as the one event of a stream.
    pub(super) fn to_event(&self, dialect: Dialect) -> Bytes {
        render_stream_error(dialect, &self.body(), 0)
    }

    pub(super) fn into_response(self, family: ErrorFamily) -> Response<ReplyBody> {
        let mut response = error_response(self.status, render_error(family, &self.body()));
        if self.close {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if self.fatal {
            response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
        }
        response
    }
}

/// The reply to a call that no target answered.
pub(super) fn failed(failed: &CallFailed, family: ErrorFamily, redactor: &Redactor) -> Response<ReplyBody> {
    let attempts = attempts(&failed.attempts, redactor);
    let status = outward(failed.status, failed.code, family);
    let theirs = failed
        .reply
        .as_ref()
        .and_then(|reply| with_attempts(family, &redactor.bytes(&reply.body), &attempts));
    let body = theirs.unwrap_or_else(|| {
        let message = short(&redactor.text(&failed.message()));
        // The provider's code and type are in it too.
        redactor.bytes(&render_error(family, &own_error(failed, status, &message, &attempts)))
    });
    let mut response = error_response(status, body);
    let headers = response.headers_mut();
    headers.insert("x-mainstay-attempts", failed.tries.into());
    if let Some(reply) = &failed.reply {
        super::reply::hand_on(&reply.headers, headers, redactor);
        let tried = failed.attempts.iter().rev().find(|tried| tried.provider == reply.provider);
        let names =
            [("x-mainstay-provider", Some(&reply.provider)), ("x-mainstay-model", tried.map(|t| &t.model))];
        for (name, value) in names {
            if let Some(Ok(value)) = value.map(|value| HeaderValue::from_str(value)) {
                headers.insert(name, value);
            }
        }
        // What they hint is handed on as we read it, in the one form that every client knows.
        headers.remove(header::RETRY_AFTER);
        headers.remove("retry-after-ms");
    }
    match failed.retry_after {
        Some(wait) => {
            headers.insert(header::RETRY_AFTER, whole_seconds(wait).into());
        }
        // The tries are used up: an SDK that goes on by itself would multiply them.
        None if may_be_retried(failed) => {
            headers.insert("x-should-retry", HeaderValue::from_static("false"));
        }
        None => {}
    }
    response
}

/// The same as the one event of a stream whose head went out before anyone had answered.
pub(super) fn failed_event(failed: &CallFailed, dialect: Dialect, redactor: &Redactor) -> Bytes {
    let attempts = attempts(&failed.attempts, redactor);
    let status = outward(failed.status, failed.code, dialect.error_family());
    let message = short(&redactor.text(&failed.message()));
    redactor.bytes(&render_stream_error(dialect, &own_error(failed, status, &message, &attempts), 0))
}

fn own_error<'a>(
    failed: &'a CallFailed,
    status: StatusCode,
    message: &'a str,
    attempts: &'a [dialect::Attempt],
) -> ErrorBody<'a> {
    let code = match (&failed.reply, failed.code) {
        (Some(reply), _) => reply.verdict.code.as_deref(),
        (None, code) => code,
    };
    let untranslatable = find_cause::<Untranslatable>(failed).and_then(|why| why.param.as_deref());
    let param = untranslatable.or_else(|| find_cause::<Incapable>(failed).map(|why| why.param));
    ErrorBody { status: status.as_u16(), code, error_type: None, message, param, attempts }
}

fn attempts(failed: &[Attempt], redactor: &Redactor) -> Vec<dialect::Attempt> {
    let entries = failed.iter().map(Attempt::to_entry);
    entries
        .map(|entry| dialect::Attempt { message: short(&redactor.text(&entry.message)), ..entry })
        .collect()
}

/// Whether an SDK would try this again by itself.
fn may_be_retried(failed: &CallFailed) -> bool {
    let status = failed.status.as_u16();
    let told_to = failed.reply.as_ref().is_some_and(|reply| reply.verdict.retry == Some(true));
    failed.tries > 0
        && (matches!(status, 408 | 409 | 429) || status >= 500 || told_to)
        && failed.verdict.class != Class::Cancelled
}

/// The status as the family knows it: an overloaded server is 529 to callers of Messages.
fn outward(status: StatusCode, code: Option<&'static str>, family: ErrorFamily) -> StatusCode {
    match (family, code) {
        (ErrorFamily::Anthropic, Some("overloaded")) => StatusCode::from_u16(529).unwrap_or(status),
        _ => status,
    }
}

/// A wait as `Retry-After` wants it: whole seconds, rounded up, so that nobody comes too early.
pub(super) fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// Words for people: not a page.
fn short(message: &str) -> String {
    const LONGEST: usize = 500;
    match message.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...", message.get(..at).unwrap_or_default()),
        None => message.to_owned(),
    }
}

fn error_response(status: StatusCode, body: Bytes) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The drain is over while a stream still runs.
#[derive(Debug)]
pub(super) struct ShuttingDown;

impl std::fmt::Display for ShuttingDown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the gateway is shutting down and the stream was not finished in time")
    }
}

impl std::error::Error for ShuttingDown {}

/// The event that ends a stream for `error`, in the caller's dialect, and a word for what happened. `failed` are the tries that
/// failed, this one included; a provider's own event is handed on as it came, without them.
pub(super) fn stream_error(
    redactor: &Redactor,
    dialect: Dialect,
    error: &BoxError,
    failed: &[Attempt],
) -> (Bytes, &'static str) {
    let verdict = HttpClassifier::new().error(&**error);
    let (status, code, outcome);
    let mut before = Bytes::new();
    match find_cause::<ReplyError>(&**error) {
        Some(ReplyError::Provider(event)) => {
            match seen(dialect, &event.raw, &event.data) {
                Seen::Raises => return (redactor.bytes(&event.raw), verdict.class.as_str()),
                Seen::Passes => before = redactor.bytes(&event.raw),
                Seen::Never => {}
            }
            status = verdict.status.unwrap_or(StatusCode::BAD_GATEWAY);
            code = verdict.code.as_deref();
            outcome = verdict.class.as_str();
        }
        _ if find_cause::<ShuttingDown>(&**error).is_some() => {
            status = StatusCode::SERVICE_UNAVAILABLE;
            outcome = "shutting_down";
            code = Some(outcome);
        }
        _ => {
            let (own_status, own_code) = own_words(&verdict, Some(&**error));
            // A connection that broke in mid-stream is to a caller what it is to anyone: a stream cut short.
            outcome = if own_code == "upstream_unreachable" { "stream_truncated" } else { own_code };
            status = own_status;
            code = Some(outcome);
        }
    }
    let message = verdict.message.as_deref().map_or_else(|| error.to_string(), str::to_owned);
    let body = ErrorBody {
        status: status.as_u16(),
        code,
        error_type: None,
        message: &short(&redactor.text(&message)),
        param: None,
        attempts: &attempts(failed, redactor),
    };
    let told = redactor.bytes(&render_stream_error(dialect, &body, 0));
    (if before.is_empty() { told } else { [before, told].concat().into() }, outcome)
}

#[cfg(test)]
mod tests;
