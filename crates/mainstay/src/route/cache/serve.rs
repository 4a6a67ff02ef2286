//! Keeping answers, and giving them.

use super::{
    super::{
        attempt::AttemptLog,
        failed::CallFailed,
        fallback::{Run, Served},
        target::ReplyBody,
    },
    Answer, AnswerCache, CacheKey, Cached, Serve,
    key::forbids,
};
use http::{HeaderValue, Response, StatusCode, header};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use mainstay_layers::classify::Class;
use std::time::Duration;

/// Asks the targets, with a kept answer before or behind them.
pub(in super::super) async fn cached(
    cache: AnswerCache,
    mut run: Run,
) -> Result<Response<ReplyBody>, Box<CallFailed>> {
    let (body, call) = (run.body.clone(), run.call.clone());
    let (key, asks_anew) = match (run.parts(), call) {
        (Some(parts), Some(call)) => (CacheKey::of(parts, &body, &call), forbids(parts, "no-cache")),
        _ => (None, false),
    };
    let Some(key) = key else { return run.first().await };
    let log = run.log.clone();
    if cache.serve == Serve::Always && !asks_anew {
        if let Some(answer) = cache.store.get(key).await {
            return Ok(give(answer, &log, false));
        }
    }
    match run.first().await {
        Ok(response) => Ok(keep(&cache, key, response).await),
        Err(failed) if may_cover(failed.verdict.class) => match cache.store.get(key).await {
            Some(answer) => {
                tracing::info!(target = %answer.target, class = %failed.verdict.class, "every target failed: an old answer is given");
                Ok(give(answer, &log, true))
            }
            None => Err(failed),
        },
        Err(failed) => Err(failed),
    }
}

/// Whether an old answer may stand for this failure. What the caller must mend, and what an operator took away, is told.
fn may_cover(class: Class) -> bool {
    matches!(
        class,
        Class::RateLimited
            | Class::QuotaExhausted
            | Class::Overloaded
            | Class::ServerError
            | Class::Transport
            | Class::Timeout
            | Class::Malformed
            | Class::Rejected
    )
}

/// Keeps an answer that is whole, and is there whole.
async fn keep(cache: &AnswerCache, key: CacheKey, response: Response<ReplyBody>) -> Response<ReplyBody> {
    let json = |value: &&HeaderValue| value.as_bytes().starts_with(b"application/json");
    let (parts, body) = response.into_parts();
    let served = parts.extensions.get::<Served>();
    let kind = parts.headers.get(header::CONTENT_TYPE).filter(json);
    let whole = parts.status == StatusCode::OK && body.size_hint().exact().is_some();
    let (Some(served), Some(content_type), true) = (served, kind, whole) else {
        return Response::from_parts(parts, body);
    };
    let (target, model) = (served.target.clone(), served.model.clone());
    let (content_type, status) = (content_type.clone(), parts.status);
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        // It was not there after all: the caller gets what the body has to say.
        Err(error) => {
            let failed = http_body_util::StreamBody::new(Failing(Some(error)));
            return Response::from_parts(parts, failed.boxed_unsync());
        }
    };
    let answer = Answer { status, content_type, body: body.clone(), target, model, age: Duration::ZERO };
    cache.store.put(key, answer).await;
    Response::from_parts(parts, whole_body(body))
}

struct Failing(Option<mainstay_layers::BoxError>);

impl futures_core::Stream for Failing {
    type Item = Result<http_body::Frame<bytes::Bytes>, mainstay_layers::BoxError>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.take().map(Err))
    }
}

fn give(answer: Answer, log: &AttemptLog, stale: bool) -> Response<ReplyBody> {
    let mut response = Response::new(whole_body(answer.body));
    *response.status_mut() = answer.status;
    response.headers_mut().insert(header::CONTENT_TYPE, answer.content_type);
    let extensions = response.extensions_mut();
    extensions.insert(Served { target: answer.target, model: answer.model, tries: log.tries() });
    extensions.insert(Cached { age: answer.age, stale });
    response
}

fn whole_body(bytes: bytes::Bytes) -> ReplyBody {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}
