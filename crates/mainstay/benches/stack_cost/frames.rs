//! What a frame of a stream costs, and a stream that is open.

use super::{
    calls::{clocks, retry, router, stack},
    guarded::guard,
    measure::{Case, streams},
    memory::{ASKED_STREAM, Provider, plain, routed, target},
};
use mainstay::{
    judge::JudgeLayer,
    layers::{
        breaker::{CircuitBreaker, CircuitBreakerLayer},
        concurrency::{ConcurrencyLayer, ConcurrencyLimit},
        limit::BodyLimitLayer,
        timeout::TimeoutLayer,
    },
    provider::Kind,
    route::{AttemptLayer, Target},
};
use std::sync::Arc;
use tower::{Layer, ServiceBuilder};
use tower_http::decompression::DecompressionLayer;

const PATH: &str = "/v1/chat/completions";
const BASE: &str = "http://localhost:1/v1";

pub(crate) fn cases() -> Vec<Case> {
    [false, true].into_iter().flat_map(of).collect()
}

fn of(late: bool) -> Vec<Case> {
    let group = if late { "late frame" } else { "frame" };
    let provider = Provider::stream(late);
    let send = plain(PATH, ASKED_STREAM);
    macro_rules! layer {
        ($name:literal, $layer:expr) => {
            streams(&format!("{group}: {}", $name), $layer.layer(provider.clone()), send.clone())
        };
    }
    let mut cases = vec![
        streams(&format!("{group}: the bare service"), provider.clone(), send.clone()),
        layer!("TimeoutLayer", TimeoutLayer::new(clocks())),
        // What reads and bounds a stream; the other layers only hear of its end.
        layer!(
            "JudgeLayer, TimeoutLayer, BodyLimitLayer",
            ServiceBuilder::new()
                .layer(JudgeLayer::new(Kind::OpenAi))
                .layer(TimeoutLayer::new(clocks()))
                .layer(BodyLimitLayer::new().stream(1 << 30))
                .into_inner()
        ),
    ];
    if !late {
        // The others have no clock: for them a frame that is late is one that is there.
        cases.extend([
            layer!("a guard in the body, alone", guard()),
            layer!("RetryLayer", retry()),
            layer!("CircuitBreakerLayer, closed", CircuitBreakerLayer::new(CircuitBreaker::new("cost"))),
            layer!("ConcurrencyLayer", ConcurrencyLayer::new(ConcurrencyLimit::new(8))),
            layer!("AttemptLayer", AttemptLayer::new(target(), Arc::new(()))),
            layer!("JudgeLayer", JudgeLayer::new(Kind::OpenAi)),
            layer!("BodyLimitLayer", BodyLimitLayer::new().stream(1 << 30)),
            layer!("tower-http's DecompressionLayer", DecompressionLayer::new()),
        ]);
    }
    let target = Target::new(target(), stack!(provider.clone(), BASE));
    cases.extend([
        streams(&format!("{group}: a target's stack"), stack!(provider.clone(), BASE), routed(ASKED_STREAM)),
        streams(&format!("{group}: router and fallback over it"), router(target), routed(ASKED_STREAM)),
    ]);
    cases
}
