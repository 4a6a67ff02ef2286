//! A reply's body under a probe.

use super::counts::Held;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    sync::atomic::Ordering::Relaxed,
    task::{Context, Poll, ready},
};

pin_project! {
    /// A reply's body that is watched; it changes nothing.
    #[derive(Debug)]
    pub struct ProbeBody<B> {
        #[pin]
        inner: B,
        finished: bool,
        open: Held,
    }
}

impl<B: Body> ProbeBody<B> {
    pub(super) fn new(inner: B, mut open: Held) -> Self {
        if inner.is_end_stream() {
            open.end(); // nobody has to poll it
        }
        Self { inner, finished: false, open }
    }
}

impl<B: Body> Body for ProbeBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        if *this.finished {
            this.open.probe.0.late_body_polls.fetch_add(1, Relaxed);
        }
        let frame = ready!(this.inner.as_mut().poll_frame(cx));
        match &frame {
            None | Some(Err(_)) => {
                *this.finished = true;
                this.open.end();
            }
            // A reader may stop here: trailers are the last frame, and so is one after which the body says it is.
            Some(Ok(frame)) if frame.is_trailers() => this.open.end(),
            Some(Ok(_)) if this.inner.is_end_stream() => this.open.end(),
            Some(Ok(_)) => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
