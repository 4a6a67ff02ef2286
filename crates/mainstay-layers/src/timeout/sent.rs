//! The request's body, and how its sending goes.

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};
use tokio::time::Instant;

/// Where an upload stands. One number, so that it is read whole: nanoseconds since the call began, and the turn in the
/// two lowest bits (292 years fit).
#[derive(Debug)]
pub(super) struct Upload {
    began: Instant,
    state: AtomicU64,
}

/// Whose turn it is in an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The server's: it has a frame to take.
    Server,
    /// Our caller's: the next frame is not there yet.
    Caller,
    /// Nobody's: it is sent, or given up.
    Done,
}

impl Upload {
    pub(super) fn new(began: Instant) -> Self {
        Self { began, state: AtomicU64::new(Turn::Server as u64) }
    }

    fn note(&self, turn: Turn) {
        let nanos = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX) << 2;
        // Only the client writes, and what it writes stands alone.
        self.state.store(nanos | turn as u64, Ordering::Relaxed);
    }

    /// When it moved last, and whose turn it is now.
    pub(super) fn read(&self) -> (Instant, Turn) {
        let state = self.state.load(Ordering::Relaxed);
        let turn = match state & 0b11 {
            0 => Turn::Server,
            1 => Turn::Caller,
            _ => Turn::Done,
        };
        (self.began + std::time::Duration::from_nanos(state >> 2), turn)
    }
}

pin_project! {
    /// The body of a request on its way to the inner service: the caller's own, frame by frame, and a note of how far
    /// the sending has come, so that clocks do not take a slow upload for a silent server.
    ///
    /// Allocates only while a clock is set.
    #[derive(Debug)]
    pub struct SentBody<B> {
        #[pin]
        inner: B,
        upload: Option<Arc<Upload>>,
    }

    impl<B> PinnedDrop for SentBody<B> {
        fn drop(this: Pin<&mut Self>) {
            // A client drops a body that it has sent without asking for its end, and one that it gives up.
            if let Some(upload) = this.project().upload.take() {
                upload.note(Turn::Done);
            }
        }
    }
}

impl<B> SentBody<B> {
    /// A body that nobody watches. For calling a service that sits below a [`Timeout`](super::Timeout) directly.
    pub fn new(body: B) -> Self {
        Self { inner: body, upload: None }
    }

    pub(super) fn watched(body: B, upload: Arc<Upload>) -> Self {
        Self { inner: body, upload: Some(upload) }
    }

    /// The caller's body.
    pub fn get_ref(&self) -> &B {
        &self.inner
    }
}

impl<B: Body> Body for SentBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let mut this = self.project();
        let polled = this.inner.as_mut().poll_frame(cx);
        let Some(upload) = this.upload else { return polled };
        match &polled {
            Poll::Pending => upload.note(Turn::Caller),
            Poll::Ready(Some(Ok(_))) if !this.inner.is_end_stream() => upload.note(Turn::Server),
            Poll::Ready(_) => {
                upload.note(Turn::Done);
                *this.upload = None;
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
