//! Keeping answers, and giving them.

use super::{
    super::{
        attempt::AttemptLog,
        failed::CallFailed,
        fallback::{Run, Served},
        recover::is_stream,
        target::ReplyBody,
    },
    Answer, AnswerCache, CacheKey, Cached, Serve,
    keep::{KeepBody, Passed, tells_its_end},
    key::forbids,
};
use crate::peek::Call;
use bytes::Bytes;
use http::{Response, StatusCode, header};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use mainstay_layers::classify::Class;
use std::time::Duration;

/// Asks the targets, with a kept answer before or behind them.
pub(in super::super) async fn cached(
    cache: AnswerCache,
    mut run: Box<Run>,
) -> Result<Response<ReplyBody>, Box<CallFailed>> {
    let (body, call) = (run.body.clone(), run.call.clone());
    let (key, asks_anew) = match run.parts().filter(|_| call.is_some()) {
        Some(parts) => (CacheKey::of(parts, &body), forbids(parts, "no-cache")),
        None => (None, false),
    };
    let (Some(key), Some(call)) = (key, call) else { return run.answered().await };
    let log = run.log.clone();
    if cache.serve == Serve::Always && !asks_anew {
        if let Some(answer) = cache.find(key).await {
            return Ok(give(answer, &log, false));
        }
    }
    match run.answered().await {
        Ok(response) => Ok(keep(&cache, key, &call, &log, response).await),
        Err(failed) if may_cover(failed.verdict.class) => match cache.find(key).await {
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

/// Keeps an answer: at once where it is here whole, a stream when it has ended.
async fn keep(
    cache: &AnswerCache,
    key: CacheKey,
    call: &Call,
    log: &AttemptLog,
    response: Response<ReplyBody>,
) -> Response<ReplyBody> {
    let (parts, body) = response.into_parts();
    let served = parts.extensions.get::<Served>();
    let kind = parts.headers.get(header::CONTENT_TYPE);
    let (Some(served), Some(content_type), StatusCode::OK) = (served, kind, parts.status) else {
        return Response::from_parts(parts, body);
    };
    let answer = Answer {
        status: parts.status,
        content_type: content_type.clone(),
        body: Bytes::new(),
        target: served.target.clone(),
        model: served.model.clone(),
        age: Duration::ZERO,
    };
    if is_stream(&parts.headers) {
        if !call.stream || !tells_its_end(call.dialect) {
            return Response::from_parts(parts, body);
        }
        let passed = Passed::new(cache.clone(), key, log.clone(), answer);
        return Response::from_parts(parts, KeepBody::new(body, passed).boxed_unsync());
    }
    let whole = body.size_hint().exact().is_some_and(|length| length <= cache.max_entry as u64);
    if !whole || !answer.content_type.as_bytes().starts_with(b"application/json") {
        return Response::from_parts(parts, body);
    }
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        // It was not there after all: the caller gets what the body has to say.
        Err(error) => {
            let failed = http_body_util::StreamBody::new(Failing(Some(error)));
            return Response::from_parts(parts, failed.boxed_unsync());
        }
    };
    cache.put(key, Answer { body: body.clone(), ..answer }).await;
    Response::from_parts(parts, whole_body(body))
}

struct Failing(Option<mainstay_layers::BoxError>);

impl futures_core::Stream for Failing {
    type Item = Result<http_body::Frame<Bytes>, mainstay_layers::BoxError>;

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

fn whole_body(bytes: Bytes) -> ReplyBody {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}
