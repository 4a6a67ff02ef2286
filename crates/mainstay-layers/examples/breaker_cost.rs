//! Prints what a breaker costs a call: `cargo run --release -p mainstay-layers --example breaker_cost --all-features`.
//!
//! The best of several rounds in nanoseconds, for reading only: nothing depends on the figures.

use http::{Request, Response};
use http_body::Body;
use http_body_util::Empty;
use mainstay_layers::{
    BoxError,
    breaker::{CircuitBreaker, CircuitBreakerLayer},
    concurrency::{ConcurrencyLayer, ConcurrencyLimit},
};
use std::{
    future::{Future, Ready, ready},
    hint::black_box,
    pin::pin,
    task::{Context, Poll, Waker},
};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

const CALLS: u32 = 200_000;

/// The cheapest service there is: what is measured is the layer.
#[derive(Clone)]
struct Nothing;

impl Service<Request<Empty<&'static [u8]>>> for Nothing {
    type Response = Response<Empty<&'static [u8]>>;
    type Error = BoxError;
    type Future = Ready<Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Empty<&'static [u8]>>) -> Self::Future {
        ready(Ok(Response::new(Empty::new())))
    }
}

fn once<S, B>(service: &mut S)
where
    S: Service<Request<Empty<&'static [u8]>>, Response = Response<B>, Error = BoxError>,
    B: Body,
{
    let mut cx = Context::from_waker(Waker::noop());
    assert!(service.poll_ready(&mut cx).is_ready());
    let mut call = pin!(service.call(Request::new(Empty::new())));
    if let Poll::Ready(Ok(reply)) = call.as_mut().poll(&mut cx) {
        let mut body = pin!(reply.into_body());
        assert!(matches!(body.as_mut().poll_frame(&mut cx), Poll::Ready(None)));
    }
}

fn best(what: &str, mut run: impl FnMut()) {
    let nanos = (0..7).map(|_| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| run());
        start.elapsed().as_nanos() / u128::from(CALLS)
    });
    println!("{what:34} {:5} ns", nanos.min().unwrap_or_default());
}

fn main() {
    best("a bare service", || once(black_box(&mut Nothing)));
    let breaker = CircuitBreaker::new("cost");
    let mut service = CircuitBreakerLayer::new(breaker.clone()).layer(Nothing);
    best("a closed breaker", || once(black_box(&mut service)));
    best("would_admit, closed", || assert!(black_box(&breaker).would_admit()));
    breaker.force_open();
    best("an open breaker's rejection", || once(black_box(&mut service)));
    best("would_admit, open", || assert!(!black_box(&breaker).would_admit()));
    let mut service = ConcurrencyLayer::new(ConcurrencyLimit::new(8)).layer(Nothing);
    best("a concurrency limit with room", || once(black_box(&mut service)));
}
