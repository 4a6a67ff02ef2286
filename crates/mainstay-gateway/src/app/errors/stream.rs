//! The end of a stream that fails after its head.

use super::{
    attempts,
    seen::{Seen, seen},
    short,
};
use bytes::Bytes;
use http::StatusCode;
use mainstay::{
    BoxError,
    dialect::{Dialect, ErrorBody, render_stream_error},
    judge::ReplyError,
    layers::{
        classify::{Classify, HttpClassifier},
        error::find_cause,
    },
    route::{Attempt, own_words},
    secret::Redactor,
};

/// The drain is over while a stream still runs.
#[derive(Debug)]
pub(in super::super) struct ShuttingDown;

impl std::fmt::Display for ShuttingDown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the gateway is shutting down and the stream was not finished in time")
    }
}

impl std::error::Error for ShuttingDown {}

/// The event that ends a stream for `error`, in the caller's dialect, and a word for what happened. `failed` are the tries that
/// failed, this one included; a provider's own event is handed on as it came, without them.
pub(in super::super) fn stream_error(
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
