//! Heads of replies, whole replies, errors.

use super::{TranslateLayer, request::Plan, stream::translate_answer};
use crate::{
    dialect::{self, Dialect, render_error, render_stream_error},
    judge::{self, ErrorEvent, ReplyError, framing::announces_stream},
    provider,
};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header, response::Parts};
use mainstay_layers::{
    BoxError,
    classify::{Class, Classify, Failed, Head, HttpClassifier, Verdict},
    error::find_cause,
};

/// The reply header that lists what was dropped on the way.
const DROPPED: HeaderName = HeaderName::from_static("x-mainstay-dropped");

const STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Whether a reply of `dialect` is a stream, or may be one since the caller asked for it and the server does not say.
pub(super) fn is_stream(dialect: Dialect, parts: &Parts, plan: &Plan) -> bool {
    let untyped = parts.headers.get(header::CONTENT_TYPE).is_none_or(|kind| kind.is_empty());
    parts.status.is_success() && (announces_stream(dialect, &parts.headers) || untyped && plan.stream)
}

pub(super) fn stream_head(parts: &mut Parts, plan: &Plan) {
    head(parts, STREAM, plan);
}

fn head(parts: &mut Parts, kind: HeaderValue, plan: &Plan) {
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, kind);
    if !plan.dropped.is_empty() {
        if let Ok(list) = HeaderValue::from_str(&plan.dropped.join(", ")) {
            parts.headers.insert(DROPPED, list);
        }
    }
}

/// A reply that is no stream, in the caller's dialect.
pub(super) fn whole(
    mut parts: Parts,
    body: &Bytes,
    layer: &TranslateLayer,
    plan: &Plan,
) -> Result<Response<Bytes>, BoxError> {
    if !parts.status.is_success() {
        let verdict = HttpClassifier::new().head(Head::of_parts(&parts));
        let body = error_body(parts.status, body, &verdict, plan);
        head(&mut parts, JSON, plan);
        parts.extensions.insert(judge::ErrorBody(body.clone()));
        return Ok(Response::from_parts(parts, body));
    }
    let (from, to) = (layer.target.api, plan.caller);
    match translate_answer(from, to, plan.wishes, plan.stream, &plan.model, body) {
        Ok(text) => {
            head(&mut parts, if plan.stream { STREAM } else { JSON }, plan);
            Ok(Response::from_parts(parts, Bytes::from(text)))
        }
        Err(what) => Err(Failed::new(Class::Malformed.into(), ReplyError::NotAnAnswer { what }).into()),
    }
}

/// The provider's error in the shape that the caller knows: its words, its code, and the type that its status stands for.
fn error_body(status: StatusCode, body: &[u8], verdict: &Verdict, plan: &Plan) -> Bytes {
    let theirs = provider::ErrorBody::read(body);
    let said = verdict.message.as_deref().or(theirs.message.as_deref());
    let otherwise = format!("the provider answered with {status}");
    render_error(
        plan.caller.dialect().error_family(),
        &dialect::ErrorBody {
            status: status.as_u16(),
            code: verdict.code.as_deref().or(theirs.code()),
            error_type: None,
            message: said.unwrap_or(&otherwise),
            param: theirs.param.as_deref(),
            attempts: &[],
        },
    )
}

/// An error of a stream: a provider's own event becomes one of the caller's dialect; anything else is typed and stays.
pub(super) fn stream_error(error: BoxError, caller: Dialect, sequence: u64) -> BoxError {
    let Some(ReplyError::Provider(event)) = find_cause::<ReplyError>(&*error) else { return error };
    let verdict = HttpClassifier::new().error(&*error);
    let theirs = provider::ErrorBody::read(&event.data);
    let said = verdict.message.as_deref().or(theirs.message.as_deref());
    let body = dialect::ErrorBody {
        status: verdict.status.unwrap_or(StatusCode::BAD_GATEWAY).as_u16(),
        code: verdict.code.as_deref().or(theirs.code()),
        error_type: None,
        message: said.unwrap_or("the provider ended the stream with an error"),
        param: None,
        attempts: &[],
    };
    let raw = render_stream_error(caller, &body, sequence);
    let data = render_error(caller.error_family(), &body);
    Failed::new(verdict, ReplyError::Provider(ErrorEvent::new(raw, data))).into()
}

/// A stream that cannot be translated on.
pub(super) fn malformed(what: &'static str) -> BoxError {
    let verdict = Verdict::new(Class::Malformed).with_committed(true);
    Failed::new(verdict, ReplyError::NotAnAnswer { what }).into()
}

/// A reply over the bound.
pub(super) fn too_large() -> BoxError {
    let what = "it is larger than a reply may be";
    Failed::new(Class::TooLarge.into(), ReplyError::NotAnAnswer { what }).into()
}
