//! Connections that are sure to speak HTTP/1.1: cleartext, or where nothing else is wanted.
//!
//! A pool of their own, since there is nothing to decide: each has one call at a time, is kept while it is idle, and the one
//! that was used last is used first. hyper-util's pool, which the others share, must be ready for a connection that turns
//! out to be HTTP/2, and costs each call three times as much.

use super::{
    connect::{ConnectFailure, ConnectionInfo, Connector},
    request_body::RequestBody,
};
use http::{Extensions, HeaderValue, Request, Response, Uri, header::HOST, uri};
use hyper::{
    body::Incoming,
    client::conn::http1::{Builder, SendRequest},
};
use hyper_util::client::legacy::connect::Connection as _;
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    fmt,
    future::Future,
    mem,
    pin::Pin,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{runtime::Handle, time::Instant};
use tower_service::Service;

/// The idle connections, by origin.
#[derive(Clone)]
pub(super) struct Http1(Arc<Idle>);

struct Idle {
    kept: Mutex<Kept>,
    /// For each origin.
    max: usize,
    timeout: Option<Duration>,
}

#[derive(Default)]
struct Kept {
    // In order rather than hashed: a provider has one origin, and comparing it is cheaper.
    cleartext: BTreeMap<Box<str>, Vec<Connection>>,
    tls: BTreeMap<Box<str>, Vec<Connection>>,
    /// A task throws away what was idle for too long.
    swept: bool,
}

impl Kept {
    fn of(&mut self, https: bool) -> &mut BTreeMap<Box<str>, Vec<Connection>> {
        if https { &mut self.tls } else { &mut self.cleartext }
    }
}

/// A connection without a call.
struct Connection {
    sender: SendRequest<RequestBody>,
    info: Option<ConnectionInfo>,
    host: HeaderValue,
    origin: Arc<Origin>,
    absolute_form: bool,
    used: bool,
    since: Instant,
}

struct Origin {
    https: bool,
    authority: uri::Authority,
}

/// Why there was no reply.
#[derive(Debug)]
pub(super) enum Failure {
    /// No connection came about.
    Connect(ConnectFailure),
    /// hyper's, before (`None`) or after the request was handed to a connection.
    Http { error: hyper::Error, info: Option<ConnectionInfo> },
}

/// A call until the head of its reply, and the connection that it holds.
pub(super) type Sent = Pin<Box<dyn Future<Output = Result<(Response<Incoming>, Lease), Failure>> + Send>>;

impl Http1 {
    /// A pool that keeps `max` connections for each origin, for at most `timeout`.
    pub(super) fn new(max: usize, timeout: Option<Duration>) -> Self {
        Self(Arc::new(Idle { kept: Mutex::default(), max, timeout }))
    }

    /// Sends a request, whose URI is absolute.
    pub(super) fn send(&self, connector: &Connector, request: Request<RequestBody>) -> Sent {
        let (pool, connector) = (self.clone(), connector.clone());
        Box::pin(async move { pool.exchange(connector, request).await })
    }

    async fn exchange(
        self,
        mut connector: Connector,
        mut request: Request<RequestBody>,
    ) -> Result<(Response<Incoming>, Lease), Failure> {
        let uri = mem::take(request.uri_mut());
        loop {
            let mut connection = match self.take(&uri) {
                Some(kept) => kept,
                None => connect(&mut connector, &uri).await?,
            };
            *request.uri_mut() = if connection.absolute_form { uri.clone() } else { origin_form(&uri) };
            request.headers_mut().entry(HOST).or_insert_with(|| connection.host.clone());
            let mut failed = match connection.sender.try_send_request(request).await {
                Ok(mut reply) => {
                    if let Some(info) = &connection.info {
                        reply.extensions_mut().insert(info.clone());
                    }
                    return Ok((
                        reply,
                        Lease { connection: Some(connection), idle: Arc::downgrade(&self.0) },
                    ));
                }
                Err(failed) => failed,
            };
            // Not a byte of it was written, on a connection that had closed meanwhile: free on another one.
            match failed.take_message() {
                Some(unsent) if connection.used => request = unsent,
                _ => return Err(Failure::Http { error: failed.into_error(), info: connection.info }),
            }
        }
    }

    /// The connection to this origin that was used last and lives.
    fn take(&self, uri: &Uri) -> Option<Connection> {
        let https = uri.scheme() == Some(&uri::Scheme::HTTPS);
        let authority = uri.authority()?.as_str();
        // What is thrown away is dropped without the lock.
        let mut dead = Vec::new();
        let mut kept = self.0.kept.lock();
        let idle = kept.of(https).get_mut(authority)?;
        let found = loop {
            match idle.pop() {
                Some(connection) if connection.sender.is_ready() && !self.0.is_old(&connection) => {
                    break Some(connection);
                }
                Some(connection) => dead.push(connection),
                None => break None,
            }
        };
        drop(kept);
        found
    }
}

/// A new connection.
async fn connect(connector: &mut Connector, uri: &Uri) -> Result<Connection, Failure> {
    let io = connector.call(uri.clone()).await.map_err(Failure::Connect)?;
    let connected = io.inner().connected();
    let mut extensions = Extensions::new();
    connected.get_extras(&mut extensions);
    let unusable = |error| Failure::Http { error, info: None };
    let (mut sender, driver) = Builder::new().handshake(io).await.map_err(unusable)?;
    tokio::spawn(async move {
        if let Err(error) = driver.with_upgrades().await {
            tracing::debug!(%error, "connection to a server ended");
        }
    });
    sender.ready().await.map_err(unusable)?;
    let authority = uri.authority().cloned().unwrap_or_else(|| uri::Authority::from_static("localhost"));
    let https = uri.scheme() == Some(&uri::Scheme::HTTPS);
    Ok(Connection {
        sender,
        info: extensions.remove(),
        host: host(&authority, https),
        origin: Arc::new(Origin { https, authority }),
        absolute_form: connected.is_proxied(),
        used: false,
        since: Instant::now(),
    })
}

/// The value of `Host`: without the port where the scheme says it (RFC 9110 §7.2).
fn host(authority: &uri::Authority, https: bool) -> HeaderValue {
    let usual = if https { 443 } else { 80 };
    let text = match authority.port_u16() {
        Some(port) if port == usual => authority.host(),
        _ => authority.as_str(),
    };
    // An authority has only characters that a header can hold.
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("localhost"))
}

fn origin_form(uri: &Uri) -> Uri {
    uri.path_and_query().map_or_else(|| Uri::from_static("/"), |path| Uri::from(path.clone()))
}

impl Idle {
    fn is_old(&self, connection: &Connection) -> bool {
        self.timeout.is_some_and(|timeout| connection.since.elapsed() >= timeout)
    }

    fn put(self: &Arc<Self>, mut connection: Connection) {
        connection.used = true;
        connection.since = Instant::now();
        let origin = connection.origin.clone();
        let mut kept = self.kept.lock();
        let by_origin = kept.of(origin.https);
        let authority = origin.authority.as_str();
        let idle = match by_origin.get_mut(authority) {
            Some(idle) => idle,
            None => by_origin.entry(authority.into()).or_default(),
        };
        if idle.len() < self.max {
            idle.push(connection);
        }
        if let (Some(timeout), false) = (self.timeout, kept.swept) {
            if let Ok(runtime) = Handle::try_current() {
                kept.swept = true;
                runtime.spawn(sweep(Arc::downgrade(self), timeout));
            }
        }
    }

    /// Throws away what was idle for too long or has closed; whether anything is left.
    fn sweep(&self) -> bool {
        let mut dead = Vec::new();
        let mut kept = self.kept.lock();
        for https in [false, true] {
            kept.of(https).retain(|_, idle| {
                let is_dead = |one: &Connection| one.sender.is_closed() || self.is_old(one);
                let (gone, alive): (Vec<_>, Vec<_>) = mem::take(idle).into_iter().partition(is_dead);
                dead.extend(gone);
                *idle = alive;
                !idle.is_empty()
            });
        }
        kept.swept = !(kept.cleartext.is_empty() && kept.tls.is_empty());
        kept.swept
    }
}

/// Sweeps until nothing is idle, or nobody there to use it.
async fn sweep(idle: Weak<Idle>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let swept = idle.upgrade().is_some_and(|idle| idle.sweep());
        if !swept {
            return;
        }
    }
}

/// The connection of a call. Dropped, it is closed.
pub(super) struct Lease {
    connection: Option<Connection>,
    idle: Weak<Idle>,
}

impl Lease {
    /// The reply has ended: the connection is free for another call, as soon as it says so.
    pub(super) fn give_back(mut self) {
        let (Some(mut connection), Some(idle)) = (self.connection.take(), self.idle.upgrade()) else {
            return;
        };
        if idle.max == 0 || connection.sender.is_closed() {
            return;
        }
        if connection.sender.is_ready() {
            idle.put(connection);
        } else if let Ok(runtime) = Handle::try_current() {
            // It has yet to see the end of the reply itself, or still sends the request.
            runtime.spawn(async move {
                if connection.sender.ready().await.is_ok() {
                    idle.put(connection);
                }
            });
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lease")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_names_the_port_where_the_scheme_does_not() {
        for (authority, https, expected) in [
            ("h", false, "h"),
            ("h:80", false, "h"),
            ("h:443", true, "h"),
            ("h:80", true, "h:80"),
            ("[::1]:8080", false, "[::1]:8080"),
            ("[::1]:443", true, "[::1]"),
        ] {
            assert_eq!(host(&uri::Authority::from_static(authority), https), expected, "{authority}");
        }
    }

    #[test]
    fn a_request_names_its_path_alone() {
        for (uri, expected) in [("http://h/a?b=c", "/a?b=c"), ("http://h", "/"), ("https://h:1/", "/")] {
            assert_eq!(origin_form(&Uri::from_static(uri)), expected);
        }
    }
}
