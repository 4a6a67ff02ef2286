//! The service.

use super::{Deadline, DeadlineBody, DeadlineExceeded, ResponseFuture, grpc_timeout, layer::Options};
use crate::BoxError;
use http::{Request, Response};
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use tower_service::Service;

/// Gives every call a [`Deadline`] and ends it when that has passed. Made by [`DeadlineLayer`](super::DeadlineLayer).
///
/// Fails with [`DeadlineExceeded`], or as the inner service does.
#[derive(Clone, Debug)]
pub struct WithDeadline<S> {
    pub(super) inner: S,
    pub(super) options: Arc<Options>,
}

impl<S, B, R> Service<Request<B>> for WithDeadline<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
{
    type Response = Response<DeadlineBody<R>>;
    type Error = BoxError;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let deadline = match self.options.deadline(request.headers()) {
            Some(own) => own.tighten(request.extensions_mut()),
            None => match Deadline::of(request.extensions()) {
                Some(there) => there,
                None => return ResponseFuture::new(self.inner.call(request), None),
            },
        };
        let remaining = deadline.remaining();
        if remaining.is_zero() {
            return ResponseFuture::rejected(DeadlineExceeded::unsent());
        }
        if self.options.pass_on {
            request.headers_mut().insert(grpc_timeout::GRPC_TIMEOUT, grpc_timeout::format(remaining));
        }
        ResponseFuture::new(self.inner.call(request), Some(deadline))
    }
}
