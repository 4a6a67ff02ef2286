//! The two services.

use super::{ResponseBody, ResponseFuture};
use crate::{
    BoxError,
    deadline::{Deadline, DeadlineBody, DeadlineLayer, WithDeadline, grpc_timeout},
    retry::Attempt,
};
use http::{HeaderName, HeaderValue, Request, Response};
use std::{
    task::{Context, Poll},
    time::Duration,
};
use tower_layer::Layer;
use tower_service::Service;

/// gRFC A6, "Exposed Retry Metadata".
const PREVIOUS_ATTEMPTS: HeaderName = HeaderName::from_static("grpc-previous-rpc-attempts");

/// Enforces the deadline of a gRPC call and turns errors into gRPC replies. Made by
/// [`GrpcCallLayer`](super::GrpcCallLayer).
///
/// Fails only as what is below it does that is none of this crate's layers.
#[derive(Clone, Debug)]
pub struct GrpcCall<S> {
    inner: WithDeadline<S>,
    deadline: Option<Duration>,
}

impl<S> GrpcCall<S> {
    pub(super) fn new(inner: S, deadline: Option<Duration>) -> Self {
        Self { inner: DeadlineLayer::new().layer(inner), deadline }
    }
}

impl<S, B, R> Service<Request<B>> for GrpcCall<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
{
    type Response = Response<ResponseBody<DeadlineBody<R>>>;
    type Error = BoxError;
    type Future = ResponseFuture<<WithDeadline<S> as Service<Request<B>>>::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let own = [self.deadline, grpc_timeout::from_headers(request.headers())];
        let deadline = match own.into_iter().flatten().min() {
            Some(own) => Some(Deadline::after(own).tighten(request.extensions_mut())),
            None => Deadline::of(request.extensions()),
        };
        ResponseFuture::new(self.inner.call(request), deadline)
    }
}

/// Tells the server what is left of the deadline and how many tries there were before. Made by
/// [`GrpcTryLayer`](super::GrpcTryLayer); replies and errors pass as they are.
#[derive(Clone, Copy, Debug)]
pub struct GrpcTry<S> {
    inner: S,
}

impl<S> GrpcTry<S> {
    pub(super) const fn new(inner: S) -> Self {
        Self { inner }
    }

    /// The service below.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, B> Service<Request<B>> for GrpcTry<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        let deadline = Deadline::of(request.extensions());
        let before = Attempt::of(request.extensions()).number.saturating_sub(1);
        let headers = request.headers_mut();
        if let Some(deadline) = deadline {
            headers.insert(grpc_timeout::GRPC_TIMEOUT, grpc_timeout::format(deadline.remaining()));
        }
        // One that came from our own caller counts its tries, not ours.
        match before {
            0 => headers.remove(PREVIOUS_ATTEMPTS),
            before => headers.insert(PREVIOUS_ATTEMPTS, HeaderValue::from(before)),
        };
        self.inner.call(request)
    }
}
