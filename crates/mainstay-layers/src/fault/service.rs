//! The service.

use super::{FaultBody, ResponseFuture, layer::Plan};
use crate::BoxError;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use std::{
    mem,
    task::{Context, Poll},
};
use tower_service::Service;

/// Injects faults. Made by [`FaultLayer`](super::FaultLayer).
///
/// Fails with [`Injected`](super::Injected), or as the inner service does.
#[derive(Clone, Debug)]
pub struct FaultInjector<S> {
    pub(super) inner: S,
    pub(super) plan: Plan,
}

impl<S, B, R> Service<Request<B>> for FaultInjector<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    S::Error: Into<BoxError>,
    R: Body<Data = Bytes>,
{
    type Response = Response<FaultBody<R>>;
    type Error = BoxError;
    type Future = ResponseFuture<S, B, S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (fault, seed) = self.plan.next();
        // The one that is ready goes into the future: it may be called only after a wait.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        ResponseFuture::new(ready, request, fault, seed)
    }
}
