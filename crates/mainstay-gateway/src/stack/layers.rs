//! From the four tables of a target to the layers of its stack.

use crate::config::settings;
use http::request::Parts;
use http_body::SizeHint;
use mainstay::{
    judge::JudgeConfig,
    layers::{
        breaker::{self, CircuitBreaker},
        concurrency::{self, ConcurrencyLimit},
        limit::BodyLimitLayer,
        retry::{Jitter, RetryLayer, RetrySafety},
        timeout::TimeoutConfig,
    },
    route::TargetName,
};
use std::time::Duration;

/// Without its budget, which is the provider's.
pub(super) fn retry(settings: &settings::Retry) -> RetryLayer {
    RetryLayer::new()
        .with_attempts(settings.attempts)
        .with_base_delay(settings.base_delay)
        .with_max_delay(settings.max_delay)
        .with_jitter(match settings.jitter {
            settings::Jitter::Full => Jitter::Full,
            settings::Jitter::Equal => Jitter::Equal,
            settings::Jitter::None => Jitter::None,
        })
        .with_max_wait(settings.max_wait)
        .with_within(settings.within)
        .with_safety(match settings.safety {
            settings::Safety::Always => RetrySafety::Always,
            settings::Safety::UnsentOnly => RetrySafety::UnsentOnly,
        })
}

/// What a retry takes from the budget: one, and one more for each MiB of the request, so that dear calls are not repeated
/// blindly. At most four, or a budget that is cold would never pay for one.
pub(super) fn cost(_: &Parts, size: &SizeHint) -> f64 {
    const MIB: f64 = 1_048_576.0;
    (1.0 + size.lower() as f64 / MIB).min(4.0)
}

pub(super) fn judge(tables: &settings::Tables) -> JudgeConfig {
    let limits = &tables.limits;
    // An event of a stream is never larger than a whole reply may be.
    let event = limits.sse_event.min(limits.response_body);
    let mut config = JudgeConfig::default();
    config.error_body = tables.timeout.error_body;
    config.max_event = usize::try_from(event).unwrap_or(usize::MAX);
    config
}

pub(super) fn timeout(clocks: &settings::Timeout) -> TimeoutConfig {
    let on = |clock: Option<Duration>| clock.unwrap_or(Duration::ZERO);
    TimeoutConfig::new()
        .with_attempt(on(clocks.attempt))
        .with_idle(on(clocks.idle))
        .with_first_event(on(clocks.first_event))
        .with_progress(on(clocks.progress))
}

pub(super) fn limit(limits: &settings::Limits) -> BodyLimitLayer {
    let layer = BodyLimitLayer::new().response(limits.response_body);
    match limits.stream {
        Some(stream) => layer.stream(stream),
        None => layer,
    }
}

/// Without a limit it counts, and lets everyone through.
pub(super) fn places(limits: &settings::Limits) -> ConcurrencyLimit {
    let mut places = concurrency::Config::new(limits.places().unwrap_or(usize::MAX))
        .with_queue_wait(limits.queue_wait)
        .with_max_waiting(limits.max_waiting);
    if let Some(bytes) = limits.bytes_in_flight {
        places = places.with_request_bytes(bytes);
    }
    let settings::Adaptive { floor, ceiling, slow_after, decrease } = limits.adaptive;
    if let Some(ceiling) = ceiling {
        let mut adaptive = concurrency::Adaptive::new(floor, ceiling).with_decrease(decrease);
        if let Some(slow_after) = slow_after {
            adaptive = adaptive.with_slow_after(slow_after);
        }
        places = places.with_adaptive(adaptive);
    }
    places.build()
}

pub(super) fn circuit(settings: &settings::Breaker, name: &TargetName) -> CircuitBreaker {
    // Without a circuit: one that never opens.
    let failures = if settings.enabled { settings.failures } else { u32::MAX };
    let mut config = breaker::Config::new()
        .with_failures(failures)
        .with_open_for(settings.open_for)
        .with_probes(settings.probes)
        .with_probe_deadline(settings.probe_deadline)
        .with_jitter(settings.jitter)
        .with_window(settings.window, settings.min_calls);
    if let (true, Some(rate)) = (settings.enabled, settings.failure_rate) {
        config = config.with_failure_rate(rate);
    }
    if let (true, Some(rate)) = (settings.enabled, settings.slow_rate) {
        config = config.with_slow_rate(rate, settings.slow_after);
    }
    if settings.growth > 1.0 {
        config = config.with_growth(settings.growth, settings.max_open_for);
    }
    config.build(name.to_string()).unwrap_or_else(|error| {
        // The configuration has refused what could get here.
        tracing::error!(%error, target = %name, "the circuit breaker has its defaults");
        CircuitBreaker::new(name.to_string())
    })
}
