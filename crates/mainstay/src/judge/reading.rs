//! What is known of a call, and what that makes of its reply.

use super::{
    ErrorBody, JudgeBody, JudgeLayer, ReplyError, UsageCell, collected::End, error::ErrorEvent,
    held::Released,
};
use crate::dialect::{Dialect, Whole, read_whole};
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header, response::Parts};
use http_body::Body;
use mainstay_layers::{
    BoxError,
    classify::{Class, Failed, Head, Verdict},
    error::find_cause,
    timeout::Progress,
};

/// What a judge knows of a call.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) layer: JudgeLayer,
    pub(super) dialect: Dialect,
    /// Whether a stream was asked for, where that is known.
    pub(super) stream: Option<bool>,
    /// Whether the stream is translated above: what cannot be read cannot be handed on.
    pub(super) translated: bool,
    pub(super) progress: Progress,
    pub(super) usage: Option<UsageCell>,
}

impl Reading {
    /// An error, with the judgement on it where nobody below has given one.
    pub(super) fn failed(&self, error: BoxError) -> BoxError {
        if find_cause::<Failed>(&*error).is_some() {
            return error;
        }
        Failed::new(self.layer.error(&*error), error).into()
    }

    pub(super) fn judge_whole<B>(
        &self,
        mut parts: Parts,
        body: Bytes,
        end: End,
    ) -> Result<Response<JudgeBody<B>>, BoxError> {
        if !parts.status.is_success() {
            let verdict = self.layer.reply(Head::of_parts(&parts), &body);
            return Ok(error_reply(parts, body, verdict));
        }
        match end {
            End::Broken(error) => return Err(self.failed(error)),
            End::Whole | End::Bound => {}
        }
        let what = match read_whole(self.dialect, &body) {
            // An SDK would look for events in it, find none, and take the answer for an empty one.
            Whole::Answer(_)
                if self.stream == Some(true)
                    && self.asks_in_the_body()
                    && self.dialect != Dialect::Embeddings =>
            {
                "it is no stream, though one was asked for"
            }
            Whole::Answer(answer) => {
                if let Some(cell) = &self.usage {
                    cell.set(answer.usage);
                }
                parts.extensions.insert(Verdict::new(Class::Success));
                return Ok(Response::from_parts(parts, JudgeBody::whole(body)));
            }
            Whole::Error { object, reason } => {
                let verdict = self.layer.inside(Head::of_parts(&parts), object, reason.as_deref());
                return Ok(error_reply(parts, body, verdict));
            }
            Whole::Empty => {
                let verdict = self.layer.empty(Head::of_parts(&parts));
                let error = ReplyError::NotAnAnswer { what: "it holds no answer" };
                return Err(Failed::new(verdict, error).into());
            }
            Whole::Broken => "its fields are not what they must be, or end in the middle",
            Whole::NotJson if body.iter().all(u8::is_ascii_whitespace) => "it is empty",
            Whole::NotJson => "it is not JSON",
        };
        Err(Failed::new(Class::Malformed.into(), ReplyError::NotAnAnswer { what }).into())
    }

    pub(super) fn judge_stream<B>(
        &self,
        mut parts: Parts,
        outcome: Released<B>,
    ) -> Result<Response<JudgeBody<B>>, BoxError>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        match outcome {
            Released::Go(held, tee, phase) => {
                parts.extensions.insert(Verdict::new(Class::Success));
                Ok(Response::from_parts(parts, JudgeBody::stream(held, tee, phase)))
            }
            Released::Failed(failed) => match find_cause::<ReplyError>(&failed) {
                Some(ReplyError::Provider(ErrorEvent { data, .. })) => {
                    let (data, verdict) = (data.clone(), failed.verdict().clone());
                    Ok(error_reply(parts, data, verdict))
                }
                _ => Err(failed.into()),
            },
        }
    }
}

/// An error reply, whole: the status that the error stands for, its body as JSON or as it came, and the judgement.
fn error_reply<B>(mut parts: Parts, body: Bytes, verdict: Verdict) -> Response<JudgeBody<B>> {
    if parts.status.is_success() {
        parts.status = verdict.status.unwrap_or(StatusCode::BAD_GATEWAY);
        parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.extensions.insert(verdict);
    parts.extensions.insert(ErrorBody(body.clone()));
    Response::from_parts(parts, JudgeBody::whole(body))
}
