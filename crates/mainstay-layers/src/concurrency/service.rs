//! The service.

use super::{ConcurrencyLimit, ResponseBody, ResponseFuture};
use crate::{
    BoxError,
    classify::{Classify, HttpClassifier},
};
use http::{Request, Response};
use http_body::Body;
use std::{
    mem,
    task::{Context, Poll},
};
use tower_service::Service;

/// A service under a [`ConcurrencyLimit`].
#[derive(Clone, Debug)]
pub struct Concurrency<S, C = HttpClassifier> {
    inner: S,
    limit: ConcurrencyLimit,
    classifier: C,
}

impl<S, C> Concurrency<S, C> {
    /// `inner` under `limit`, with rate limits told by `classifier`.
    pub fn new(inner: S, limit: ConcurrencyLimit, classifier: C) -> Self {
        Self { inner, limit, classifier }
    }

    /// The limit.
    pub fn limit(&self) -> &ConcurrencyLimit {
        &self.limit
    }

    /// The service under it.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The service under it.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, C, B, RB> Service<Request<B>> for Concurrency<S, C>
where
    S: Service<Request<B>, Response = Response<RB>> + Clone,
    S::Error: Into<BoxError>,
    C: Classify + Clone,
    B: Body,
    RB: Body,
{
    type Response = Response<ResponseBody<RB>>;
    type Error = BoxError;
    type Future = ResponseFuture<S, B, C>;

    /// Ready as the inner service is. The limit is not asked here: whoever is ready may never call.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The service that was polled ready goes along; its clone, un-ready, stays.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        ResponseFuture::new(ready, request, self.limit.clone(), self.classifier.clone())
    }
}
