//! A connection that knows what went over it: enough to tell a stale one from one that broke.

use super::stream::Stream;
use hyper_util::client::legacy::connect::{Connected, Connection};
use std::{
    fmt, io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The connection that a reply came over; in the extensions of every response. Cheap to clone.
#[derive(Clone)]
pub struct ConnectionInfo(Arc<State>);

struct State {
    id: u64,
    remote: Option<SocketAddr>,
    proxied: bool,
    replies: AtomicU64,
    /// Something was written, and nothing was read since.
    unanswered: AtomicBool,
}

impl ConnectionInfo {
    fn new(remote: Option<SocketAddr>, proxied: bool) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(Arc::new(State {
            id: NEXT.fetch_add(1, Relaxed),
            remote,
            proxied,
            replies: AtomicU64::new(0),
            unanswered: AtomicBool::new(false),
        }))
    }

    /// A number that no other connection of this process has.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// The address at the other end: the proxy's, where there is one.
    pub fn remote_addr(&self) -> Option<SocketAddr> {
        self.0.remote
    }

    /// Whether the connection goes through a proxy.
    pub fn is_proxied(&self) -> bool {
        self.0.proxied
    }

    /// How many replies have come over it so far; more than one: it was kept and used again.
    pub fn replies(&self) -> u64 {
        self.0.replies.load(Relaxed)
    }

    pub(in super::super) fn answered(&self) {
        self.0.replies.fetch_add(1, Relaxed);
    }

    /// It had answered before, and since we last wrote there came not a byte: if it is closed now, the server most
    /// likely closed it while our request was on its way.
    pub(in super::super) fn is_stale(&self) -> bool {
        self.replies() > 0 && self.0.unanswered.load(Relaxed)
    }
}

impl fmt::Debug for ConnectionInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionInfo")
            .field("id", &self.id())
            .field("remote_addr", &self.remote_addr())
            .field("is_proxied", &self.is_proxied())
            .field("replies", &self.replies())
            .finish()
    }
}

/// A [`Stream`] with its [`ConnectionInfo`]. It stands above TLS: session tickets are no answer.
#[derive(Debug)]
pub(in super::super) struct Conn {
    stream: Stream,
    info: ConnectionInfo,
    /// Requests name the whole URL, as a proxy for cleartext wants it (RFC 9112 §3.2.2).
    absolute_form: bool,
}

impl Conn {
    pub(super) fn new(stream: Stream, proxied: bool, absolute_form: bool) -> Self {
        let info = ConnectionInfo::new(stream.tcp().peer_addr().ok(), proxied);
        Self { stream, info, absolute_form }
    }

    #[cfg(test)]
    pub(super) fn tcp(&self) -> &tokio::net::TcpStream {
        self.stream.tcp()
    }
}

impl Connection for Conn {
    fn connected(&self) -> Connected {
        let connected = Connected::new().proxy(self.absolute_form).extra(self.info.clone());
        if self.stream.negotiated_h2() { connected.negotiated_h2() } else { connected }
    }
}

impl AsyncRead for Conn {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.info.0.unanswered.store(false, Relaxed);
        }
        polled
    }
}

impl AsyncWrite for Conn {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        // Before the try: a write that fails on a closed connection counts as well.
        self.info.0.unanswered.store(true, Relaxed);
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.info.0.unanswered.store(true, Relaxed);
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
