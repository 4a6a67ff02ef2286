//! A stream that is kept when it has ended whole.

use super::{super::attempt::AttemptLog, super::target::ReplyBody, Answer, AnswerCache, CacheKey};
use crate::dialect::Dialect;
use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use mainstay_layers::BoxError;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// Whether the end of a stream in this dialect says that it is whole: those that a judge reads. Of others the end of the
/// connection may be anything.
pub(super) fn tells_its_end(dialect: Dialect) -> bool {
    use Dialect::{ChatCompletions, Completions, Gemini, Messages, Responses};
    matches!(dialect, ChatCompletions | Completions | Messages | Responses | Gemini)
}

/// What has passed of a stream so far.
pub(super) struct Passed {
    cache: AnswerCache,
    key: CacheKey,
    log: AttemptLog,
    /// Without its body.
    answer: Answer,
    bytes: BytesMut,
}

impl Passed {
    pub(super) fn new(cache: AnswerCache, key: CacheKey, log: AttemptLog, answer: Answer) -> Self {
        Self { cache, key, log, answer, bytes: BytesMut::new() }
    }

    /// `None` once it is too long.
    fn with(mut self, data: &Bytes) -> Option<Self> {
        if self.bytes.len() + data.len() > self.cache.max_entry {
            return None;
        }
        self.bytes.extend_from_slice(data);
        Some(self)
    }

    async fn store(self) {
        let answer = Answer { body: self.bytes.freeze(), ..self.answer };
        self.cache.put(self.key, answer).await;
    }
}

/// Passes a stream on, and puts it into a store when it has come to its end: not one that broke, that was too long, that was
/// put together from two, or whose caller left.
pub(super) struct KeepBody {
    inner: ReplyBody,
    passed: Option<Passed>,
    storing: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    ended: bool,
}

impl KeepBody {
    pub(super) fn new(inner: ReplyBody, passed: Passed) -> Self {
        Self { inner, passed: Some(passed), storing: None, ended: false }
    }

    /// All of it has passed.
    fn end(&mut self) {
        self.ended = true;
        if let Some(passed) = self.passed.take().filter(|passed| !passed.log.has_seam()) {
            self.storing = Some(Box::pin(passed.store()));
        }
    }

    fn poll_stored(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(storing) = &mut self.storing {
            ready!(storing.as_mut().poll(cx));
            self.storing = None;
        }
        Poll::Ready(())
    }
}

impl Body for KeepBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if !this.ended {
            match ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        this.passed = this.passed.take().and_then(|passed| passed.with(data));
                    }
                    if this.inner.is_end_stream() {
                        this.end();
                        // Most stores take it at once; else the caller is told of the end a little later.
                        let _ = this.poll_stored(cx);
                    }
                    return Poll::Ready(Some(Ok(frame)));
                }
                Some(Err(error)) => {
                    this.passed = None;
                    return Poll::Ready(Some(Err(error)));
                }
                None => this.end(),
            }
        }
        ready!(this.poll_stored(cx));
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.storing.is_none() && (self.ended || self.passed.is_none() && self.inner.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
