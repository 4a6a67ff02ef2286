//! The service.

use super::{BodyLimits, BodyTooLarge, LimitBody, ResponseFuture, Side};
use crate::BoxError;
use http::{HeaderMap, Method, Request, Response, header::CONTENT_LENGTH};
use http_body::Body;
use std::{
    sync::{Arc, atomic::AtomicBool},
    task::{Context, Poll},
};
use tower_service::Service;

/// Bounds the bodies of requests and replies. Made by [`BodyLimitLayer`](super::BodyLimitLayer).
///
/// Fails with [`BodyTooLarge`], or as the inner service does.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimit<S> {
    inner: S,
    limits: BodyLimits,
}

impl<S> BodyLimit<S> {
    /// `inner` under `limits`.
    pub const fn new(inner: S, limits: BodyLimits) -> Self {
        Self { inner, limits }
    }

    /// The inner service.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, B, R> Service<Request<B>> for BodyLimit<S>
where
    S: Service<Request<LimitBody<B>>, Response = Response<R>>,
    S::Error: Into<BoxError>,
    B: Body,
    R: Body,
{
    type Response = Response<LimitBody<R>>;
    type Error = BoxError;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let limits = request.extensions().get().copied().unwrap_or(self.limits).without_zeros();
        let hint = request.body().size_hint();
        let mut over = None;
        if let Some(limit) = limits.request {
            let declared = declared(request.headers(), request.body());
            if declared > limit {
                return ResponseFuture::rejected(BodyTooLarge::new(Side::Request, limit, Some(declared)));
            }
            if hint.upper().is_none_or(|upper| upper > limit) {
                over = Some((Arc::new(AtomicBool::new(false)), limit));
            }
        }
        let bodiless = request.method() == Method::HEAD;
        let tell = over.as_ref().map(|(over, _)| Arc::clone(over));
        let request =
            request.map(|body| LimitBody::with_limit(body, limits.request, Side::Request).telling(tell));
        ResponseFuture::new(self.inner.call(request), limits, over, bodiless)
    }
}

/// The least that a message has, by its own words.
pub(super) fn declared<B: Body>(headers: &HeaderMap, body: &B) -> u64 {
    let header = headers
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse().ok())
        .unwrap_or(0);
    body.size_hint().lower().max(header)
}
