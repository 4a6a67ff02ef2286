//! Hashing a body once for all tries.

use super::canonical::hex;
use crate::body::RequestBody;
use http::Request;
use sha2::{Digest, Sha256};
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use tower_layer::Layer;
use tower_service::Service;

/// The SHA-256 of a request's body, in its extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadHash(pub(super) Arc<str>);

impl PayloadHash {
    /// The hash of these bytes.
    pub fn of(body: &[u8]) -> Self {
        Self(hex(&Sha256::digest(body)).into())
    }
}

/// Leaves the [`PayloadHash`] of every request for the [`Signer`](super::Signer) below. It stands outside the retry, and inside
/// whatever writes the body.
#[derive(Clone, Copy, Debug)]
pub struct PayloadHashLayer {
    is_on: bool,
}

impl PayloadHashLayer {
    /// Hashes every body.
    #[expect(clippy::new_without_default, reason = "`off` is as good a default")]
    pub const fn new() -> Self {
        Self { is_on: true }
    }

    /// Hashes nothing: for a stack that is the same with and without signatures.
    pub const fn off() -> Self {
        Self { is_on: false }
    }
}

impl<S> Layer<S> for PayloadHashLayer {
    type Service = PayloadHashService<S>;

    fn layer(&self, inner: S) -> PayloadHashService<S> {
        PayloadHashService { inner, is_on: self.is_on }
    }
}

/// The service of [`PayloadHashLayer`].
#[derive(Clone, Debug)]
pub struct PayloadHashService<S> {
    inner: S,
    is_on: bool,
}

impl<S: Service<Request<RequestBody>>> Service<Request<RequestBody>> for PayloadHashService<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<RequestBody>) -> S::Future {
        if self.is_on {
            let mut sha = Sha256::new();
            request.body().slices().for_each(|slice| sha.update(slice));
            request.extensions_mut().insert(PayloadHash(hex(&sha.finalize()).into()));
        }
        self.inner.call(request)
    }
}
