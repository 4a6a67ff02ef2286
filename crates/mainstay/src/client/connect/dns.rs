//! The system's resolver, with an error that says which name it did not know.

use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiFuture, GaiResolver, Name};
use std::{
    fmt,
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tower_service::Service;

/// `getaddrinfo` on tokio's blocking pool. It has no timeout of its own: the connect timeout covers it.
#[derive(Clone, Debug)]
pub(super) struct Resolver(GaiResolver);

impl Resolver {
    pub(super) fn new() -> Self {
        Self(GaiResolver::new())
    }
}

impl Service<Name> for Resolver {
    type Response = GaiAddrs;
    type Error = NotResolved;
    type Future = Resolving;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx).map_err(NotResolved)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Resolving(self.0.call(name))
    }
}

/// The future of [`Resolver`].
pub(super) struct Resolving(GaiFuture);

impl Future for Resolving {
    type Output = Result<GaiAddrs, NotResolved>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map_err(NotResolved)
    }
}

/// Marks a failure of the resolver in the connector's chain of causes, which names no stages.
#[derive(Debug)]
pub(super) struct NotResolved(io::Error);

impl fmt::Display for NotResolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for NotResolved {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}
