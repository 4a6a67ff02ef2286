//! What a call costs.

use super::{
    measure::{Case, calls},
    memory::{ASKED, Provider, plain, routed, target},
};
use mainstay::{
    endpoint::EndpointLayer,
    judge::JudgeLayer,
    layers::{
        breaker::{CircuitBreaker, CircuitBreakerLayer},
        concurrency::{ConcurrencyLayer, ConcurrencyLimit},
        deadline::DeadlineLayer,
        limit::BodyLimitLayer,
        retry::{Budget, IdempotencyLayer, RetryLayer},
        timeout::{TimeoutConfig, TimeoutLayer},
    },
    provider::Kind,
    route::{AttemptLayer, Fallback, Router, Target},
    secret::ApiKey,
};
use std::{sync::Arc, time::Duration};
use tower::Layer;
use tower_http::decompression::DecompressionLayer;

const PATH: &str = "/v1/chat/completions";
const BASE: &str = "http://localhost:1/v1";

/// A target's stack as the gateway builds it, over a client.
macro_rules! stack {
    ($client:expr, $base:expr) => {
        tower::ServiceBuilder::new()
            .layer(mainstay::layers::retry::IdempotencyLayer::new())
            .layer($crate::calls::retry())
            .layer(mainstay::layers::breaker::CircuitBreakerLayer::new(
                mainstay::layers::breaker::CircuitBreaker::new("cost"),
            ))
            .layer(mainstay::layers::concurrency::ConcurrencyLayer::new(
                mainstay::layers::concurrency::ConcurrencyLimit::new(usize::MAX),
            ))
            .layer(mainstay::route::AttemptLayer::new($crate::memory::target(), std::sync::Arc::new(())))
            .layer(mainstay::judge::JudgeLayer::new(mainstay::provider::Kind::OpenAi))
            .layer(mainstay::layers::timeout::TimeoutLayer::new($crate::calls::clocks()))
            .layer(mainstay::layers::limit::BodyLimitLayer::new().response(16 << 20))
            .layer(tower_http::decompression::DecompressionLayer::new())
            .layer($crate::calls::endpoint($base))
            .service($client)
    };
}
pub(crate) use stack;

pub(crate) fn cases() -> Vec<Case> {
    let provider = Provider::whole();
    let send = plain(PATH, ASKED);
    macro_rules! layer {
        ($name:literal, $layer:expr) => {
            calls(concat!("call: ", $name), $layer.layer(provider.clone()), send.clone())
        };
    }
    let target = Target::new(target(), stack!(provider.clone(), BASE));
    vec![
        calls("call: the bare service", provider.clone(), send.clone()),
        layer!("IdempotencyLayer", IdempotencyLayer::new()),
        layer!("RetryLayer", RetryLayer::new()),
        layer!("RetryLayer with a budget", retry()),
        layer!("CircuitBreakerLayer, closed", CircuitBreakerLayer::new(CircuitBreaker::new("cost"))),
        layer!("ConcurrencyLayer", ConcurrencyLayer::new(ConcurrencyLimit::new(8))),
        layer!("AttemptLayer", AttemptLayer::new(super::memory::target(), Arc::new(()))),
        layer!("JudgeLayer", JudgeLayer::new(Kind::OpenAi)),
        layer!("TimeoutLayer", TimeoutLayer::new(clocks())),
        layer!("DeadlineLayer", DeadlineLayer::after(Duration::from_secs(60))),
        layer!("BodyLimitLayer", BodyLimitLayer::new().response(16 << 20)),
        layer!("EndpointLayer", endpoint(BASE)),
        layer!("tower-http's DecompressionLayer", DecompressionLayer::new()),
        calls("call: a routed request, the bare service", provider.clone(), routed(ASKED)),
        calls("call: a target's stack", stack!(provider.clone(), BASE), routed(ASKED)),
        calls("call: fallback over it", Fallback::new([target.clone()]), routed(ASKED)),
        calls("call: router and fallback over it", router(target), routed(ASKED)),
    ]
}

pub(crate) fn router(target: Target) -> Router {
    Router::builder()
        .route("gpt-4o", Fallback::new([target.clone()]))
        .route("claude-*", Fallback::new([target.clone()]))
        .route("gpt-*", Fallback::new([target.clone()]))
        .build()
}

pub(crate) fn retry() -> RetryLayer {
    RetryLayer::new().with_budget(Budget::new(0.2, 10.0))
}

/// The gateway's defaults.
pub(crate) fn clocks() -> TimeoutConfig {
    TimeoutConfig::new().with_attempt(Duration::from_secs(120)).with_idle(Duration::from_secs(30))
}

pub(crate) fn endpoint(base: &str) -> EndpointLayer {
    let base = base.parse().expect("a URL");
    let key = ApiKey::new("sk-0123456789abcdef0123456789abcdef").expect("a key");
    EndpointLayer::new(Kind::OpenAi, &base).expect("an absolute URL").with_key(key)
}
