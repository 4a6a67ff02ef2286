//! The client itself.

use super::{
    ClientBuilder, ClientError, ResponseBody, ResponseFuture, connect::Connector, http1::Http1, load::Load,
    per_runtime::PerRuntime, request_body::RequestBody,
};
use http::{HeaderValue, Method, Request, Response, Uri, Version, header::PROXY_AUTHORIZATION, uri::Scheme};
use http_body::Body;
use hyper_util::client::legacy;
use mainstay_layers::BoxError;
use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};
use tower_service::Service;

pub(super) type Pool = legacy::Client<Connector, RequestBody>;

/// An HTTP client with a pool of connections. A clone shares the pool and costs one reference count.
///
/// Used on several runtimes it has a pool for each, since a connection lives on the runtime that opened it: so a program
/// with a runtime per core can share one client, and a call never leaves its core.
///
/// Always ready. See the [module](super) for what it does and what it leaves to layers.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) connector: Connector,
    pub(super) settings: ClientBuilder,
    pub(super) pools: PerRuntime<Pools>,
}

/// The connections of one runtime.
pub(super) struct Pools {
    /// Of calls that are sure to go over HTTP/1.1.
    pub(super) http1: Http1,
    /// Of all others.
    pub(super) first: Pool,
    /// The pools of the further HTTP/2 connections, one connection each per origin.
    pub(super) more: Box<[Pool]>,
    pub(super) load: Load,
}

impl Client {
    pub(super) fn from_inner(inner: Inner) -> Self {
        Self { inner: Arc::new(inner) }
    }

    /// A client with the defaults.
    ///
    /// # Errors
    ///
    /// Where the environment names a proxy that cannot be used.
    pub fn new() -> Result<Self, super::BuildError> {
        Self::builder().build()
    }

    /// Settings, with the defaults to begin with.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::new()
    }

    /// Sends `request`. Its URI is absolute and has no credentials in it. Its version does not matter: the connection's
    /// protocol decides.
    pub fn request<B>(&self, request: Request<B>) -> ResponseFuture
    where
        B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
    {
        let peer = match check(request.method(), request.uri()) {
            Ok(peer) => peer.clone(),
            Err(reason) => return ResponseFuture::rejected(ClientError::invalid_request(reason)),
        };
        let (mut parts, body) = request.into_parts();
        let https = parts.uri.scheme() == Some(&Scheme::HTTPS);
        // A request that came in over HTTP/2 must be fit to go out over HTTP/1.1.
        parts.version = Version::HTTP_11;
        if let Some(authorization) = self.proxy_authorization(https, &parts.uri) {
            parts.headers.insert(PROXY_AUTHORIZATION, authorization);
        }

        let inner = &*self.inner;
        let pools = inner.pools.get(|| inner.settings.pools(&inner.connector));
        let (body, upload) = RequestBody::new(body);
        let request = Request::from_parts(parts, body);
        if inner.settings.is_http1(https) {
            let sent = pools.http1.send(&inner.connector, request);
            return ResponseFuture::sent_http1(sent, peer, upload);
        }
        let spread = !pools.more.is_empty();
        let in_flight = spread.then(|| pools.load.enter(&peer));
        let pool = match in_flight.as_ref().map_or(0, |place| place.slot()) {
            0 => &pools.first,
            n => pools.more.get(n - 1).unwrap_or(&pools.first),
        };
        let sent = pool.request(request);
        ResponseFuture::sent(sent, peer, in_flight, upload)
    }

    /// Through a tunnel the credentials went with the CONNECT; in absolute form they go with each request.
    fn proxy_authorization(&self, https: bool, uri: &Uri) -> Option<HeaderValue> {
        let connector = &self.inner.connector;
        if https || connector.tunnels_cleartext() { None } else { connector.proxies().authorization(uri) }
    }
}

/// What can be sent; the error says what cannot.
fn check<'a>(method: &Method, uri: &'a Uri) -> Result<&'a http::uri::Authority, &'static str> {
    if method == Method::CONNECT {
        return Err("CONNECT is no call to an API");
    }
    match uri.scheme_str() {
        Some("http" | "https") => {}
        Some(_) => return Err("the URL's scheme is neither http nor https"),
        None => return Err("the URL is not absolute: it needs a scheme and a host"),
    }
    match uri.authority() {
        // Nothing before the port either. (`host()` would take it apart once more.)
        Some(authority) if matches!(authority.as_str().as_bytes(), [] | [b':', ..]) => {
            Err("the URL names no host")
        }
        // They would stand in `:authority`, in logs and in the pool's keys.
        Some(authority) if authority.as_str().contains('@') => {
            Err("the URL holds credentials: send them in a header")
        }
        Some(authority) => Ok(authority),
        None => Err("the URL names no host"),
    }
}

impl<B> Service<Request<B>> for Client
where
    B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = ClientError;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ResponseFuture {
        self.request(request)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("settings", &self.inner.settings).finish_non_exhaustive()
    }
}
