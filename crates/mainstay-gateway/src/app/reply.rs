//! The head of a reply: what of a provider's headers goes to the caller.

use crate::cost::Usd;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use mainstay::route::Served;

/// What of a provider's headers is handed on: request ids, rate limits, hints, and the API's own. Never a cookie.
fn is_handed_on(name: &HeaderName) -> bool {
    let name = name.as_str();
    const EXACT: [&str; 7] = [
        "x-request-id",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "x-should-retry",
        "apim-request-id",
        "content-disposition",
    ];
    const PREFIXES: [&str; 4] = ["x-ratelimit-", "openai-", "anthropic-", "ratelimit-"];
    EXACT.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Copies what may be handed on.
pub(super) fn hand_on(from: &HeaderMap, to: &mut HeaderMap) {
    for (name, value) in from {
        if is_handed_on(name) && !to.contains_key(name) {
            to.append(name.clone(), value.clone());
        }
    }
}

/// Says what an answer cost.
pub(super) fn put_cost(headers: &mut HeaderMap, cost: Usd) {
    if let Ok(value) = HeaderValue::from_str(&cost.to_string()) {
        headers.insert("x-mainstay-cost", value);
    }
}

/// The headers of an answer.
pub(super) fn answer(from: &HeaderMap, served: Option<&Served>, stream: bool) -> HeaderMap {
    let mut to = HeaderMap::with_capacity(from.len() + 6);
    if let Some(kind) = from.get(header::CONTENT_TYPE) {
        to.insert(header::CONTENT_TYPE, kind.clone());
    }
    hand_on(from, &mut to);
    if stream {
        // Nobody on the way is to hold a stream back or to keep it.
        to.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        to.insert("x-accel-buffering", HeaderValue::from_static("no"));
    }
    if let Some(served) = served {
        for (name, value) in
            [("x-mainstay-provider", &*served.target.provider), ("x-mainstay-model", &*served.model)]
        {
            if let Ok(value) = HeaderValue::from_str(value) {
                to.insert(name, value);
            }
        }
        to.insert("x-mainstay-attempts", served.tries.into());
    }
    to
}
