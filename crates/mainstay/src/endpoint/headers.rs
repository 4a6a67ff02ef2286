//! The head of a request to a provider, built from an allow-list.

use super::settings::Settings;
use crate::provider::{Auth, Kind, Native, Profile};
use crate::secret::ApiKey;
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Who we say we are where the caller does not say it.
const USER_AGENT: &str = concat!("mainstay/", env!("CARGO_PKG_VERSION"));

/// The header in which gateways count how many of them a call has passed, so that two that have each other as a provider
/// notice. It goes on to every provider: whether that is a gateway too nobody knows, and others ignore it.
pub const HOPS: &str = "x-mainstay-hops";

/// The credential that a caller sent, in whatever form: `Authorization: Bearer`, `x-api-key`, `api-key` or
/// `x-goog-api-key`.
pub fn caller_key(headers: &HeaderMap) -> Option<&str> {
    fn text(value: Option<&HeaderValue>) -> Option<&str> {
        value?.to_str().ok().map(str::trim).filter(|key| !key.is_empty())
    }
    let bearer = text(headers.get(header::AUTHORIZATION)).and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    let named = |name: &str| text(headers.get(name));
    bearer.or_else(|| named("x-api-key")).or_else(|| named("api-key")).or_else(|| named("x-goog-api-key"))
}

/// Leaves of a caller's headers those that go to a provider, and adds the provider's own.
///
/// In place: most of what an SDK sends goes on, so taking away the few that do not costs less than a new map.
pub(super) fn rebuild(headers: &mut HeaderMap, endpoint: &Settings) {
    let profile = endpoint.kind.profile();
    // Read while what it may be read from is there.
    let credential = credential(headers, endpoint);
    let others: Vec<HeaderName> =
        headers.keys().filter(|name| !goes_on(name.as_str(), profile)).cloned().collect();
    for name in others {
        headers.remove(name);
    }
    headers.entry(header::USER_AGENT).or_insert(HeaderValue::from_static(USER_AGENT));
    for (name, value) in profile.headers {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    if let Some(value) = credential {
        headers.insert(HeaderName::from_static(profile.auth.header()), value);
    }
    for (name, value) in &endpoint.headers {
        headers.insert(name.clone(), value.clone());
    }
}

/// Whether a header of the caller's may reach a provider.
fn goes_on(name: &str, profile: &Profile) -> bool {
    match name {
        // What every provider may see.
        "content-type" | "accept" | "accept-encoding" | "user-agent" | "x-request-id" | "traceparent"
        | "tracestate" | HOPS => true,
        "idempotency-key" => profile.idempotency_key,
        _ => name.starts_with("x-stainless-") || family(profile.native, name),
    }
}

/// What only one family of APIs knows.
fn family(native: Native, name: &str) -> bool {
    match native {
        Native::OpenAi => name.starts_with("openai-") || matches!(name, "http-referer" | "x-title"),
        Native::Anthropic => name.starts_with("anthropic-"),
        Native::Gemini => matches!(name, "x-goog-api-client" | "x-goog-user-project"),
        Native::Ollama | Native::Cohere | Native::Converse => false,
    }
}

/// The provider's own key, or else the caller's in the provider's form.
fn credential(from: &HeaderMap, endpoint: &Settings) -> Option<HeaderValue> {
    if endpoint.signer.is_some() {
        return None;
    }
    if let Some(own) = &endpoint.credential {
        return Some(own.clone());
    }
    let key = caller_key(from)?;
    // It most often comes in the form in which it goes on: then it is the same value.
    if endpoint.kind.profile().auth == Auth::Bearer && !key.contains('\t') {
        let whole = from.get(header::AUTHORIZATION);
        if let Some(whole) =
            whole.filter(|whole| whole.as_bytes().strip_prefix(b"Bearer ") == Some(key.as_bytes()))
        {
            let mut same = whole.clone();
            same.set_sensitive(true);
            return Some(same);
        }
    }
    ApiKey::new(key)?.header(prefix(endpoint.kind))
}

/// What stands before a key in the header that carries it.
pub(super) fn prefix(kind: Kind) -> &'static str {
    match kind.profile().auth {
        Auth::Bearer => "Bearer ",
        Auth::Header(_) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Uri;

    const CALLER: [(&str, &str); 12] = [
        ("host", "here"),
        ("cookie", "a=b"),
        ("connection", "keep-alive"),
        ("authorization", "Bearer sk-caller"),
        ("x-api-key", "sk-other"),
        ("content-type", "application/json"),
        ("idempotency-key", "once"),
        ("x-stainless-lang", "python"),
        ("openai-beta", "one"),
        ("openai-beta", "two"),
        ("anthropic-beta", "three"),
        ("x-internal", "secret"),
    ];

    fn sent(kind: Kind, key: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in CALLER {
            headers.append(name, HeaderValue::from_static(value));
        }
        let mut endpoint =
            crate::endpoint::EndpointLayer::new(kind, &Uri::from_static("https://there/v1")).unwrap();
        if let Some(key) = key {
            endpoint = endpoint.with_key(ApiKey::new(key).unwrap());
        }
        rebuild(&mut headers, &endpoint.settings);
        headers
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn only_what_the_list_names_goes_on_and_all_values_of_it() {
        let headers = sent(Kind::OpenAi, Some("sk-own"));
        assert_eq!(
            names(&headers),
            [
                "authorization",
                "content-type",
                "idempotency-key",
                "openai-beta",
                "user-agent",
                "x-stainless-lang"
            ]
        );
        assert_eq!(headers.get_all("openai-beta").iter().collect::<Vec<_>>(), ["one", "two"]);

        let headers = sent(Kind::Anthropic, Some("sk-own"));
        let ours = [
            "anthropic-beta",
            "anthropic-version",
            "content-type",
            "idempotency-key",
            "user-agent",
            "x-api-key",
            "x-stainless-lang",
        ];
        assert_eq!(names(&headers), ours);
    }

    #[test]
    fn the_providers_own_key_goes_in_place_of_the_callers() {
        for (kind, header, value) in
            [(Kind::OpenAi, "authorization", "Bearer sk-own"), (Kind::Anthropic, "x-api-key", "sk-own")]
        {
            let headers = sent(kind, Some("sk-own"));
            assert_eq!(headers.get_all(header).iter().collect::<Vec<_>>(), [value]);
            assert!(headers[header].is_sensitive());
        }
    }

    #[test]
    fn without_one_the_callers_key_goes_in_the_providers_form() {
        assert_eq!(sent(Kind::OpenAi, None)["authorization"], "Bearer sk-caller");
        assert_eq!(sent(Kind::Anthropic, None)["x-api-key"], "sk-caller");
        assert!(sent(Kind::Anthropic, None)["x-api-key"].is_sensitive());
    }
}
