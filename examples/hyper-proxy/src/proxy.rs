//! The proxy: all layers between hyper's server and a client, in some sixty lines.

use http::{Response, StatusCode, header};
use http_body_util::{Either, Full};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use mainstay::{
    BoxError,
    client::Client,
    endpoint::EndpointLayer,
    judge::JudgeLayer,
    layers::{
        breaker::{CircuitBreaker, CircuitBreakerLayer},
        classify::{Classify, HttpClassifier},
        concurrency::{ConcurrencyLayer, ConcurrencyLimit},
        deadline::DeadlineLayer,
        limit::BodyLimitLayer,
        retry::{IdempotencyLayer, RetryLayer},
        timeout::{TimeoutConfig, TimeoutLayer},
    },
    provider::Kind,
};
use std::time::Duration;
use tokio::net::TcpListener;
use tower::ServiceBuilder;

/// Passes every call on to `upstream`, until the listener fails.
pub(crate) async fn serve(listener: TcpListener, upstream: &http::Uri) -> Result<(), BoxError> {
    let clocks = TimeoutConfig::new()
        .with_attempt(Duration::from_secs(120))
        .with_idle(Duration::from_secs(30))
        .with_first_event(Duration::from_secs(60));
    let stack = ServiceBuilder::new()
        .map_result(|result| Ok::<_, BoxError>(adapt(result)))
        .layer(DeadlineLayer::after(Duration::from_secs(600)))
        .layer(BodyLimitLayer::new().request(32 << 20))
        .layer(IdempotencyLayer::new())
        .layer(RetryLayer::new().with_base_delay(Duration::from_millis(100)))
        .layer(CircuitBreakerLayer::new(CircuitBreaker::new("upstream")))
        .layer(ConcurrencyLayer::new(ConcurrencyLimit::new(64)))
        .layer(JudgeLayer::new(Kind::OpenAi))
        .layer(TimeoutLayer::new(clocks))
        .layer(BodyLimitLayer::new().response(16 << 20))
        .layer(EndpointLayer::new(Kind::OpenAi, upstream).ok_or("the upstream has no host")?)
        .service(Client::new()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(stack.clone());
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(connection);
    }
}

/// A reply without what belongs to the other connection, or the error as one.
fn adapt<B>(result: Result<Response<B>, BoxError>) -> Response<Either<B, Full<bytes::Bytes>>> {
    match result {
        Ok(mut reply) => {
            for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE] {
                reply.headers_mut().remove(name);
            }
            reply.map(Either::Left)
        }
        Err(error) => {
            let verdict = HttpClassifier::new().error(&*error);
            let mut reply = Response::new(Either::Right(Full::from(format!("{error}\n"))));
            *reply.status_mut() = verdict.status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
            reply
        }
    }
}
