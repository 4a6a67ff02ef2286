//! The body of a reply, which votes when it has ended.

use super::{pace::Pace, permit::Permit};
use crate::{
    BoxError,
    classify::{Classify, Vote},
};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project! {
    /// A body that votes once, at its end: `None`, trailers, or the inner body's `is_end_stream` after a frame. An error
    /// in it is judged as any error; dropped before its end, it is no vote. Frames pass untouched.
    #[derive(Debug)]
    pub struct ResponseBody<B, C> {
        // Gone after an error: what it holds must not outlive it.
        #[pin]
        inner: Option<B>,
        permit: Option<Permit>,
        pace: Pace,
        classifier: C,
    }
}

impl<B, C> ResponseBody<B, C> {
    pub(super) fn new(inner: B, permit: Option<Permit>, pace: Pace, classifier: C) -> Self {
        Self { inner: Some(inner), permit, pace, classifier }
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

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let mut this = self.project();
        let Some(mut inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        let polled = inner.as_mut().poll_frame(cx);
        if polled.is_pending() && this.permit.is_some() {
            this.pace.pending();
        }
        let frame = ready!(polled);
        if this.permit.is_none() {
            return Poll::Ready(match frame {
                Some(Err(error)) => {
                    this.inner.set(None);
                    Some(Err(error.into()))
                }
                Some(Ok(frame)) => Some(Ok(frame)),
                None => None,
            });
        }
        let slow = this.pace.content();
        let (vote, frame) = match frame {
            None => (Some((Vote::Success, None)), None),
            Some(Ok(frame)) => {
                let vote = match frame.trailers_ref() {
                    Some(trailers) => Some(match this.classifier.trailers(trailers) {
                        Some(verdict) => (verdict.vote(), verdict.wait),
                        None => (Vote::Success, None),
                    }),
                    None if inner.is_end_stream() => Some((Vote::Success, None)),
                    None => None,
                };
                (vote, Some(Ok(frame)))
            }
            Some(Err(error)) => {
                let error = error.into();
                this.inner.set(None);
                let verdict = this.classifier.error(&*error);
                (Some((verdict.vote(), verdict.wait)), Some(Err(error)))
            }
        };
        if let Some((vote, wait)) = vote {
            if let Some(permit) = this.permit.take() {
                permit.cast(vote, wait, slow);
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
