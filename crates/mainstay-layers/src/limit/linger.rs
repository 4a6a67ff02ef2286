//! Reading on an upload that was refused, so that the refusal can be read.

use crate::timer::{Timer, later};
use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;

/// How much of a refused upload is read on: 1 MiB.
pub const LINGER_BYTES: u64 = 1 << 20;

/// For how long a refused upload is read on: 1 s.
pub const LINGER_TIME: Duration = Duration::from_secs(1);

/// How reading on ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// The body was read to its end; the connection can be kept.
    Whole,
    /// There was more than the bytes allowed.
    TooMuch,
    /// It took longer than the time allowed.
    TooSlow,
    /// The body failed.
    Failed,
}

/// Reads `body` and throws it away: to its end, or until it has given more than `max_bytes` or `max_time` is over.
///
/// For a server, before it answers a request that it has not read; see also [`LingerBody`], which does so behind the
/// answer. Do not read on the upload of a client that waits for a `100 Continue`: that asks it to send it.
///
/// ```
/// use http_body_util::Full;
/// use mainstay_layers::limit::{Drained, LINGER_BYTES, LINGER_TIME, drain};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let upload = Full::new(bytes::Bytes::from_static(&[0; 4096]));
/// assert_eq!(drain(upload, LINGER_BYTES, LINGER_TIME).await, Drained::Whole);
/// # }
/// ```
pub async fn drain<B: Body>(body: B, max_bytes: u64, max_time: Duration) -> Drained {
    let mut body = pin!(body);
    let mut bounds = Bounds::new(max_bytes, max_time);
    poll_fn(|cx| bounds.poll(body.as_mut(), cx)).await
}

#[derive(Debug)]
struct Bounds {
    bytes: u64,
    time: Duration,
    timer: Timer,
}

impl Bounds {
    fn new(bytes: u64, time: Duration) -> Self {
        Self { bytes, time, timer: Timer::default() }
    }

    fn poll<B: Body>(&mut self, mut body: Pin<&mut B>, cx: &mut Context<'_>) -> Poll<Drained> {
        if !self.timer.is_armed() {
            if let Some(at) = later(Instant::now(), self.time) {
                self.timer.arm(at);
            }
        }
        loop {
            match body.as_mut().poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    let size = frame.data_ref().map_or(0, |data| data.remaining() as u64);
                    match self.bytes.checked_sub(size) {
                        Some(left) => self.bytes = left,
                        None => return Poll::Ready(Drained::TooMuch),
                    }
                    // Frames without data must not go on for ever either.
                    if size == 0 && self.timer.poll(cx).is_ready() {
                        return Poll::Ready(Drained::TooSlow);
                    }
                }
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Drained::Failed),
                Poll::Ready(None) => return Poll::Ready(Drained::Whole),
                Poll::Pending => return self.timer.poll(cx).map(|()| Drained::TooSlow),
            }
        }
    }
}

pin_project! {
    /// A server's answer to a request that it refuses to read: the answer at once, and before its message ends, the
    /// upload is read on within bounds and thrown away.
    ///
    /// The client so gets to read the answer; without this the connection is closed while it writes, and it may see a
    /// reset instead (RFC 9112 §9.6). The size is not announced, or the server would stop at the last byte of the
    /// answer: send it without `Content-Length`, and with `Connection: close`.
    #[derive(Debug)]
    pub struct LingerBody<A, U> {
        #[pin]
        answer: Option<A>,
        #[pin]
        upload: Option<U>,
        bounds: Bounds,
    }
}

impl<A, U> LingerBody<A, U> {
    /// `answer`, then `upload` read on for at most [`LINGER_BYTES`] and [`LINGER_TIME`].
    pub fn new(answer: A, upload: U) -> Self {
        Self::with_bounds(answer, upload, LINGER_BYTES, LINGER_TIME)
    }

    /// `answer`, then `upload` read on for at most `max_bytes` and `max_time`.
    pub fn with_bounds(answer: A, upload: U, max_bytes: u64, max_time: Duration) -> Self {
        Self { answer: Some(answer), upload: Some(upload), bounds: Bounds::new(max_bytes, max_time) }
    }
}

impl<A: Body, U: Body> Body for LingerBody<A, U> {
    type Data = A::Data;
    type Error = A::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let mut this = self.project();
        if let Some(answer) = this.answer.as_mut().as_pin_mut() {
            match answer.poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(frame))) => {
                    if frame.is_trailers() {
                        // Nothing may come after them, not even a wait.
                        this.answer.set(None);
                        this.upload.set(None);
                    }
                    return Poll::Ready(Some(Ok(frame)));
                }
                Poll::Ready(Some(Err(error))) => {
                    this.answer.set(None);
                    this.upload.set(None);
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(None) => this.answer.set(None),
            }
        }
        if let Some(upload) = this.upload.as_mut().as_pin_mut() {
            if this.bounds.poll(upload, cx).is_pending() {
                return Poll::Pending;
            }
            this.upload.set(None);
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.answer.is_none() && self.upload.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = SizeHint::new();
        match &self.answer {
            Some(answer) => hint.set_lower(answer.size_hint().lower()),
            None if self.upload.is_none() => hint.set_exact(0),
            None => {}
        }
        hint
    }
}
