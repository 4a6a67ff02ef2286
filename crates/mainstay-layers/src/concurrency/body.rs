//! The body of a reply, which holds the permit until it has ended.

use super::permit::Permit;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll},
};
use tokio::time::Instant;

pin_project! {
    /// A body whose call is in flight until its end, an error in it, or its drop. Frames and errors pass untouched.
    #[derive(Debug)]
    pub struct ResponseBody<B> {
        // Gone after an error: what it holds must not outlive it.
        #[pin]
        inner: Option<B>,
        permit: Option<Permit>,
        // When the call began, until its first content was reported to an adaptive limit.
        began: Option<Instant>,
    }
}

impl<B: Body> ResponseBody<B> {
    pub(super) fn new(inner: B, permit: Option<Permit>, began: Option<Instant>) -> Self {
        let mut body = Self { inner: Some(inner), permit, began };
        if body.is_end_stream() {
            answered(body.permit.as_ref(), &mut body.began);
            body.permit = None;
        }
        body
    }
}

impl<B: Body> Body for ResponseBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let Some(mut inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        // A frame is large: it is looked at where it lies.
        let polled = inner.as_mut().poll_frame(cx);
        let over = match &polled {
            Poll::Pending => false,
            Poll::Ready(Some(Ok(frame))) => {
                answered(this.permit.as_ref(), this.began);
                frame.is_trailers() || inner.is_end_stream()
            }
            Poll::Ready(Some(Err(_))) => {
                this.inner.set(None);
                true
            }
            Poll::Ready(None) => true,
        };
        if over {
            *this.permit = None;
        }
        polled
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
fn answered(permit: Option<&Permit>, began: &mut Option<Instant>) {
    // Nothing to do for a limit that is fixed, and but once for others.
    if began.is_some() {
        if let (Some(permit), Some(began)) = (permit, began.take()) {
            permit.limit().answered(began);
        }
    }
}
