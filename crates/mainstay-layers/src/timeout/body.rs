//! The body under its clocks.

use super::{
    Phase,
    watch::{Reply, Watch},
};
use crate::BoxError;
use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

pin_project! {
    /// A body that ends with a [`TimeoutError`](super::TimeoutError) when one of its clocks has run out while it was
    /// being waited for.
    ///
    /// The inner body is asked first: what is there is handed on, however late it is read. Frames of every kind,
    /// `size_hint` and `is_end_stream` are those of the inner body; nothing is allocated per frame. After an error it
    /// is at its end, and the inner body is gone.
    #[derive(Debug)]
    pub struct TimeoutBody<B> {
        #[pin]
        inner: Option<B>,
        watch: Option<Watch>,
    }
}

impl<B> TimeoutBody<B> {
    /// `body` under no clock.
    pub fn new(body: B) -> Self {
        Self::watched(body, None)
    }

    /// `body` of a reply, which may be silent for at most `idle` while it is waited for; zero is off.
    pub fn idle(body: B, idle: Duration) -> Self {
        Self::idle_in(body, idle, Reply::Events, Phase::Body)
    }

    /// `body` of a request that a server reads, under `idle` alone; zero is off. Its error is
    /// [`UploadIdle`](super::TimeoutKind::UploadIdle): of this the caller is the cause.
    pub fn upload(body: B, idle: Duration) -> Self {
        Self::idle_in(body, idle, Reply::Upload, Phase::Upload)
    }

    fn idle_in(body: B, idle: Duration, reply: Reply, phase: Phase) -> Self {
        Self::watched(body, (!idle.is_zero()).then(|| Watch::idle(idle, reply, phase)))
    }

    pub(super) fn watched(body: B, watch: Option<Watch>) -> Self {
        Self { inner: Some(body), watch }
    }

    /// How often the timer was set.
    #[cfg(test)]
    pub(super) fn arms(&self) -> u32 {
        self.watch.as_ref().map_or(0, |watch| watch.timer.arms)
    }
}

impl<B> Body for TimeoutBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let mut this = self.project();
        let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        // A frame is large: it is looked at where it lies, and moves once.
        let end = match inner.poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(watch) = this.watch {
                    watch.frame(frame.data_ref().is_some_and(Buf::has_remaining));
                }
                return Poll::Ready(Some(Ok(frame)));
            }
            Poll::Pending => match this.watch {
                Some(watch) => Some(Err(ready!(watch.poll_waiting(cx)))),
                None => return Poll::Pending,
            },
            Poll::Ready(Some(Err(error))) => Some(Err(error.into())),
            Poll::Ready(None) => None,
        };
        this.inner.set(None);
        *this.watch = None;
        Poll::Ready(end)
    }

    #[inline]
    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    #[inline]
    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}
