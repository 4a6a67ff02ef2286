//! The head of a request to a provider, built from an allow-list.

use super::EndpointLayer;
use crate::provider::{Auth, Native};
use crate::secret::ApiKey;
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// What every provider may see.
const COMMON: [&str; 8] = [
    "content-type",
    "accept",
    "accept-encoding",
    "user-agent",
    "idempotency-key",
    "x-request-id",
    "traceparent",
    "tracestate",
];

/// Who we say we are where the caller does not say it.
const USER_AGENT: &str = concat!("mainstay/", env!("CARGO_PKG_VERSION"));

/// The credential that a caller sent, in whatever form: `Authorization: Bearer`, `x-api-key`, `api-key` or
/// `x-goog-api-key`.
pub fn caller_key(headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim).filter(|key| !key.is_empty());
    let bearer = text("authorization").and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    bearer.or_else(|| text("x-api-key")).or_else(|| text("api-key")).or_else(|| text("x-goog-api-key"))
}

/// The headers that go to a provider, and nothing else.
pub(super) fn rebuild(from: &HeaderMap, endpoint: &EndpointLayer) -> HeaderMap {
    let profile = endpoint.kind.profile();
    let mut to = HeaderMap::with_capacity(from.len().min(32) + 4);
    for (name, value) in from {
        let allowed = COMMON.contains(&name.as_str())
            || name.as_str().starts_with("x-stainless-")
            || family(profile.native, name.as_str());
        let refused = name == "idempotency-key" && !profile.idempotency_key;
        if allowed && !refused {
            to.append(name.clone(), value.clone());
        }
    }
    to.entry(header::USER_AGENT).or_insert(HeaderValue::from_static(USER_AGENT));
    for (name, value) in profile.headers {
        to.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    if let Some(value) = credential(from, endpoint) {
        to.insert(HeaderName::from_static(profile.auth.header()), value);
    }
    for (name, value) in endpoint.headers.iter() {
        to.insert(name.clone(), value.clone());
    }
    to
}

/// What only one family of APIs knows.
fn family(native: Native, name: &str) -> bool {
    match native {
        Native::OpenAi => name.starts_with("openai-") || matches!(name, "http-referer" | "x-title"),
        Native::Anthropic => name.starts_with("anthropic-"),
        Native::Gemini => matches!(name, "x-goog-api-client" | "x-goog-user-project"),
    }
}

/// The provider's own key, or else the caller's in the provider's form.
fn credential(from: &HeaderMap, endpoint: &EndpointLayer) -> Option<HeaderValue> {
    let prefix = match endpoint.kind.profile().auth {
        Auth::Bearer => "Bearer ",
        Auth::Header(_) => "",
    };
    match &endpoint.key {
        Some(key) => key.header(prefix),
        None => ApiKey::new(caller_key(from)?)?.header(prefix),
    }
}
