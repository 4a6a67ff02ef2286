//! The settings of a client.

use super::{
    BuildError, Client, Proxy,
    connect::{self, Connector, Proxies},
    http1::Http1,
    load::Load,
    per_runtime::PerRuntime,
    service::{Inner, Pool, Pools},
    tls::{self, Roots},
};
use hyper_util::{
    client::legacy,
    rt::{TokioExecutor, TokioTimer},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Which HTTP a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Protocol {
    /// HTTP/2 where the server agrees to it in the TLS handshake (ALPN), else HTTP/1.1; HTTP/1.1 on cleartext.
    #[default]
    Auto,
    /// HTTP/1.1 alone: a connection per call in flight, and none waits for another.
    Http1,
    /// HTTP/2 alone, on cleartext by prior knowledge (RFC 9113 §3.3).
    Http2,
}

/// Builds a [`Client`]. Durations that are `None` or zero switch their setting off.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct ClientBuilder {
    protocol: Protocol,
    h2_connections: usize,
    h2_streams: usize,
    h2_keep_alive: Option<Duration>,
    h2_keep_alive_timeout: Duration,
    connect_timeout: Option<Duration>,
    tcp_keepalive: Option<Duration>,
    pool_idle_timeout: Option<Duration>,
    pool_max_idle_per_host: usize,
    roots: Roots,
    proxy: ProxyFrom,
}

#[derive(Clone, Debug)]
enum ProxyFrom {
    Env,
    Given(Option<Proxy>),
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self::new()
    }
}

fn on(duration: impl Into<Option<Duration>>) -> Option<Duration> {
    duration.into().filter(|d| !d.is_zero())
}

impl ClientBuilder {
    /// The defaults.
    pub fn new() -> Self {
        Self {
            protocol: Protocol::Auto,
            h2_connections: 4,
            h2_streams: 100,
            h2_keep_alive: Some(Duration::from_secs(30)),
            h2_keep_alive_timeout: Duration::from_secs(10),
            connect_timeout: Some(Duration::from_secs(5)),
            tcp_keepalive: Some(Duration::from_secs(60)),
            pool_idle_timeout: Some(Duration::from_secs(90)),
            pool_max_idle_per_host: 256,
            roots: Roots {
                webpki: true,
                #[cfg(feature = "native-roots")]
                native: false,
                pem_files: Vec::new(),
            },
            proxy: ProxyFrom::Env,
        }
    }

    /// Which HTTP to speak. Default: [`Protocol::Auto`].
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// The most HTTP/2 connections per origin, on each runtime. Default: 4.
    ///
    /// One connection has the server's limit of calls at a time (often 100), and a call beyond it waits until another's
    /// reply has ended: for a stream, minutes. A further connection is opened when those before it are
    /// [full](Self::h2_streams); beyond the last, calls wait on the least loaded.
    pub fn h2_connections(mut self, connections: usize) -> Self {
        self.h2_connections = connections;
        self
    }

    /// How many calls in flight make an HTTP/2 connection full. Default: 100, the least that RFC 9113 §6.5.2 recommends
    /// servers to allow. Set it to the server's own limit where that is lower.
    pub fn h2_streams(mut self, streams: usize) -> Self {
        self.h2_streams = streams;
        self
    }

    /// Pings on HTTP/2 connections with calls in flight, every `interval`; without an answer within `timeout` the
    /// connection is given up. Default: 30 s and 10 s. Idle connections are not pinged.
    pub fn h2_keep_alive(mut self, interval: impl Into<Option<Duration>>, timeout: Duration) -> Self {
        self.h2_keep_alive = on(interval);
        self.h2_keep_alive_timeout = timeout;
        self
    }

    /// The longest time for a connection: DNS, TCP, proxy and TLS together. Default: 5 s.
    pub fn connect_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.connect_timeout = on(timeout);
        self
    }

    /// Silence on a socket before the system probes the other end. Default: 60 s.
    pub fn tcp_keepalive(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.tcp_keepalive = on(after);
        self
    }

    /// How long an idle connection is kept. Default: 90 s. Off: until the server closes it.
    pub fn pool_idle_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.pool_idle_timeout = on(timeout);
        self
    }

    /// How many idle HTTP/1.1 connections are kept per host, on each runtime in the pool of each of the
    /// [connections](Self::h2_connections). Default: 256, so that calls in parallel do not reconnect. 0: none is kept,
    /// and HTTP/2 connections are not shared either.
    pub fn pool_max_idle_per_host(mut self, connections: usize) -> Self {
        self.pool_max_idle_per_host = connections;
        self
    }

    /// Whether Mozilla's roots, as compiled in, are trusted. Default: yes.
    pub fn webpki_roots(mut self, trusted: bool) -> Self {
        self.roots.webpki = trusted;
        self
    }

    /// Whether the system's certificate store is trusted, as read once by [`build`](Self::build). Default: no.
    #[cfg(feature = "native-roots")]
    #[cfg_attr(docsrs, doc(cfg(feature = "native-roots")))]
    pub fn native_roots(mut self, trusted: bool) -> Self {
        self.roots.native = trusted;
        self
    }

    /// Trusts the certificates in a PEM file too, such as a private CA's. Read once by [`build`](Self::build). Turn
    /// [`webpki_roots`](Self::webpki_roots) off to trust no others.
    pub fn add_root_pem_file(mut self, path: impl AsRef<Path>) -> Self {
        self.roots.pem_files.push(PathBuf::from(path.as_ref()));
        self
    }

    /// Which proxies to use in place of the environment's; `None`: none. Default: [`Proxy::from_env`], read once by
    /// [`build`](Self::build).
    pub fn proxy(mut self, proxy: impl Into<Option<Proxy>>) -> Self {
        self.proxy = ProxyFrom::Given(proxy.into());
        self
    }

    /// No proxy, whatever the environment says.
    pub fn no_proxy(self) -> Self {
        self.proxy(None)
    }

    /// The client. Reads files, and the environment unless a proxy was given. It can be used on any number of runtimes:
    /// each has connections of its own, within bounds of its own.
    ///
    /// # Errors
    ///
    /// What cannot be carried out, and what to do about it.
    pub fn build(self) -> Result<Client, BuildError> {
        for (name, value) in [("h2_connections", self.h2_connections), ("h2_streams", self.h2_streams)] {
            if !(1..=10_000).contains(&value) {
                return Err(BuildError::Setting { name, reason: "expected 1 to 10000" });
            }
        }
        let matcher = match self.proxy.clone() {
            ProxyFrom::Env => Proxy::from_env().matcher()?,
            ProxyFrom::Given(proxy) => proxy.unwrap_or_default().matcher()?,
        };
        let alpn: &[&[u8]] = match self.protocol {
            Protocol::Auto => &[b"h2", b"http/1.1"],
            Protocol::Http1 => &[b"http/1.1"],
            Protocol::Http2 => &[b"h2"],
        };
        let roots = Arc::new(self.roots.load()?);
        let connector = Connector::new(connect::Settings {
            tls: tls::config(&roots, alpn)?,
            proxy_tls: tls::config(&roots, &[b"http/1.1"])?,
            proxies: matcher.map_or_else(Proxies::none, Proxies::new),
            timeout: self.connect_timeout,
            tcp_keepalive: self.tcp_keepalive,
            tunnel_cleartext: self.protocol == Protocol::Http2,
        });
        Ok(Client::from_inner(Inner { pools: PerRuntime::new(), connector, settings: self }))
    }

    /// Whether a call is sure to go over HTTP/1.1: cleartext, unless prior knowledge says otherwise.
    pub(super) fn is_http1(&self, https: bool) -> bool {
        match self.protocol {
            Protocol::Http1 => true,
            Protocol::Auto => !https,
            Protocol::Http2 => false,
        }
    }

    /// The pools of one runtime.
    pub(super) fn pools(&self, connector: &Connector) -> Pools {
        let slots = if self.protocol == Protocol::Http1 { 1 } else { self.h2_connections };
        Pools {
            http1: Http1::new(self.pool_max_idle_per_host, self.pool_idle_timeout),
            first: self.pool(connector),
            more: (1..slots).map(|_| self.pool(connector)).collect(),
            load: Load::new(slots, self.h2_streams),
        }
    }

    fn pool(&self, connector: &Connector) -> Pool {
        let mut pool = legacy::Client::builder(TokioExecutor::new());
        pool.timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(self.pool_idle_timeout)
            .pool_max_idle_per_host(self.pool_max_idle_per_host)
            .http2_only(self.protocol == Protocol::Http2)
            .http2_keep_alive_interval(self.h2_keep_alive)
            .http2_keep_alive_timeout(self.h2_keep_alive_timeout)
            .http2_keep_alive_while_idle(false)
            // Until the server has said its own limit, ours holds: streams over it would be refused.
            .http2_initial_max_send_streams(self.h2_streams)
            .http2_max_header_list_size(64 * 1024)
            // Sends again what was certainly not written: a request that was queued for a connection that had closed.
            .retry_canceled_requests(true);
        pool.build(connector.clone())
    }
}
