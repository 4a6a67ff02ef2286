//! What a caller is told whose call no target answered.

use super::{super::reply::hand_on, ReplyBody, attempts, error_response, short, whole_seconds};
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use mainstay::{
    dialect::{self, Dialect, ErrorBody, ErrorFamily, render_error, render_stream_error, with_attempts},
    layers::{classify::Class, error::find_cause},
    route::{CallFailed, Incapable},
    secret::Redactor,
    translate::Untranslatable,
};

/// The reply to a call that no target answered.
pub(in super::super) fn failed(
    failed: &CallFailed,
    family: ErrorFamily,
    redactor: &Redactor,
) -> Response<ReplyBody> {
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
        hand_on(&reply.headers, headers, redactor);
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
pub(in super::super) fn failed_event(failed: &CallFailed, dialect: Dialect, redactor: &Redactor) -> Bytes {
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

/// Whether an SDK would try this again by itself.
fn may_be_retried(failed: &CallFailed) -> bool {
    let status = failed.status.as_u16();
    let told_to = failed.reply.as_ref().is_some_and(|reply| reply.verdict.retry == Some(true));
    failed.tries > 0
        && (matches!(status, 408 | 409 | 429) || status >= 500 || told_to)
        && failed.verdict.class != Class::Cancelled
}

/// The status as the family knows it: an overloaded server is 529 to callers of Messages.
pub(super) fn outward(status: StatusCode, code: Option<&'static str>, family: ErrorFamily) -> StatusCode {
    match (family, code) {
        (ErrorFamily::Anthropic, Some("overloaded")) => StatusCode::from_u16(529).unwrap_or(status),
        _ => status,
    }
}
