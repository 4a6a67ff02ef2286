//! Every layer with the bodies of tonic, axum and reqwest, as requests and as replies, and a reqwest client as the service
//! under the stack.
//!
//! Shows that the layers name no body: whatever implements `http_body::Body` passes, and what is below gets the layers'
//! wrappers around it. A client that takes only its own type needs one line, as `Reqwest` has it.
//!
//! `cargo run -p example-foreign-bodies` prints
//!
//! ```text
//! tonic: 9 layers alone, and all of them together
//! axum: 9 layers alone, and all of them together
//! reqwest: 9 layers alone, and all of them together
//! a reqwest client under the stack: 200 after 2 tries
//! ```

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::BodyExt;
use mainstay_layers::{
    BoxError,
    breaker::{CircuitBreaker, CircuitBreakerLayer},
    concurrency::{ConcurrencyLayer, ConcurrencyLimit},
    deadline::DeadlineLayer,
    fault::{Fault, FaultLayer},
    grpc::{GrpcCallLayer, GrpcTryLayer},
    limit::BodyLimitLayer,
    retry::{IdempotencyLayer, RetryLayer, RetryOutcome},
    timeout::{TimeoutConfig, TimeoutLayer},
};
use mainstay_testkit::{ScriptedProvider, Step};
use std::{pin::Pin, task::Poll, time::Duration};
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

const WAIT: Duration = Duration::from_secs(9);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    println!("tonic: {}", pass(|data| tonic::body::Body::new(http_body_util::Full::new(data))).await?);
    println!("axum: {}", pass(axum::body::Body::from).await?);
    println!("reqwest: {}", pass(reqwest::Body::from).await?);

    let provider = ScriptedProvider::start([Step::json(503, "".into()), Step::json(200, "".into())]).await?;
    let stack = ServiceBuilder::new()
        .layer(RetryLayer::new().with_base_delay(Duration::from_millis(10)))
        .layer(CircuitBreakerLayer::new(CircuitBreaker::new("a")))
        .layer(TimeoutLayer::new(TimeoutConfig::new().with_attempt(WAIT)))
        .layer(BodyLimitLayer::new().request(99).response(99))
        .service(Reqwest(reqwest::Client::new()));
    let reply = stack.oneshot(Request::post(provider.url()).body(reqwest::Body::from("a question"))?).await?;
    let tries = reply.extensions().get::<RetryOutcome>().map_or(1, |outcome| outcome.attempts);
    println!("a reqwest client under the stack: {} after {tries} tries", reply.status().as_u16());
    Ok(())
}

/// Sends a body of `B` through each layer, and through all of them.
async fn pass<B>(make: fn(Bytes) -> B) -> Result<String, BoxError>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let breaker = CircuitBreakerLayer::new(CircuitBreaker::new("a"));
    let places = ConcurrencyLayer::new(ConcurrencyLimit::new(1));
    let clocks = TimeoutLayer::new(TimeoutConfig::new().with_attempt(WAIT).with_idle(WAIT));
    let limit = BodyLimitLayer::new().request(99).response(99);
    let faults = FaultLayer::script([Fault::pass()]);
    let deadline = DeadlineLayer::after(WAIT);
    let grpc = GrpcCallLayer::new().with_deadline(WAIT);

    let echo = Echo(make);
    let layers = [
        echoes(RetryLayer::new().layer(echo), make).await,
        echoes(IdempotencyLayer::new().layer(echo), make).await,
        echoes(breaker.layer(echo), make).await,
        echoes(places.layer(echo), make).await,
        echoes(clocks.layer(echo), make).await,
        echoes(limit.layer(echo), make).await,
        echoes(faults.layer(echo), make).await,
        echoes(deadline.layer(echo), make).await,
        echoes(grpc.layer(GrpcTryLayer::new().layer(echo)), make).await,
    ];
    let passed = layers.into_iter().collect::<Result<Vec<()>, BoxError>>()?.len();

    let all = ServiceBuilder::new()
        .layer(grpc)
        .layer(deadline)
        .layer(IdempotencyLayer::new())
        .layer(RetryLayer::new())
        .layer(GrpcTryLayer::new())
        .layer(breaker)
        .layer(places)
        .layer(clocks)
        .layer(limit)
        .layer(faults)
        .service(echo);
    echoes(all, make).await?;
    Ok(format!("{passed} layers alone, and all of them together"))
}

/// A call through `service` comes back as it was sent.
async fn echoes<S, B, R>(service: S, make: fn(Bytes) -> B) -> Result<(), BoxError>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
    R: Body<Data = Bytes>,
    R::Error: Into<BoxError>,
{
    let reply = service.oneshot(Request::new(make("ping".into()))).await.map_err(Into::into)?;
    let body = reply.into_body().collect().await.map_err(Into::into)?.to_bytes();
    if body == "ping" { Ok(()) } else { Err("the body is not what was sent".into()) }
}

/// Answers with what it got, whatever the layers have wrapped it in, in a body of `B`.
struct Echo<B>(fn(Bytes) -> B);

impl<B> Clone for Echo<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Echo<B> {}

type Boxed<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

impl<B, Q> Service<Request<Q>> for Echo<B>
where
    B: 'static,
    Q: Body<Data = Bytes> + Send + 'static,
    Q::Error: Into<BoxError>,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = Boxed<Response<B>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let make = self.0;
        Box::pin(async move {
            let body = request.into_body().collect().await.map_err(Into::into)?;
            Ok(Response::new(make(body.to_bytes())))
        })
    }
}

/// A reqwest client as a service of `http`'s types.
#[derive(Clone)]
struct Reqwest(reqwest::Client);

impl<Q> Service<Request<Q>> for Reqwest
where
    Q: Body<Data = Bytes> + Send + Sync + 'static,
    Q::Error: Into<BoxError>,
{
    type Response = Response<reqwest::Body>;
    type Error = BoxError;
    type Future = Boxed<Response<reqwest::Body>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let client = self.0.clone();
        Box::pin(async move {
            let request = reqwest::Request::try_from(request.map(reqwest::Body::wrap))?;
            Ok(client.execute(request).await?.into())
        })
    }
}
