//! The four tables, key by key.

use std::time::Duration;

use super::super::settings::{Adaptive, Breaker, Budget, Jitter, Limits, Retry, Safety, Tables, Timeout};
use super::super::units::{show_duration, show_rate, show_size};
use super::quoted;

/// A key and its value as TOML.
pub(super) type Row = (&'static str, String);

/// Every table by its name.
pub(super) fn rows(tables: &Tables) -> [(&'static str, Vec<Row>); 4] {
    [
        ("retry", retry(&tables.retry)),
        ("timeout", timeout(&tables.timeout)),
        ("breaker", breaker(&tables.breaker)),
        ("limits", limits(&tables.limits)),
    ]
}

fn time(value: impl Into<Option<Duration>>) -> String {
    quoted(show_duration(value.into().unwrap_or_default()))
}

fn size(value: impl Into<Option<u64>>) -> String {
    quoted(show_size(value.into().unwrap_or_default()))
}

fn retry(r: &Retry) -> Vec<Row> {
    let Budget { ratio, floor } = r.budget;
    vec![
        ("attempts", r.attempts.to_string()),
        ("base_delay", time(r.base_delay)),
        ("max_delay", time(r.max_delay)),
        ("jitter", quoted(jitter(r.jitter))),
        ("max_wait", time(r.max_wait)),
        ("within", time(r.within)),
        ("safety", quoted(safety(r.safety))),
        ("budget", format!("{{ ratio = {ratio:?}, floor = {} }}", quoted(show_rate(floor)))),
    ]
}

fn timeout(c: &Timeout) -> Vec<Row> {
    vec![
        ("connect", time(c.connect)),
        ("attempt", time(c.attempt)),
        ("idle", time(c.idle)),
        ("first_event", time(c.first_event)),
        ("progress", time(c.progress)),
        ("error_body", time(c.error_body)),
    ]
}

fn breaker(b: &Breaker) -> Vec<Row> {
    vec![
        ("enabled", b.enabled.to_string()),
        ("failures", b.failures.to_string()),
        ("open_for", time(b.open_for)),
        ("probes", b.probes.to_string()),
        ("probe_deadline", time(b.probe_deadline)),
        ("growth", format!("{:?}", b.growth)),
        ("max_open_for", time(b.max_open_for)),
        ("jitter", format!("{:?}", b.jitter)),
        ("failure_rate", format!("{:?}", b.failure_rate.unwrap_or(0.0))),
        ("slow_rate", format!("{:?}", b.slow_rate.unwrap_or(0.0))),
        ("slow_after", time(b.slow_after)),
        ("window", time(b.window)),
        ("min_calls", b.min_calls.to_string()),
    ]
}

fn limits(l: &Limits) -> Vec<Row> {
    let Adaptive { floor, ceiling, slow_after, decrease } = l.adaptive;
    let (ceiling, slow_after) = (ceiling.unwrap_or(0), time(slow_after));
    vec![
        ("response_body", size(l.response_body)),
        ("sse_event", size(l.sse_event)),
        ("stream", size(l.stream)),
        ("concurrency", l.concurrency.unwrap_or(0).to_string()),
        ("bytes_in_flight", size(l.bytes_in_flight.map(u64::from))),
        ("queue_wait", time(l.queue_wait)),
        ("max_waiting", l.max_waiting.to_string()),
        (
            "adaptive",
            format!(
                "{{ floor = {floor}, ceiling = {ceiling}, slow_after = {slow_after}, decrease = {decrease:?} }}"
            ),
        ),
    ]
}

const fn safety(safety: Safety) -> &'static str {
    match safety {
        Safety::Always => "always",
        Safety::UnsentOnly => "unsent_only",
    }
}

const fn jitter(jitter: Jitter) -> &'static str {
    match jitter {
        Jitter::Full => "full",
        Jitter::Equal => "equal",
        Jitter::None => "none",
    }
}
