//! The least that a layer can be that wants to know how a call ends: what the breaker and the concurrency limit cost is
//! read beside it.

use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use mainstay::BoxError;
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};
use tower::Layer;
use tower_service::Service;

/// Wraps the body of each reply in a guard and decides nothing: calls that ended are counted.
#[derive(Clone, Default)]
pub(crate) struct GuardLayer {
    ended: Arc<AtomicU64>,
}

impl<S> Layer<S> for GuardLayer {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { inner, ended: self.ended.clone() }
    }
}

#[derive(Clone)]
pub(crate) struct Guarded<S> {
    inner: S,
    ended: Arc<AtomicU64>,
}

/// Counts once, wherever the call ends.
struct Guard(Arc<AtomicU64>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl<S, B, RB> Service<Request<B>> for Guarded<S>
where
    S: Service<Request<B>, Response = Response<RB>>,
    S::Error: Into<BoxError>,
    RB: Body,
{
    type Response = Response<GuardBody<RB>>;
    type Error = BoxError;
    type Future = GuardFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        GuardFuture { guard: Some(Guard(self.ended.clone())), inner: self.inner.call(request) }
    }
}

pin_project! {
    pub(crate) struct GuardFuture<F> {
        #[pin]
        inner: F,
        guard: Option<Guard>,
    }
}

impl<F, RB, E> Future for GuardFuture<F>
where
    F: Future<Output = Result<Response<RB>, E>>,
    E: Into<BoxError>,
    RB: Body,
{
    type Output = Result<Response<GuardBody<RB>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let reply = ready!(this.inner.poll(cx)).map_err(Into::into)?;
        let guard = this.guard.take();
        Poll::Ready(Ok(reply.map(|inner| GuardBody { inner: Some(inner), guard })))
    }
}

pin_project! {
    pub(crate) struct GuardBody<B> {
        // Gone after an error: what it holds must not outlive it.
        #[pin]
        inner: Option<B>,
        guard: Option<Guard>,
    }
}

impl<B> Body for GuardBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let mut this = self.project();
        let Some(mut inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        let frame = ready!(inner.as_mut().poll_frame(cx)).map(|frame| frame.map_err(Into::into));
        let over = match &frame {
            Some(Ok(frame)) => frame.is_trailers() || inner.is_end_stream(),
            Some(Err(_)) => {
                this.inner.set(None);
                true
            }
            None => true,
        };
        if over {
            *this.guard = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
