//! The clock for a reader that does not read.

use super::{Phase, TimeoutError, TimeoutKind};
use crate::timer::{Timer, later};
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Instant,
};

/// A server's connection whose peer must take something within a time, or is let go.
///
/// Wrap the accepted socket in it. A write that is stuck for `limit`, in which the peer has made room for not one byte,
/// fails with [`io::ErrorKind::TimedOut`] around a [`TimeoutError`] of kind
/// [`WriteIdle`](TimeoutKind::WriteIdle); the server then drops the connection and with it whatever fed it. A peer that
/// reads, however slowly, is never let go, and neither is a connection on which there is nothing to write. Reads are
/// untouched.
///
/// This sits at the socket because a body cannot do it: nobody polls the body while the socket is full. On HTTP/2 it
/// sees a peer that leaves the socket alone, not one that reads the socket and grants a single stream no window.
///
/// One timer per connection, made when a write first gets stuck.
#[derive(Debug)]
pub struct WriteIdle<I> {
    io: I,
    limit: Duration,
    stuck_since: Option<Instant>,
    timer: Timer,
}

impl<I> WriteIdle<I> {
    /// `io`, of which no write may be stuck for longer than `limit`; zero is off.
    pub fn new(io: I, limit: Duration) -> Self {
        Self { io, limit, stuck_since: None, timer: Timer::default() }
    }

    /// The connection itself.
    pub fn get_ref(&self) -> &I {
        &self.io
    }

    /// The connection itself.
    pub fn into_inner(self) -> I {
        self.io
    }

    /// Lets what the connection said pass, unless it says pending and has said nothing else for too long.
    fn judge<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() || self.limit.is_zero() {
            self.stuck_since = None;
            return polled;
        }
        let since = *self.stuck_since.get_or_insert_with(Instant::now);
        let Some(due) = later(since, self.limit) else { return Poll::Pending };
        self.timer.arm_by(due);
        while self.timer.poll(cx).is_ready() {
            if due <= Instant::now() {
                let error = TimeoutError::new(TimeoutKind::WriteIdle, Phase::Body, self.limit);
                return Poll::Ready(Err(error.into()));
            }
            self.timer.arm(due);
        }
        Poll::Pending
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for WriteIdle<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for WriteIdle<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(cx, buf);
        self.judge(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.judge(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_flush(cx);
        self.judge(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_shutdown(cx);
        self.judge(cx, polled)
    }
}
