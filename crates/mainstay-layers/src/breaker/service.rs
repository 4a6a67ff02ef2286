//! The service.

use super::{CircuitBreaker, ResponseBody, ResponseFuture, call::Call};
use crate::{BoxError, classify::Classify};
use http::{Request, Response};
use std::{
    mem,
    task::{Context, Poll},
};
use tower_service::Service;

/// A service behind a [`CircuitBreaker`].
#[derive(Debug)]
pub struct CircuitBreakerService<S, C> {
    inner: S,
    breaker: CircuitBreaker,
    classifier: C,
    /// `poll_ready` found the circuit shut and did not ask the inner service, so the call that follows must not
    /// reach it.
    unasked: bool,
}

impl<S, C> CircuitBreakerService<S, C> {
    /// `inner` behind `breaker`, with outcomes judged by `classifier`.
    pub fn new(inner: S, breaker: CircuitBreaker, classifier: C) -> Self {
        Self { inner, breaker, classifier, unasked: false }
    }

    /// The circuit.
    pub fn breaker(&self) -> &CircuitBreaker {
        &self.breaker
    }

    /// The service behind it.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The service behind it.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

// A clone starts un-ready, and with nothing found out.
impl<S: Clone, C: Clone> Clone for CircuitBreakerService<S, C> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), self.breaker.clone(), self.classifier.clone())
    }
}

impl<S, C, B, RB> Service<Request<B>> for CircuitBreakerService<S, C>
where
    S: Service<Request<B>, Response = Response<RB>>,
    S::Error: Into<BoxError>,
    C: Classify + Clone,
    RB: http_body::Body,
{
    type Response = Response<ResponseBody<RB, C>>;
    type Error = BoxError;
    type Future = ResponseFuture<S::Future, C>;

    /// Ready as the inner service is; while the circuit is open, ready at once: a caller must not wait for a service
    /// that it will not reach.
    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.unasked = !self.breaker.would_admit();
        if self.unasked {
            return Poll::Ready(Ok(()));
        }
        self.inner.poll_ready(cx).map_err(|error| {
            // Clients that connect in `poll_ready` fail there: a vote as good as any.
            let error = error.into();
            let verdict = self.classifier.error(&*error);
            self.breaker.cast(verdict.vote(), verdict.wait);
            error
        })
    }

    #[inline]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        if mem::take(&mut self.unasked) {
            return ResponseFuture::rejected(self.breaker.reject(), self.classifier.clone());
        }
        match self.breaker.try_enter() {
            Ok(permit) => {
                let call = Call::start(permit);
                ResponseFuture::new(self.inner.call(request), call, self.classifier.clone())
            }
            Err(open) => ResponseFuture::rejected(open, self.classifier.clone()),
        }
    }
}
