//! The service and its layer.

use super::{Probe, ProbeBody, counts::Held};
use http::Response;
use http_body::Body;
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    sync::atomic::Ordering::Relaxed,
    task::{Context, Poll, ready},
};
use tower_layer::Layer;
use tower_service::Service;

/// Wraps the service under the layer that is tested.
///
/// An instance must be ready before each call, and a clone starts un-ready, however ready its original is: that is
/// tower's contract, and the commonest fault of a layer is to call the fresh clone. The probe counts each such call
/// and lets it through.
#[derive(Debug)]
pub struct ServiceProbe<S> {
    inner: S,
    ready: bool,
    probe: Probe,
}

/// Puts a [`ServiceProbe`] below the layers above it in a `ServiceBuilder`.
#[derive(Clone, Debug, Default)]
pub struct ProbeLayer {
    probe: Probe,
}

impl<S> ServiceProbe<S> {
    /// Wraps a service; the handle tells what was counted.
    pub fn new(inner: S) -> (Self, Probe) {
        let probe = Probe::default();
        (Self { inner, ready: false, probe: probe.clone() }, probe)
    }

    /// The service inside.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl ProbeLayer {
    /// A layer whose services share one count.
    pub fn new() -> Self {
        Self::default()
    }

    /// The handle that tells what was counted.
    pub fn probe(&self) -> Probe {
        self.probe.clone()
    }
}

impl<S> Layer<S> for ProbeLayer {
    type Service = ServiceProbe<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ServiceProbe { inner, ready: false, probe: self.probe.clone() }
    }
}

impl<S: Clone> Clone for ServiceProbe<S> {
    fn clone(&self) -> Self {
        self.probe.0.clones.fetch_add(1, Relaxed);
        Self { inner: self.inner.clone(), ready: false, probe: self.probe.clone() }
    }
}

impl<S> Drop for ServiceProbe<S> {
    fn drop(&mut self) {
        if self.ready {
            self.probe.0.unused_readiness.fetch_add(1, Relaxed);
        }
    }
}

impl<S, R, B> Service<R> for ServiceProbe<S>
where
    S: Service<R, Response = Response<B>>,
    B: Body,
{
    type Response = Response<ProbeBody<B>>;
    type Error = S::Error;
    type Future = ProbeFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let ready = ready!(self.inner.poll_ready(cx));
        self.ready = ready.is_ok();
        Poll::Ready(ready)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let counts = &self.probe.0;
        counts.calls.fetch_add(1, Relaxed);
        if !std::mem::replace(&mut self.ready, false) {
            counts.unready_calls.fetch_add(1, Relaxed);
        }
        let flight = Held::new(&self.probe, |counts| {
            (&counts.in_flight, &counts.most_in_flight, &counts.dropped_futures)
        });
        ProbeFuture { inner: self.inner.call(request), flight }
    }
}

pin_project! {
    /// The future of a [`ServiceProbe`]'s call.
    #[derive(Debug)]
    pub struct ProbeFuture<F> {
        #[pin]
        inner: F,
        flight: Held,
    }
}

impl<F, B, E> Future for ProbeFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: Body,
{
    type Output = Result<Response<ProbeBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let result = ready!(this.inner.poll(cx));
        this.flight.end();
        Poll::Ready(result.map(|response| {
            response.map(|inner| {
                let open = Held::new(&this.flight.probe, |counts| {
                    (&counts.open_bodies, &counts.most_open_bodies, &counts.dropped_bodies)
                });
                ProbeBody::new(inner, open)
            })
        }))
    }
}
