//! A stack of layers around a hyper client, in one's own `ServiceBuilder`, against the scripted providers of the demo.
//!
//! `cargo run -p example-stack` prints how a provider that fails twice was asked three times, and how the circuit of one
//! that is down opens.

use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::{BodyExt, Full};
use mainstay::{
    BoxError,
    client::Client,
    endpoint::EndpointLayer,
    judge::JudgeLayer,
    layers::{
        breaker::{self, CircuitBreaker, CircuitBreakerLayer},
        limit::BodyLimitLayer,
        retry::{Jitter, RetryLayer, RetryOutcome},
        timeout::{TimeoutConfig, TimeoutLayer},
    },
    provider::Kind,
};
use mainstay_testkit::demo::DemoProviders;
use std::time::Duration;
use tower::{ServiceBuilder, ServiceExt};

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let demo = DemoProviders::start().await?;

    let flaky = CircuitBreaker::new("flaky");
    let (status, tries, text) = ask(demo.flaky.base_url(), &flaky).await?;
    println!("flaky: {status} after {tries} tries: {text}");

    let down = breaker::Config::new().with_failures(3).build("down")?;
    for call in 1..=2 {
        match ask(demo.down.base_url(), &down).await {
            Ok((status, ..)) => println!("down, call {call}: {status}"),
            Err(error) => println!("down, call {call}: {error}; circuit {}", down.state().as_str()),
        }
    }
    Ok(())
}

/// One chat completion through a stack of its own.
async fn ask(base_url: &str, breaker: &CircuitBreaker) -> Result<(u16, u32, String), BoxError> {
    let endpoint =
        EndpointLayer::new(Kind::OpenAi, &base_url.parse::<Uri>()?).ok_or("no host in the base URL")?;
    let service = ServiceBuilder::new()
        .layer(RetryLayer::new().with_base_delay(Duration::from_millis(50)).with_jitter(Jitter::None))
        .layer(CircuitBreakerLayer::new(breaker.clone()))
        .layer(JudgeLayer::new(Kind::OpenAi))
        .layer(TimeoutLayer::new(TimeoutConfig::new().with_idle(Duration::from_secs(30))))
        .layer(BodyLimitLayer::new().response(16 << 20))
        .layer(endpoint)
        .service(Client::new()?);

    let body = r#"{"model": "demo", "messages": [{"role": "user", "content": "hi"}]}"#;
    let request = Request::post("/v1/chat/completions")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(body.as_bytes())))?;
    let reply = service.oneshot(request).await?;
    let status = reply.status().as_u16();
    let tries = reply.extensions().get::<RetryOutcome>().map_or(1, |outcome| outcome.attempts);
    let answer = reply.into_body().collect().await?.to_bytes();
    Ok((status, tries, String::from_utf8_lossy(&answer).chars().take(60).collect()))
}
