//! From a URL to a connection: DNS, TCP, proxy, TLS, all of it under one timeout.
//!
//! hyper-util's own connect timeout covers TCP alone: a peer that accepts and never answers TLS would hang for ever.

mod conn;
mod dns;
mod failure;
mod origin;
mod stream;
mod via;

pub use self::conn::ConnectionInfo;
pub(super) use self::{conn::Conn, failure::ConnectFailure, via::Proxies};

use self::{dns::Resolver, origin::Origin, stream::Stream};
use http::Uri;
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use rustls::{ClientConfig, pki_types::ServerName};
use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tower_service::Service;

/// The connector of the pools. A clone is one reference count: hyper-util clones it for every request.
#[derive(Clone)]
pub(super) struct Connector(Arc<Inner>);

/// What a connector is made of.
pub(super) struct Settings {
    /// For the servers: roots, and ALPN by protocol.
    pub(super) tls: Arc<ClientConfig>,
    /// For proxies that are themselves reached by TLS: HTTP/1.1 only.
    pub(super) proxy_tls: Arc<ClientConfig>,
    pub(super) proxies: Proxies,
    pub(super) timeout: Option<Duration>,
    pub(super) tcp_keepalive: Option<Duration>,
    /// Cleartext goes through a tunnel too, since HTTP/2 to a proxy in absolute form is not what proxies speak.
    pub(super) tunnel_cleartext: bool,
}

struct Inner {
    http: HttpConnector<Resolver>,
    settings: Settings,
}

impl Connector {
    pub(super) fn new(settings: Settings) -> Self {
        let mut http = HttpConnector::new_with_resolver(Resolver::new());
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(settings.tcp_keepalive);
        Self(Arc::new(Inner { http, settings }))
    }

    pub(super) fn proxies(&self) -> &Proxies {
        &self.0.settings.proxies
    }

    pub(super) fn tunnels_cleartext(&self) -> bool {
        self.0.settings.tunnel_cleartext
    }
}

impl Inner {
    async fn connect(&self, dst: &Uri, origin: &Origin) -> Result<Conn, ConnectFailure> {
        let proxy = self.settings.proxies.intercept(dst);
        let (stream, absolute_form) = match &proxy {
            Some(proxy) => self.through(proxy, origin).await?,
            None => (self.tcp(origin).await?, false),
        };
        let stream = if origin.is_https() {
            tls(&self.settings.tls, origin.host(), stream)
                .await
                .map_err(|e| ConnectFailure::tls(origin.host(), e))?
        } else {
            stream
        };
        Ok(Conn::new(stream, proxy.is_some(), absolute_form))
    }

    /// DNS and TCP, with happy eyeballs.
    async fn tcp(&self, origin: &Origin) -> Result<Stream, ConnectFailure> {
        let mut http = self.http.clone();
        // The resolver is always ready, and with it the connector.
        match http.call(origin.uri()).await {
            Ok(tcp) => Ok(Stream::Tcp(tcp.into_inner())),
            Err(error) => Err(ConnectFailure::tcp(origin.host(), origin.peer(), error.into())),
        }
    }
}

async fn tls(config: &Arc<ClientConfig>, host: &str, stream: Stream) -> io::Result<Stream> {
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let connector = tokio_rustls::TlsConnector::from(Arc::clone(config));
    Ok(Stream::Tls(Box::new(connector.connect(name, stream).await?)))
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Conn>;
    type Error = ConnectFailure;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Conn>, ConnectFailure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, dst: Uri) -> Self::Future {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let origin = Origin::of(&dst)?;
            let connecting = inner.connect(&dst, &origin);
            let conn = match inner.settings.timeout {
                Some(after) => match tokio::time::timeout(after, connecting).await {
                    Ok(connected) => connected?,
                    Err(_) => return Err(ConnectFailure::timed_out(after, origin.peer())),
                },
                None => connecting.await?,
            };
            Ok(TokioIo::new(conn))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::tls;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn pitfall_42_sockets_have_nodelay() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap()).parse::<Uri>().unwrap();
        let config = tls::config(&Arc::new(rustls::RootCertStore::empty()), &[]).unwrap();
        let mut connector = Connector::new(Settings {
            tls: config.clone(),
            proxy_tls: config,
            proxies: Proxies::none(),
            timeout: None,
            tcp_keepalive: None,
            tunnel_cleartext: false,
        });
        let conn = connector.call(uri).await.unwrap().into_inner();
        assert!(conn.tcp().nodelay().unwrap());
    }
}
