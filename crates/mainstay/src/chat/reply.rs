//! Replies that are no stream, and errors of those that are.

use super::{
    Answer, ChatError, ChatResponse,
    answer::Origin,
    delta::{self, Calls, Sink},
};
use crate::{
    dialect::{Dialect, Whole, read_whole},
    judge::ReplyError,
    provider::{Kind, MAX_ERROR_BODY, ProviderClassifier},
    secret::Redactor,
};
use bytes::{Bytes, BytesMut};
use http::{Response, header, response::Parts};
use http_body::Body;
use http_body_util::BodyExt;
use mainstay_layers::{
    BoxError,
    classify::{Class, Classify, Head},
};
use serde_json::Value;
use std::pin::pin;

/// Judges where nobody below did. What is spoken here is OpenAI's, whoever the provider is.
const CLASSIFIER: ProviderClassifier = ProviderClassifier::new(Kind::OpenAi);

/// The head of a reply and its bytes, if it is a success.
pub(super) async fn whole<B>(
    reply: Response<B>,
    max: usize,
    origin: &Origin,
    redactor: &Redactor,
) -> Result<(Parts, Bytes), ChatError>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let (parts, body) = reply.into_parts();
    if !parts.status.is_success() {
        return Err(error(&parts, body, origin, redactor).await);
    }
    match collect(body, max).await {
        Collected::Whole(bytes) => Ok((parts, bytes)),
        Collected::TooLarge(_) => Err(too_large(origin)),
        Collected::Broken(error, _) => Err(ChatError::call(error, origin.clone(), redactor)),
    }
}

/// The error of an error reply: its status stands, whatever becomes of its body.
pub(super) async fn error<B>(parts: &Parts, body: B, origin: &Origin, redactor: &Redactor) -> ChatError
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let (Collected::Whole(bytes) | Collected::TooLarge(bytes) | Collected::Broken(_, bytes)) =
        collect(body, MAX_ERROR_BODY).await;
    let verdict = CLASSIFIER.body(Head::of_parts(parts), &bytes);
    ChatError::reply(parts.status, verdict, &bytes, origin.clone(), redactor)
}

/// The error inside a success.
pub(super) fn error_inside(parts: &Parts, object: &[u8], origin: &Origin, redactor: &Redactor) -> ChatError {
    let verdict = CLASSIFIER.error_object(Head::of_parts(parts), object);
    let status = verdict.status.unwrap_or(http::StatusCode::BAD_GATEWAY);
    ChatError::reply(status, verdict, &Bytes::copy_from_slice(object), origin.clone(), redactor)
}

/// What is wrong with a success that is no answer, if anything is.
pub(super) fn check(
    dialect: Dialect,
    parts: &Parts,
    bytes: &[u8],
    origin: &Origin,
    redactor: &Redactor,
) -> Result<crate::dialect::Answer, ChatError> {
    match read_whole(dialect, bytes) {
        Whole::Answer(answer) => Ok(answer),
        Whole::Error { object, .. } => Err(error_inside(parts, object, origin, redactor)),
        Whole::Empty => Err(empty(origin)),
        Whole::Broken => Err(malformed("its fields are not what they must be, or end in the middle", origin)),
        Whole::NotJson if bytes.trim_ascii().is_empty() => Err(malformed("it is empty", origin)),
        Whole::NotJson => Err(malformed("it is not JSON", origin)),
    }
}

/// An answer that is no stream.
pub(super) fn answer(
    parts: &Parts,
    bytes: &[u8],
    origin: Origin,
    redactor: &Redactor,
) -> Result<ChatResponse, ChatError> {
    let known = check(Dialect::ChatCompletions, parts, bytes, &origin, redactor)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Ok(raw) = serde_json::from_slice::<Value>(bytes) else {
        return Err(malformed("its JSON cannot be read", &origin));
    };
    let mut answer = Answer { usage: known.usage, ..Answer::default() };
    let mut taken = raw.clone();
    delta::identify(&mut taken, &mut answer);
    if let Some(message) = delta::first_choice(&mut taken, "message") {
        let mut calls = Calls::default();
        delta::read(message, &mut Sink { answer: &mut answer, calls: &mut calls, events: None });
        if calls.is_over(bytes.len()) {
            return Err(too_large(&origin));
        }
    }
    Ok(ChatResponse { answer, finish: known.finish, raw, origin })
}

pub(super) fn malformed(what: &'static str, origin: &Origin) -> ChatError {
    ChatError::judged(Class::Malformed.into(), ReplyError::NotAnAnswer { what }, origin.clone())
}

pub(super) fn empty(origin: &Origin) -> ChatError {
    let what = ReplyError::NotAnAnswer { what: "it holds no answer" };
    ChatError::judged(CLASSIFIER.empty_answer(), what, origin.clone())
}

pub(super) fn too_large(origin: &Origin) -> ChatError {
    let what = ReplyError::NotAnAnswer { what: "it is larger than a reply may be" };
    ChatError::judged(Class::TooLarge.into(), what, origin.clone())
}

pub(super) fn truncated(origin: &Origin) -> ChatError {
    ChatError::judged(Class::Malformed.into(), ReplyError::Truncated, origin.clone())
}

/// Whether a reply says that it is JSON.
pub(super) fn is_json(parts: &Parts) -> bool {
    let kind = parts.headers.get(header::CONTENT_TYPE).map(|kind| kind.as_bytes().trim_ascii_start());
    let json = b"application/json";
    kind.and_then(|kind| kind.get(..json.len())).is_some_and(|kind| kind.eq_ignore_ascii_case(json))
}

enum Collected {
    Whole(Bytes),
    /// With what fits.
    TooLarge(Bytes),
    /// With what came before.
    Broken(BoxError, Bytes),
}

/// Reads a body up to a bound. One that came in a single frame is not copied.
async fn collect<B>(body: B, max: usize) -> Collected
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut body = pin!(body);
    let mut first = Bytes::new();
    let mut more = BytesMut::new();
    loop {
        let so_far = |first: Bytes, more: BytesMut| if more.is_empty() { first } else { more.freeze() };
        let data = match body.frame().await {
            None => return Collected::Whole(so_far(first, more)),
            Some(Err(error)) => return Collected::Broken(error.into(), so_far(first, more)),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => data,
                Err(_) => continue,
            },
        };
        let held = first.len().max(more.len());
        if data.len() > max.saturating_sub(held) {
            let room = data.slice(..max.saturating_sub(held));
            if more.is_empty() {
                more.extend_from_slice(&first);
            }
            more.extend_from_slice(&room);
            return Collected::TooLarge(more.freeze());
        }
        if held == 0 {
            first = data;
            continue;
        }
        if more.is_empty() {
            more.extend_from_slice(&first);
        }
        more.extend_from_slice(&data);
    }
}
