//! When the windows of a rate limit begin anew.

use super::{duration::go_duration, instant, reference_time, value};
use http::HeaderMap;
use std::time::{Duration, SystemTime};

/// How a window tells its reset.
type Form = fn(&str, SystemTime) -> Option<Duration>;

/// Prefix, windows, how the reset is written: `{prefix}remaining{window}`, `{prefix}reset{window}`.
const WINDOWS: [(&str, &[&str], Form); 2] = [
    ("x-ratelimit-", &["-requests", "-tokens"], |value, _| go_duration(value)),
    ("x-ratelimit-", &[""], |value, now| instant::until(instant::epoch(value)?, now)),
];

/// Anthropic's windows, whose names stand in the middle: `anthropic-ratelimit-{window}-reset`.
const ANTHROPIC: [&str; 4] = ["requests", "tokens", "input-tokens", "output-tokens"];

/// The wait until all windows that are used up begin anew: those whose `remaining` is 0 or is not told.
///
/// Such headers come on successes too. They are a hint only where the status is 429; see
/// [`from_reply`](super::from_reply).
pub fn reset(headers: &HeaderMap) -> Option<Duration> {
    reset_at(headers, reference_time(headers))
}

/// [`reset`], measured against `now`: for headers that are quoted in a body.
pub fn reset_at(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let named = WINDOWS.iter().flat_map(|(prefix, windows, form)| {
        windows.iter().filter_map(move |window| {
            used_up(headers, &format!("{prefix}remaining{window}"))
                .then(|| form(value(headers, &format!("{prefix}reset{window}"))?, now))
                .flatten()
        })
    });
    let anthropic = ANTHROPIC.iter().filter_map(|window| {
        used_up(headers, &format!("anthropic-ratelimit-{window}-remaining"))
            .then(|| instant::rfc3339(value(headers, &format!("anthropic-ratelimit-{window}-reset"))?))
            .flatten()
            .and_then(|at| instant::until(at, now))
    });
    named.chain(anthropic).max()
}

/// Whether nothing is left; what cannot be read, such as Azure's `-1`, says nothing, and then neither does the reset.
fn used_up(headers: &HeaderMap, remaining: &str) -> bool {
    match headers.get(remaining) {
        None => true,
        Some(value) => value.to_str().ok().is_some_and(|left| left.trim().parse() == Ok(0_u64)),
    }
}
