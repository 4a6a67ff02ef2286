//! Every default, as it is promised; and that a provider overrides key by key.

use std::time::Duration;

use super::super::Proxy;
use super::super::settings::{
    Failover, Jitter, Protocol, Recovery, Retry, Safety, Strategy, Translation, WhenExhausted,
};
use super::{good, with};
use mainstay::provider::Kind;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn of_the_server() {
    let server = good(&with("")).server;
    assert_eq!(server.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(server.workers, None);
    assert_eq!(server.max_request_body, 32 * 1024 * 1024);
    assert_eq!(server.drain, s(30));
    assert_eq!(server.deadline, None);
    assert_eq!((server.upload_idle, server.write_idle), (s(30), s(60)));
    assert_eq!(server.keepalive, None);
    assert_eq!(server.header_timeout, s(30));
    assert_eq!(server.max_connections, 4096);
    assert_eq!(server.max_headers, 100);
}

#[test]
fn of_a_provider() {
    let config = good(&with(""));
    let provider = config.provider("a").unwrap();
    assert_eq!(provider.kind, Kind::OpenAi);
    assert_eq!(provider.base_url.as_str(), "https://api.openai.com/v1");
    assert!(provider.api_key.is_none());
    assert!(provider.headers.is_empty());
    assert!(provider.models.is_empty());
    assert_eq!(provider.default_max_tokens, 8192);
    assert_eq!(provider.ca_file, None);
    assert!(!provider.native_roots);
    assert_eq!(provider.protocol, Protocol::Auto);
    assert_eq!(provider.h2_connections, 4);
    assert!(matches!(provider.proxy, Proxy::Env));
}

#[test]
fn of_retry_and_its_budget() {
    let retry = good(&with("")).provider("a").unwrap().retry.clone();
    assert_eq!(retry.attempts, 3);
    assert_eq!(retry.base_delay, s(1));
    assert_eq!(retry.max_delay, s(30));
    assert_eq!(retry.jitter, Jitter::Full);
    assert_eq!(retry.max_wait, s(60));
    assert_eq!(retry.within, Some(s(300)));
    assert_eq!(retry.safety, Safety::Always);
    assert_eq!((retry.budget.ratio, retry.budget.floor), (0.2, 10.0));
}

#[test]
fn of_the_clocks() {
    let timeout = good(&with("")).provider("a").unwrap().timeout.clone();
    assert_eq!(timeout.connect, s(5));
    assert_eq!(timeout.attempt, Some(s(120)));
    assert_eq!(timeout.idle, Some(s(30)));
    assert_eq!(timeout.first_event, None);
    assert_eq!(timeout.progress, None);
    assert_eq!(timeout.error_body, s(5));
}

#[test]
fn of_the_circuit() {
    let breaker = good(&with("")).provider("a").unwrap().breaker.clone();
    assert!(breaker.enabled);
    assert_eq!((breaker.failures, breaker.open_for, breaker.probes), (5, s(30), 5));
    assert_eq!((breaker.growth, breaker.max_open_for, breaker.jitter), (1.0, s(300), 0.0));
    assert_eq!((breaker.failure_rate, breaker.slow_rate, breaker.slow_after), (None, None, s(30)));
    assert_eq!((breaker.window, breaker.min_calls), (s(60), 10));
    assert_eq!(breaker.probe_deadline, s(60));
}

#[test]
fn of_the_limits() {
    let limits = good(&with("")).provider("a").unwrap().limits.clone();
    assert_eq!(limits.response_body, 16 * 1024 * 1024);
    assert_eq!(limits.sse_event, 8 * 1024 * 1024);
    assert_eq!(limits.stream, None);
    assert_eq!((limits.concurrency, limits.bytes_in_flight), (None, None));
    assert_eq!((limits.queue_wait, limits.max_waiting), (s(1), 1024));
    let adaptive = &limits.adaptive;
    assert_eq!((adaptive.floor, adaptive.ceiling, adaptive.slow_after), (1, None, None));
    assert!((adaptive.decrease - 0.7).abs() < f64::EPSILON);
}

#[test]
fn of_a_route() {
    let config = good(&with(""));
    let [route] = config.routes.as_slice() else { panic!("one route") };
    assert_eq!(route.strategy, Strategy::Order);
    assert_eq!(route.recovery, Recovery::Off);
    assert_eq!(route.failover, Failover::AfterRetries);
    assert_eq!((&route.sticky, route.hedge, route.cache), (&None, None, None));
    assert_eq!((route.when_exhausted, route.max_wait), (WhenExhausted::Fail, s(60)));
    assert_eq!(route.translation, Translation::Strict);
    assert_eq!((route.targets[0].weight, route.line), (1, 1));
}

#[test]
fn a_provider_overrides_the_defaults_key_by_key() {
    let text = "
[defaults.retry]
attempts = 7
base_delay = \"2s\"
budget = { ratio = 0.5 }
[defaults.limits]
concurrency = 4
[providers.a]
kind = \"openai\"
[providers.a.retry]
base_delay = \"3s\"
[providers.a.retry.budget]
floor = \"1/s\"
[providers.a.limits]
concurrency = 0
[providers.b]
kind = \"openai\"
";
    let config = good(text);
    let (a, b) = (config.provider("a").unwrap(), config.provider("b").unwrap());
    assert_eq!((a.retry.attempts, a.retry.base_delay, a.retry.max_delay), (7, s(3), s(30)));
    assert_eq!((a.retry.budget.ratio, a.retry.budget.floor), (0.5, 1.0));
    assert_eq!(a.limits.concurrency, None);
    assert_eq!((b.retry.attempts, b.retry.base_delay), (7, s(2)));
    assert_eq!((b.retry.budget.ratio, b.retry.budget.floor), (0.5, 10.0));
    assert_eq!(b.limits.concurrency, Some(4));
    assert_eq!(a.timeout, b.timeout);
    assert_ne!(a.retry, Retry::default());
}

#[test]
fn zero_switches_off_what_can_be_switched_off() {
    let text = "
[server]
deadline = 0
keepalive = \"0s\"
drain = \"0s\"
[providers.a]
kind = \"openai\"
timeout = { attempt = \"0s\", idle = 0, first_event = \"0\", progress = \"0ms\" }
retry = { within = \"0s\", max_wait = \"0s\", base_delay = \"0s\", max_delay = \"0s\" }
breaker = { enabled = false, growth = 1, failure_rate = 0, slow_rate = 0.0 }
limits = { stream = 0, concurrency = 0, queue_wait = \"0s\" }
";
    let config = good(text);
    let a = config.provider("a").unwrap();
    assert_eq!((config.server.deadline, config.server.keepalive), (None, None));
    assert_eq!(config.server.drain, Duration::ZERO);
    assert_eq!(
        (a.timeout.attempt, a.timeout.idle, a.timeout.first_event, a.timeout.progress),
        (None, None, None, None)
    );
    assert_eq!(
        (a.retry.within, a.retry.max_wait, a.retry.base_delay),
        (None, Duration::ZERO, Duration::ZERO)
    );
    assert!(!a.breaker.enabled);
    assert_eq!((a.breaker.failure_rate, a.breaker.slow_rate), (None, None));
    assert_eq!((a.limits.stream, a.limits.concurrency, a.limits.queue_wait), (None, None, Duration::ZERO));
}
