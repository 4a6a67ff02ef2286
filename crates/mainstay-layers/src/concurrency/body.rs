//! The body of a reply, which holds the permit until it has ended.

use super::permit::Permit;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
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

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let Some(mut inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        let frame = ready!(inner.as_mut().poll_frame(cx));
        let over = match &frame {
            Some(Ok(frame)) => {
                answered(this.permit.as_ref(), this.began);
                frame.is_trailers() || inner.is_end_stream()
            }
            Some(Err(_)) => {
                this.inner.set(None);
                true
            }
            None => true,
        };
        if over {
            *this.permit = None;
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

fn answered(permit: Option<&Permit>, began: &mut Option<Instant>) {
    if let (Some(permit), Some(began)) = (permit, began.take()) {
        permit.limit().answered(began);
    }
}
