//! The service.

use super::{EndpointLayer, headers, settings::Settings};
use http::{Request, request::Parts};
use mainstay_layers::BoxError;
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};
use tower_service::Service;

/// The service of [`EndpointLayer`].
#[derive(Clone, Debug)]
pub struct Endpoint<S> {
    inner: S,
    layer: EndpointLayer,
}

impl<S> Endpoint<S> {
    pub(super) fn new(inner: S, layer: EndpointLayer) -> Self {
        Self { inner, layer }
    }
}

impl<S, B> Service<Request<B>> for Endpoint<S>
where
    S: Service<Request<B>>,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (mut parts, body) = request.into_parts();
        let state = match self.layer.settings.address_to(&mut parts) {
            Ok(()) => State::Sent { inner: self.inner.call(Request::from_parts(parts, body)) },
            Err(error) => State::Refused { error: Some(error) },
        };
        ResponseFuture { state }
    }
}

impl Settings {
    /// Makes the head of a request that of one to the provider.
    fn address_to(&self, parts: &mut Parts) -> Result<(), BoxError> {
        parts.uri = self.address(&parts.uri)?;
        parts.version = http::Version::default();
        headers::rebuild(&mut parts.headers, self);
        // Last: all that it signs is there.
        match &self.signer {
            Some(signer) => Ok(signer.sign(parts)?),
            None => Ok(()),
        }
    }
}

pin_project! {
    /// The future of [`Endpoint`].
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    #[derive(Debug)]
    enum State<F> {
        Sent {
            #[pin]
            inner: F,
        },
        Refused { error: Option<BoxError> },
    }
}

impl<F, R, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<R, E>>,
    E: Into<BoxError>,
{
    type Output = Result<R, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Sent { inner } => inner.poll(cx).map_err(Into::into),
            StateProj::Refused { error } => match error.take() {
                Some(error) => Poll::Ready(Err(error)),
                None => Poll::Pending,
            },
        }
    }
}
