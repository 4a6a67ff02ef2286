//! The service: takes the ready service out, keeps what another try needs, and hands both to the future.

use super::{
    body::ResponseBody, call::Call, future::ResponseFuture, layer::RetryLayer, policy::Policy,
    replay::ReplayBody,
};
use crate::{
    BoxError,
    classify::{Classify, HttpClassifier},
};
use http::{Request, Response};
use http_body::Body;
use std::{
    mem,
    sync::Arc,
    task::{Context, Poll},
};
use tower_layer::Layer;
use tower_service::Service;

/// Tries failed calls again; made by [`RetryLayer`].
///
/// # Errors
///
/// Every error of a call is a [`RetryError`](super::RetryError) around that of the service below, except with
/// [`RetryConfig::off`](super::RetryConfig::off), which passes it as it is.
#[derive(Clone, Debug)]
pub struct Retry<S, C = HttpClassifier> {
    inner: S,
    policy: Arc<Policy<C>>,
}

impl<S> Retry<S> {
    /// `inner` under [`RetryLayer::new`].
    pub fn new(inner: S) -> Self {
        RetryLayer::new().layer(inner)
    }
}

impl<S, C> Retry<S, C> {
    pub(super) fn from_policy(inner: S, policy: Arc<Policy<C>>) -> Self {
        Self { inner, policy }
    }

    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, C, B, RB> Service<Request<B>> for Retry<S, C>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<RB>> + Clone,
    S::Error: Into<BoxError>,
    C: Classify,
    B: Body + Unpin + 'static,
    B::Error: Into<BoxError>,
    RB: Body,
{
    type Response = Response<ResponseBody<RB>>;
    type Error = BoxError;
    type Future = ResponseFuture<S, C, B, RB>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The one that is ready goes with the call; the clone that stays has to become ready first.
        let fresh = self.inner.clone();
        let mut ready = mem::replace(&mut self.inner, fresh);
        let (call, first) = Call::begin(&self.policy, request);
        let future = ready.call(first);
        ResponseFuture::new(future, ready, call)
    }
}
