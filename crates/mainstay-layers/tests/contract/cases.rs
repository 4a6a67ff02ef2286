//! The table of layers.

use crate::under::{Stack, Under, erase};
use http::StatusCode;
use mainstay_layers::{
    breaker::{CircuitBreaker, CircuitBreakerLayer},
    concurrency::{ConcurrencyLayer, ConcurrencyLimit},
    deadline::DeadlineLayer,
    fault::{Fault, FaultLayer},
    grpc::{GrpcCallLayer, GrpcTryLayer},
    limit::BodyLimitLayer,
    retry::{IdempotencyLayer, Jitter, RetryLayer},
    timeout::{TimeoutConfig, TimeoutLayer},
};
use mainstay_testkit::memory::{Probe, ServiceProbe};
use std::time::Duration;
use tower::{Layer, ServiceBuilder};

pub(crate) struct Case {
    pub(crate) name: &'static str,
    build: fn(ServiceProbe<Under>) -> Stack,
}

impl Case {
    pub(crate) fn over(&self, under: Under) -> (Stack, Probe) {
        let (service, probe) = ServiceProbe::new(under);
        ((self.build)(service), probe)
    }
}

const MINUTE: Duration = Duration::from_secs(60);

pub(crate) fn retry() -> RetryLayer {
    RetryLayer::new().with_base_delay(Duration::from_secs(1)).with_jitter(Jitter::None)
}

fn clocks() -> TimeoutConfig {
    TimeoutConfig::new().with_attempt(MINUTE).with_idle(MINUTE).with_first_event(MINUTE).with_progress(MINUTE)
}

/// Every layer, at its tightest: one permit, a circuit that a few failures open.
pub(crate) const ALL: &[Case] = &[
    Case { name: "retry", build: |s| erase(retry().layer(s)) },
    Case { name: "idempotency", build: |s| erase(IdempotencyLayer::new().layer(s)) },
    Case { name: "breaker", build: |s| erase(CircuitBreakerLayer::new(CircuitBreaker::new("a")).layer(s)) },
    Case { name: "concurrency", build: |s| erase(ConcurrencyLayer::new(ConcurrencyLimit::new(1)).layer(s)) },
    Case { name: "timeout", build: |s| erase(TimeoutLayer::new(clocks()).layer(s)) },
    Case { name: "timeout, all off", build: |s| erase(TimeoutLayer::default().layer(s)) },
    Case { name: "deadline", build: |s| erase(DeadlineLayer::after(MINUTE).layer(s)) },
    Case {
        name: "limit",
        build: |s| erase(BodyLimitLayer::new().request(99).response(99).stream(99).layer(s)),
    },
    Case { name: "limit, off", build: |s| erase(BodyLimitLayer::new().layer(s)) },
    Case { name: "fault, passing", build: |s| erase(FaultLayer::script([Fault::pass()]).layer(s)) },
    Case {
        name: "fault, by chance",
        build: |s| erase(FaultLayer::chance(1, [(0.0, Fault::status(StatusCode::IM_A_TEAPOT))]).layer(s)),
    },
    Case { name: "grpc call", build: |s| erase(GrpcCallLayer::new().with_deadline(MINUTE).layer(s)) },
    Case { name: "grpc try", build: |s| erase(GrpcTryLayer::new().layer(s)) },
    Case { name: "all together", build: together },
];

fn together(service: ServiceProbe<Under>) -> Stack {
    let stack = ServiceBuilder::new()
        .layer(GrpcCallLayer::new().with_deadline(MINUTE))
        .layer(DeadlineLayer::after(MINUTE))
        .layer(IdempotencyLayer::new())
        .layer(retry())
        .layer(GrpcTryLayer::new())
        .layer(CircuitBreakerLayer::new(CircuitBreaker::new("a")))
        .layer(ConcurrencyLayer::new(ConcurrencyLimit::new(1)))
        .layer(TimeoutLayer::new(clocks()))
        .layer(BodyLimitLayer::new().request(99).response(99).stream(99))
        .layer(FaultLayer::script([Fault::pass()]))
        .service(service);
    erase(stack)
}
