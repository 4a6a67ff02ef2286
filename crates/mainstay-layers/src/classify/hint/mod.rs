//! How long a server asks us to wait, in the forms in which servers say it.
//!
//! | hint | form | said by | source |
//! | --- | --- | --- | --- |
//! | `retry-after-ms` | milliseconds, int or float | OpenAI, Azure | openai-python `_base_client.py` |
//! | `x-ms-retry-after-ms` | milliseconds | Azure | Azure SDKs |
//! | `Retry-After` | seconds, int or float, or an HTTP date | nearly all | RFC 9110 §10.2.3, §5.6.7 |
//! | `x-amz-retry-after` | **milliseconds** | AWS | botocore `retries/standard.py` |
//! | `grpc-retry-pushback-ms` | milliseconds, signed | gRPC | gRFC A6; see [`pushback`] |
//! | `RetryInfo.retry_delay` | protobuf duration in JSON, `34s`, `41.5s` | Google | google/rpc/error_details.proto; see [`proto_duration`] |
//! | `x-ratelimit-reset-requests`, `-tokens` | Go duration, `6m0s`, `120ms` | OpenAI, Groq | OpenAI "rate limits"; see [`reset`] |
//! | `anthropic-ratelimit-*-reset` | instant, RFC 3339 | Anthropic | Claude API "rate limits"; see [`reset`] |
//! | `X-RateLimit-Reset` | epoch, seconds or milliseconds | Cohere's SDK; OpenRouter | cohere-python `core/http_client.py`; see [`reset`] |
//! | words in a message | `Please try again in 6.57s` | all | see [`from_text`] |
//!
//! That is the order of precedence: what is made to be a hint goes before what tells the state of a rate limit, and
//! that before words for people. Hints that stand in a body are read by whoever reads that body, with the parsers here.
//!
//! Zero, past, negative, not a number or unreadable: no hint, and the next one is looked at. Over a day is a day
//! ([`MAX_WAIT`]), however many digits it has. Fractions are rounded **up** to milliseconds, so that a wait is never cut
//! short. Instants are measured against the reply's own `Date` where it has one: its clock made both.
//!
//! ```
//! use http::{HeaderMap, StatusCode};
//! use mainstay_layers::classify::hint;
//! use std::time::Duration;
//!
//! let mut headers = HeaderMap::new();
//! headers.insert("x-ratelimit-remaining-tokens", "0".parse().unwrap());
//! headers.insert("x-ratelimit-reset-tokens", "50.529s".parse().unwrap());
//! let wait = hint::from_reply(StatusCode::TOO_MANY_REQUESTS, &headers);
//! assert_eq!(wait, Some(Duration::from_millis(50_529)));
//! // The same headers on a success, or on another failure, tell a state and ask for nothing.
//! assert_eq!(hint::from_reply(StatusCode::BAD_REQUEST, &headers), None);
//! ```

mod duration;
mod instant;
mod pushback;
mod reset;
mod text;

#[cfg(test)]
mod tests;

pub use self::duration::{go_duration, millis, proto_duration, seconds};
pub use self::instant::{epoch, http_date, rfc3339, until};
pub use self::pushback::{Pushback, pushback};
pub use self::reset::{reset, reset_at};
pub use self::text::from_text;

use http::{HeaderMap, StatusCode};
use std::time::{Duration, SystemTime};

/// No wait is longer than this; a longer one is this.
pub const MAX_WAIT: Duration = Duration::from_secs(86_400);

/// The wait that a failed reply asks for: [`from_headers`], and where that is silent and the status is 429, [`reset`].
pub fn from_reply(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    from_headers(headers)
        .or_else(|| (status == StatusCode::TOO_MANY_REQUESTS).then(|| reset(headers)).flatten())
}

/// The wait that headers ask for outright: `retry-after-ms`, `x-ms-retry-after-ms`, `Retry-After`, `x-amz-retry-after`,
/// in that order.
pub fn from_headers(headers: &HeaderMap) -> Option<Duration> {
    from_headers_at(headers, reference_time(headers))
}

/// [`from_headers`], with dates measured against `now`: for headers that are quoted in a body.
pub fn from_headers_at(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let of = |name: &str| value(headers, name);
    of("retry-after-ms")
        .and_then(millis)
        .or_else(|| of("x-ms-retry-after-ms").and_then(millis))
        .or_else(|| of("retry-after").and_then(|value| retry_after(value, now)))
        .or_else(|| of("x-amz-retry-after").and_then(millis))
}

/// `x-should-retry: true | false` (OpenAI's and Anthropic's SDKs obey it); anything else says nothing.
pub fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.as_bytes() {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}

/// The instant that dates in a reply are measured against: its own `Date`, else our clock.
pub fn reference_time(headers: &HeaderMap) -> SystemTime {
    value(headers, "date").and_then(http_date).unwrap_or_else(SystemTime::now)
}

/// `Retry-After` as seconds (int or float) or an HTTP date (RFC 9110 §10.2.3).
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    seconds(value).or_else(|| until(http_date(value)?, now))
}

fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
