//! A socket that is closed slowly.
//!
//! A connection that is closed while the peer still sends ends in a reset, and the reset can overtake the answer: a refused
//! upload would look like a broken network. So after our side is shut down, what still comes is read and dropped, for at
//! most [`MOST`] bytes and [`LONGEST`].

use pin_project_lite::pin_project;
use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

/// How much is read on after our side was shut down.
const MOST: usize = 1 << 20;
/// How long is read on after our side was shut down.
const LONGEST: Duration = Duration::from_secs(1);

pin_project! {
    /// A stream whose shutdown lingers until the peer has closed too, within bounds.
    #[derive(Debug)]
    pub struct LingeringIo<I> {
        #[pin]
        inner: I,
        shut: bool,
        read: usize,
        // Boxed: hyper wants to move the stream, and few connections ever need it.
        sleep: Option<Pin<Box<Sleep>>>,
    }
}

impl<I> LingeringIo<I> {
    /// Lets `inner` linger.
    pub fn new(inner: I) -> Self {
        Self { inner, shut: false, read: 0, sleep: None }
    }
}

impl<I: AsyncRead> AsyncRead for LingeringIo<I> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_read(cx, buf)
    }
}

impl<I: AsyncRead + AsyncWrite> AsyncWrite for LingeringIo<I> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write(cx, data)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write_vectored(cx, data)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut this = self.project();
        if !*this.shut {
            ready!(this.inner.as_mut().poll_shutdown(cx))?;
            *this.shut = true;
            *this.sleep = Some(Box::pin(tokio::time::sleep(LONGEST)));
        }
        let mut scratch = [std::mem::MaybeUninit::uninit(); 8 << 10];
        loop {
            let mut buf = ReadBuf::uninit(&mut scratch);
            match this.inner.as_mut().poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() && *this.read < MOST => {
                    *this.read += buf.filled().len();
                }
                // The end, the bound, or a reset: nothing more to wait for.
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => {
                    if let Some(sleep) = this.sleep {
                        ready!(sleep.as_mut().poll(cx));
                    }
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test(start_paused = true)]
    async fn an_answer_before_the_upload_has_ended_can_still_be_read() {
        let (near, mut far) = tokio::io::duplex(1024);
        let mut near = LingeringIo::new(near);
        let client = tokio::spawn(async move {
            far.write_all(&[b'x'; 100_000]).await.unwrap();
            let mut answer = String::new();
            far.read_to_string(&mut answer).await.unwrap();
            answer
        });
        near.write_all(b"413").await.unwrap();
        near.shutdown().await.unwrap();
        drop(near);
        assert_eq!(client.await.unwrap(), "413");
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_never_closes_is_left_after_a_second() {
        let (near, _far) = tokio::io::duplex(1024);
        let mut near = LingeringIo::new(near);
        let start = tokio::time::Instant::now();
        near.shutdown().await.unwrap();
        assert_eq!(start.elapsed(), LONGEST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_sends_for_ever_is_left_after_the_bound() {
        let (near, mut far) = tokio::io::duplex(1 << 16);
        let mut near = LingeringIo::new(near);
        let sender = tokio::spawn(async move {
            let mut sent = 0;
            while far.write_all(&[0; 1 << 14]).await.is_ok() {
                sent += 1 << 14;
            }
            sent
        });
        near.shutdown().await.unwrap();
        drop(near);
        assert!(sender.await.unwrap() < MOST + (1 << 18));
    }
}
