//! Counts what a layer does to the service below it.

use http::Response;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
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

/// What was counted; shared by all clones of the probe.
#[derive(Clone, Debug, Default)]
pub struct Probe(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    clones: AtomicUsize,
    calls: AtomicUsize,
    unready_calls: AtomicUsize,
    unused_readiness: AtomicUsize,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
    dropped_futures: AtomicUsize,
    open_bodies: AtomicUsize,
    most_open_bodies: AtomicUsize,
    dropped_bodies: AtomicUsize,
    late_body_polls: AtomicUsize,
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

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident)*) => {
        $($(#[$doc])* pub fn $name(&self) -> usize { self.0.$name.load(Relaxed) })*
    };
}

impl Probe {
    counts! {
        /// How often the service was cloned.
        clones
        /// How often it was called.
        calls
        /// How often it was called without having been ready since its last call: must be 0.
        unready_calls
        /// How many instances were dropped ready, without a call. No fault by itself, but whatever readiness reserved was
        /// held for nothing.
        unused_readiness
        /// How many futures have neither ended nor been dropped.
        in_flight
        /// The most that were in flight at one moment.
        most_in_flight
        /// How many futures were dropped before they ended.
        dropped_futures
        /// How many bodies have neither ended nor been dropped.
        open_bodies
        /// The most that were open at one moment.
        most_open_bodies
        /// How many bodies were dropped before they ended.
        dropped_bodies
        /// How often a body was polled after its end or its error: must be 0.
        late_body_polls
    }

    /// What breaks the contract, in words; empty when nothing does. To be asked when all is over: what is still in
    /// flight then has leaked.
    pub fn violations(&self) -> Vec<String> {
        let all = [
            (self.unready_calls(), "calls of a service that was not ready"),
            (self.late_body_polls(), "polls of a body after its end"),
            (self.in_flight(), "futures still in flight"),
            (self.open_bodies(), "bodies still open"),
        ];
        all.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
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

type Trio = fn(&Counts) -> (&AtomicUsize, &AtomicUsize, &AtomicUsize);

/// Something that is held until it ends or is dropped.
#[derive(Debug)]
struct Held {
    probe: Probe,
    trio: Trio,
    ended: bool,
}

impl Held {
    fn new(probe: &Probe, trio: Trio) -> Self {
        let (now, most, _) = trio(&probe.0);
        most.fetch_max(now.fetch_add(1, Relaxed) + 1, Relaxed);
        Self { probe: probe.clone(), trio, ended: false }
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            (self.trio)(&self.probe.0).0.fetch_sub(1, Relaxed);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.ended {
            (self.trio)(&self.probe.0).2.fetch_add(1, Relaxed);
        }
        self.end();
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
                let mut open = Held::new(&this.flight.probe, |counts| {
                    (&counts.open_bodies, &counts.most_open_bodies, &counts.dropped_bodies)
                });
                if inner.is_end_stream() {
                    open.end(); // nobody has to poll it
                }
                ProbeBody { inner, finished: false, open }
            })
        }))
    }
}

pin_project! {
    /// A reply's body that is watched; it changes nothing.
    #[derive(Debug)]
    pub struct ProbeBody<B> {
        #[pin]
        inner: B,
        finished: bool,
        open: Held,
    }
}

impl<B: Body> Body for ProbeBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        if *this.finished {
            this.open.probe.0.late_body_polls.fetch_add(1, Relaxed);
        }
        let frame = ready!(this.inner.as_mut().poll_frame(cx));
        match &frame {
            None | Some(Err(_)) => {
                *this.finished = true;
                this.open.end();
            }
            // A reader may stop here: trailers are the last frame, and so is one after which the body says it is.
            Some(Ok(frame)) if frame.is_trailers() => this.open.end(),
            Some(Ok(_)) if this.inner.is_end_stream() => this.open.end(),
            Some(Ok(_)) => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
