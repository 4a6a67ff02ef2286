//! Through a proxy: a tunnel (CONNECT, SOCKS) or, for cleartext HTTP/1.1, requests in absolute form.

use super::{ConnectFailure, Inner, Origin, Stream, tls};
use http::{HeaderValue, Uri};
use hyper_util::{
    client::{
        legacy::connect::proxy::{SocksV4, SocksV5, Tunnel},
        proxy::matcher::{Intercept, Matcher},
    },
    rt::TokioIo,
};
use mainstay_layers::BoxError;
use std::{
    fmt, future, io,
    task::{Context, Poll},
};
use tower_service::Service;

/// Which requests go through which proxy.
#[derive(Debug)]
pub(in super::super) struct Proxies(Option<Matcher>);

impl Proxies {
    pub(in super::super) fn none() -> Self {
        Self(None)
    }

    pub(in super::super) fn new(matcher: Matcher) -> Self {
        Self(Some(matcher))
    }

    pub(super) fn intercept(&self, dst: &Uri) -> Option<Intercept> {
        self.0.as_ref()?.intercept(dst)
    }

    /// The credentials that a request in absolute form must carry itself.
    pub(in super::super) fn authorization(&self, dst: &Uri) -> Option<HeaderValue> {
        let proxy = self.intercept(dst)?;
        matches!(proxy.uri().scheme_str(), Some("http" | "https"))
            .then(|| proxy.basic_auth().cloned())
            .flatten()
    }
}

impl Inner {
    /// The stream to `origin`, and whether requests on it are in absolute form.
    pub(super) async fn through(
        &self,
        proxy: &Intercept,
        origin: &Origin,
    ) -> Result<(Stream, bool), ConnectFailure> {
        let at = Origin::of(proxy.uri())?;
        let failed = |reason: &dyn fmt::Display, source| ConnectFailure::proxy(at.peer(), reason, source);

        let mut stream = self.tcp(&at).await.map_err(|e| failed(&e.to_string(), Some(e.into())))?;
        if at.is_https() {
            stream = tls(&self.settings.proxy_tls, at.host(), stream).await.map_err(|e| {
                let e = ConnectFailure::tls(at.host(), e);
                failed(&e.to_string(), Some(e.into()))
            })?;
        }
        let connected = Connected(Some(TokioIo::new(stream)));
        let (via, to) = (proxy.uri().clone(), origin.uri());
        let tunnelled = match proxy.uri().scheme_str() {
            // The proxy resolves names, with or without the `h` and the `a`: resolving here would block the thread.
            Some("socks5" | "socks5h") => socks5(proxy, via, connected).call(to).await.map_err(boxed),
            Some("socks4" | "socks4a") => SocksV4::new(via, connected).call(to).await.map_err(boxed),
            _ if origin.is_https() || self.settings.tunnel_cleartext => {
                let mut tunnel = Tunnel::new(via, connected);
                if let Some(auth) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(auth.clone());
                }
                tunnel.call(to).await.map_err(boxed)
            }
            _ => return connected.into_stream().map(|stream| (stream, true)).map_err(|e| failed(&e, None)),
        };
        match tunnelled {
            Ok(stream) => Ok((stream.into_inner(), false)),
            Err(error) => Err(failed(&error.to_string(), Some(error))),
        }
    }
}

fn boxed(error: impl Into<BoxError>) -> BoxError {
    error.into()
}

fn socks5(proxy: &Intercept, via: Uri, connected: Connected) -> SocksV5<Connected> {
    let socks = SocksV5::new(via, connected);
    match proxy.raw_auth() {
        Some((user, password)) => socks.with_auth(user.to_owned(), password.to_owned()),
        None => socks,
    }
}

/// hyper-util's tunnels want a connector; the connection is there already, so that each stage has its own error.
struct Connected(Option<TokioIo<Stream>>);

impl Connected {
    fn into_stream(self) -> io::Result<Stream> {
        self.0.map(TokioIo::into_inner).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Service<Uri> for Connected {
    type Response = TokioIo<Stream>;
    type Error = io::Error;
    type Future = future::Ready<io::Result<TokioIo<Stream>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        future::ready(self.0.take().ok_or_else(|| io::ErrorKind::NotConnected.into()))
    }
}
