//! The body of a reply, which votes when it has ended.

use super::call::Call;
use crate::{
    BoxError,
    classify::{Classify, Vote},
};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll},
};

pin_project! {
    /// A body that votes once, at its end: `None`, trailers, or the inner body's `is_end_stream` after a frame. An error
    /// in it is judged as any error; dropped before its end, it is no vote. Frames pass untouched.
    #[derive(Debug)]
    pub struct ResponseBody<B, C> {
        // Gone after an error: what it holds must not outlive it.
        #[pin]
        inner: Option<B>,
        // Gone once it has voted.
        call: Option<Call>,
        classifier: C,
    }
}

impl<B, C> ResponseBody<B, C> {
    #[inline]
    pub(super) fn new(inner: B, call: Option<Call>, classifier: C) -> Self {
        Self { inner: Some(inner), call, classifier }
    }
}

impl<B, C> Body for ResponseBody<B, C>
where
    B: Body,
    B::Error: Into<BoxError>,
    C: Classify,
{
    type Data = B::Data;
    type Error = BoxError;

    // A frame is large: it is looked at where it lies, and moves once.
    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let mut this = self.project();
        let Some(mut inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        match inner.as_mut().poll_frame(cx) {
            Poll::Pending => {
                if let Some(call) = this.call {
                    call.pending();
                }
                Poll::Pending
            }
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(call) = this.call.as_mut() {
                    call.content();
                    if let Some(trailers) = frame.trailers_ref() {
                        judge_trailers(this.call, trailers, this.classifier);
                    } else if inner.is_end_stream() {
                        succeed(this.call);
                    }
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(None) => {
                succeed(this.call);
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => {
                let error = error.into();
                this.inner.set(None);
                judge_error(this.call, &error, this.classifier);
                Poll::Ready(Some(Err(error)))
            }
        }
    }

    #[inline]
    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    #[inline]
    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

#[inline]
fn succeed(call: &mut Option<Call>) {
    if let Some(here) = call {
        here.end(Vote::Success, None);
        *call = None;
    }
}

#[cold]
fn judge_trailers<C: Classify>(call: &mut Option<Call>, trailers: &HeaderMap, classifier: &C) {
    let Some(mut call) = call.take() else { return };
    match classifier.trailers(trailers) {
        Some(verdict) => call.end(verdict.vote(), verdict.wait),
        None => call.end(Vote::Success, None),
    }
}

#[cold]
fn judge_error<C: Classify>(call: &mut Option<Call>, error: &BoxError, classifier: &C) {
    let Some(mut call) = call.take() else { return };
    let verdict = classifier.error(&**error);
    call.end(verdict.vote(), verdict.wait);
}
