//! A stack of layers around a hyper client, in one's own `ServiceBuilder`, against the scripted providers of the demo.
//!
//! Shows how a provider that fails twice is asked three times, and how the circuit of one that is down opens.
//!
//! `cargo run -p example-stack` prints
//!
//! ```text
//! flaky: 200 after 3 tries: Hello from the demo. You asked demo, and this answer came through.
//! down, call 1: transport; circuit open
//! down, call 2: rejected; circuit open
//! ```

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
        classify::{Classify, HttpClassifier},
        limit::BodyLimitLayer,
        retry::{Jitter, RetryLayer, RetryOutcome},
        timeout::{TimeoutConfig, TimeoutLayer},
    },
    provider::Kind,
};
use mainstay_testkit::demo::DemoProviders;
use serde_json::Value;
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
            Err(error) => {
                let verdict = HttpClassifier::new().error(&*error);
                let (class, state) = (verdict.class, down.state().as_str());
                println!("down, call {call}: {class}; circuit {state}");
            }
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
    let answer: Value = serde_json::from_slice(&reply.into_body().collect().await?.to_bytes())?;
    let words = answer.pointer("/choices/0/message/content").and_then(Value::as_str).unwrap_or_default();
    Ok((status, tries, words.to_owned()))
}
