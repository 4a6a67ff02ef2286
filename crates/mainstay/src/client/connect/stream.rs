//! The bytes' way: TCP, or TLS over it, or TLS through a proxy that speaks TLS itself.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

/// A connected socket, in as many layers of TLS as it takes.
#[derive(Debug)]
pub(super) enum Stream {
    /// Plain TCP.
    Tcp(TcpStream),
    /// TLS over any of these. Boxed: it is some kilobyte, once per connection.
    Tls(Box<TlsStream<Stream>>),
}

impl Stream {
    /// The socket below.
    pub(super) fn tcp(&self) -> &TcpStream {
        match self {
            Stream::Tcp(tcp) => tcp,
            Stream::Tls(tls) => tls.get_ref().0.tcp(),
        }
    }

    /// Whether ALPN chose HTTP/2.
    pub(super) fn negotiated_h2(&self) -> bool {
        match self {
            Stream::Tcp(_) => false,
            Stream::Tls(tls) => tls.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }
}

macro_rules! forward {
    ($this:expr, $method:ident($($arg:expr),*)) => {
        match $this.get_mut() {
            Stream::Tcp(tcp) => Pin::new(tcp).$method($($arg),*),
            Stream::Tls(tls) => Pin::new(tls).$method($($arg),*),
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        forward!(self, poll_read(cx, buf))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        forward!(self, poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        forward!(self, poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Stream::Tcp(tcp) => tcp.is_write_vectored(),
            Stream::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        forward!(self, poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        forward!(self, poll_shutdown(cx))
    }
}
