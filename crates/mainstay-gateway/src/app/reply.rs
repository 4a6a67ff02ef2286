//! The head of a reply: what of a provider's headers goes to the caller.
//!
//! An allow-list: content type, request ids, rate limits, hints for retries, and the API's own (`openai-*`, `anthropic-*`). Never
//! a cookie, a redirect's target, or anything of the hop.
//!
//! `x-request-id` is the gateway's: the caller's own or a new one, the same at the provider, in the reply and in the log. What the
//! provider calls the request goes by its own name where it has one (`request-id`, `apim-request-id`), else in
//! `x-mainstay-provider-request-id`; the log has it as `their_id`.

use super::id::X_REQUEST_ID;
use crate::cost::Usd;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use mainstay::{
    dialect::ErrorFamily,
    route::{Cached, Served},
    secret::Redactor,
};

// Parsed once.
static REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
static APIM_REQUEST_ID: HeaderName = HeaderName::from_static("apim-request-id");
static PROVIDER_REQUEST_ID: HeaderName = HeaderName::from_static("x-mainstay-provider-request-id");
static PROVIDER: HeaderName = HeaderName::from_static("x-mainstay-provider");
static MODEL: HeaderName = HeaderName::from_static("x-mainstay-model");
static ATTEMPTS: HeaderName = HeaderName::from_static("x-mainstay-attempts");
static COST: HeaderName = HeaderName::from_static("x-mainstay-cost");

/// What of a provider's headers is handed on: request ids, rate limits, hints, and the API's own. Never a cookie.
fn is_handed_on(name: &HeaderName) -> bool {
    const PREFIXES: [&str; 4] = ["x-ratelimit-", "openai-", "anthropic-", "ratelimit-"];
    match name.as_str() {
        "x-request-id"
        | "request-id"
        | "retry-after"
        | "retry-after-ms"
        | "x-should-retry"
        | "apim-request-id"
        | "content-disposition"
        | "x-mainstay-dropped" => true,
        name => PREFIXES.iter().any(|prefix| name.starts_with(prefix)),
    }
}

/// The provider's own id of a request, under whichever name it has one; `None` too where no log line should hold it. A copy:
/// a header is a slice of the buffer that its connection reads into, and would keep all of that for as long as the call lasts.
pub(super) fn provider_id(headers: &HeaderMap, redactor: &Redactor) -> Option<HeaderValue> {
    let names = [&X_REQUEST_ID, &REQUEST_ID, &APIM_REQUEST_ID];
    let id = names.into_iter().find_map(|name| headers.get(name)).filter(|id| super::id::is_usable(id))?;
    if redactor.finds(id.as_bytes()) {
        return None;
    }
    HeaderValue::from_bytes(id.as_bytes()).ok()
}

/// Puts our own id of a request on its reply. A provider that names its own in the same header has it kept beside ours.
pub(super) fn put_id(headers: &mut HeaderMap, id: &HeaderValue, family: ErrorFamily) {
    if let Some(theirs) = headers.insert(&X_REQUEST_ID, id.clone()) {
        if theirs != *id {
            headers.insert(&PROVIDER_REQUEST_ID, theirs);
        }
    }
    // What Anthropic's SDKs read; the provider's own is left in place.
    if family == ErrorFamily::Anthropic {
        headers.entry(&REQUEST_ID).or_insert_with(|| id.clone());
    }
}

/// Copies what may be handed on. A header in which a provider repeats a key is not.
pub(super) fn hand_on(from: &HeaderMap, to: &mut HeaderMap, redactor: &Redactor) {
    for (name, value) in from {
        if is_handed_on(name) && !to.contains_key(name) && !redactor.finds(value.as_bytes()) {
            to.append(name.clone(), value.clone());
        }
    }
}

/// Says what an answer cost.
pub(super) fn put_cost(headers: &mut HeaderMap, cost: Usd) {
    if let Ok(value) = HeaderValue::from_str(&cost.to_string()) {
        headers.insert(&COST, value);
    }
}

/// Why a kept answer was given.
pub(super) const fn how_kept(cached: &Cached) -> &'static str {
    if cached.stale { "stale" } else { "hit" }
}

/// The headers of an answer.
pub(super) fn answer(
    from: &HeaderMap,
    served: Option<&Served>,
    cached: Option<&Cached>,
    stream: bool,
    redactor: &Redactor,
) -> HeaderMap {
    let mut to = HeaderMap::with_capacity(from.len() + 6);
    if let Some(kind) = from.get(header::CONTENT_TYPE) {
        to.insert(header::CONTENT_TYPE, kind.clone());
    }
    hand_on(from, &mut to, redactor);
    if stream {
        // Nobody on the way is to hold a stream back or to keep it.
        to.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        to.insert("x-accel-buffering", HeaderValue::from_static("no"));
    }
    if let Some(served) = served {
        for (name, value) in [(&PROVIDER, &*served.target.provider), (&MODEL, &*served.model)] {
            if let Ok(value) = HeaderValue::from_str(value) {
                to.insert(name, value);
            }
        }
        to.insert(&ATTEMPTS, served.tries.into());
    }
    if let Some(cached) = cached {
        to.insert("x-mainstay-cache", HeaderValue::from_static(how_kept(cached)));
        to.insert(header::AGE, cached.age.as_secs().into());
    }
    to
}

/// Whether these are the headers of a stream of events.
pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    const EVENTS: &str = "text/event-stream";
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .and_then(|kind| kind.trim_start().get(..EVENTS.len()))
        .is_some_and(|kind| kind.eq_ignore_ascii_case(EVENTS))
}
