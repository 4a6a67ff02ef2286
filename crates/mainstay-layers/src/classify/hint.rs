//! How long a server asks us to wait, in the forms in which servers say it.

use http::HeaderMap;
use std::time::{Duration, SystemTime};

/// No wait is longer than this; a longer one is this.
pub const MAX_WAIT: Duration = Duration::from_secs(86_400);

/// The wait that headers ask for: `retry-after-ms`, then `x-ms-retry-after-ms`, then `Retry-After`.
///
/// Past, zero, negative, NaN and unreadable values are no hint; over a day is a day.
pub fn from_headers(headers: &HeaderMap) -> Option<Duration> {
    for name in ["retry-after-ms", "x-ms-retry-after-ms"] {
        if let Some(wait) = headers.get(name).and_then(|v| v.to_str().ok()).and_then(millis) {
            return Some(wait);
        }
    }
    let value = headers.get(http::header::RETRY_AFTER)?.to_str().ok()?;
    retry_after(value, reference_time(headers))
}

/// `x-should-retry: true | false`; anything else says nothing.
pub fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.as_bytes() {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}

/// The instant that dates in a reply are measured against: its own `Date`, else our clock.
pub fn reference_time(headers: &HeaderMap) -> SystemTime {
    headers
        .get(http::header::DATE)
        .and_then(|v| v.to_str().ok())
        .and_then(|v| httpdate::parse_http_date(v).ok())
        .unwrap_or_else(SystemTime::now)
}

/// `Retry-After` as seconds (int or float) or an HTTP date.
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    seconds(value).or_else(|| {
        let at = httpdate::parse_http_date(value).ok()?;
        clamp(at.duration_since(now).ok()?)
    })
}

/// A decimal number of seconds.
pub fn seconds(value: &str) -> Option<Duration> {
    decimal(value).and_then(from_secs)
}

/// A decimal number of milliseconds.
pub fn millis(value: &str) -> Option<Duration> {
    decimal(value).and_then(|ms| from_secs(ms / 1e3))
}

/// Digits and at most one point: no signs, exponents, `inf` or `nan`.
fn decimal(value: &str) -> Option<f64> {
    let value = value.trim();
    let plain = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    plain.then(|| value.parse().ok()).flatten()
}

fn from_secs(seconds: f64) -> Option<Duration> {
    if !(seconds > 0.0) {
        return None;
    }
    clamp(Duration::from_secs_f64(seconds.min(MAX_WAIT.as_secs_f64())))
}

fn clamp(wait: Duration) -> Option<Duration> {
    (!wait.is_zero()).then(|| wait.min(MAX_WAIT))
}
