//! What reaches a provider, and what does not.

use super::*;
use crate::{
    provider::Kind,
    secret::ApiKey,
    sigv4::{Credentials, PayloadHash, Signer},
};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, Version};
use std::{convert::Infallible, future::Ready, future::ready};
use tower::{Layer, ServiceExt, service_fn};

type Sent = Request<&'static str>;

/// What goes out of an endpoint for `request`.
async fn sent(endpoint: &EndpointLayer, request: Sent) -> Sent {
    let echo = service_fn(|request: Sent| -> Ready<Result<Sent, Infallible>> { ready(Ok(request)) });
    endpoint.layer(echo).oneshot(request).await.unwrap()
}

fn at(kind: Kind) -> EndpointLayer {
    EndpointLayer::new(kind, &Uri::from_static("https://provider.example/v1")).unwrap()
}

fn call(headers: &[(&str, &str)]) -> Sent {
    let mut request = Request::post("http://gateway.example/v1/chat/completions").body("{}").unwrap();
    for (name, value) in headers {
        let name = HeaderName::try_from(*name).unwrap();
        request.headers_mut().append(name, HeaderValue::from_str(value).unwrap());
    }
    request
}

fn names(headers: &HeaderMap) -> Vec<&str> {
    let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    names
}

const FORMS: [(&str, &str); 5] = [
    ("authorization", "Bearer mine-123"),
    ("authorization", "bearer  mine-123 "),
    ("x-api-key", "mine-123"),
    ("api-key", "mine-123"),
    ("x-goog-api-key", "mine-123"),
];

const OWN_FORM: [(Kind, &str, &str); 4] = [
    (Kind::OpenAi, "authorization", "Bearer "),
    (Kind::Anthropic, "x-api-key", ""),
    (Kind::AzureOpenAi, "api-key", ""),
    (Kind::Gemini, "x-goog-api-key", ""),
];

fn credentials_of(headers: &HeaderMap) -> Vec<&str> {
    let forms = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];
    forms.into_iter().filter(|name| headers.contains_key(*name)).collect()
}

#[tokio::test]
async fn a_callers_credential_takes_the_providers_form_whatever_its_own() {
    for (form, credential) in FORMS {
        for (kind, name, prefix) in OWN_FORM {
            let out = sent(&at(kind), call(&[(form, credential)])).await;
            assert_eq!(credentials_of(out.headers()), [name], "{form} to {kind:?}");
            let value = &out.headers()[name];
            assert_eq!(value.to_str().unwrap(), format!("{prefix}mine-123"));
            assert!(value.is_sensitive());
        }
    }
}

#[tokio::test]
async fn a_provider_with_a_key_of_its_own_sees_nothing_of_the_callers() {
    for (form, credential) in FORMS {
        for (kind, name, prefix) in OWN_FORM {
            let endpoint = at(kind).with_key(ApiKey::new("ours-456").unwrap());
            let out = sent(&endpoint, call(&[(form, credential), ("cookie", "mine-123")])).await;
            assert_eq!(credentials_of(out.headers()), [name]);
            assert_eq!(out.headers()[name].to_str().unwrap(), format!("{prefix}ours-456"));
            assert!(out.headers()[name].is_sensitive());
            assert!(out.headers().values().all(|value| !value.as_bytes().ends_with(b"mine-123")));
        }
    }
}

#[tokio::test]
async fn what_is_no_key_is_not_passed_on_as_one() {
    for (name, value) in [
        ("authorization", "Basic bWluZQ=="),
        ("authorization", "Bearer"),
        ("authorization", "Bearer  "),
        ("x-api-key", " "),
        ("proxy-authorization", "Bearer mine-123"),
    ] {
        let out = sent(&at(Kind::OpenAi), call(&[(name, value)])).await;
        assert_eq!(names(out.headers()), ["user-agent"], "{name}: {value}");
    }
}

#[tokio::test]
async fn pitfall_41_headers_of_the_hop_and_of_the_browser_stay_here() {
    let hop = [
        ("host", "gateway.example"),
        ("connection", "close, x-hop"),
        ("x-hop", "1"),
        ("keep-alive", "timeout=5"),
        ("te", "trailers"),
        ("trailer", "x"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("proxy-connection", "keep-alive"),
        ("proxy-authorization", "Basic x"),
        ("content-length", "999"),
        ("expect", "100-continue"),
        ("cookie", "a=b"),
        ("origin", "https://app.example"),
        ("referer", "https://app.example"),
        ("x-forwarded-for", "10.0.0.1"),
        ("forwarded", "for=10.0.0.1"),
        ("x-real-ip", "10.0.0.1"),
        ("via", "1.1 a"),
        ("x-mainstay-provider", "forged"),
        ("x-custom", "1"),
    ];
    for kind in [Kind::OpenAi, Kind::Anthropic, Kind::Gemini] {
        let out = sent(&at(kind), call(&hop)).await;
        let own = kind.profile().headers.iter().map(|(name, _)| *name).chain(["user-agent"]);
        let mut own: Vec<&str> = own.collect();
        own.sort_unstable();
        assert_eq!(names(out.headers()), own, "{kind:?}");
    }
}

#[tokio::test]
async fn each_family_sees_its_own_headers_and_the_common_ones() {
    let common = [
        "accept",
        "content-type",
        "idempotency-key",
        "traceparent",
        "x-mainstay-hops",
        "x-request-id",
        "x-stainless-retry-count",
    ];
    let families = [
        (Kind::OpenAi, &["http-referer", "openai-beta", "x-title"][..]),
        (Kind::Anthropic, &["anthropic-beta", "anthropic-version"]),
        (Kind::Gemini, &["x-goog-api-client", "x-goog-user-project"]),
    ];
    let all: Vec<(&str, &str)> =
        common.iter().chain(families.iter().flat_map(|(_, names)| *names)).map(|name| (*name, "v")).collect();
    for (kind, own) in families {
        let out = sent(&at(kind), call(&all)).await;
        let refused = |name: &str| name == "idempotency-key" && !kind.profile().idempotency_key;
        let mut expected: Vec<&str> =
            common.iter().chain(own).copied().filter(|name| !refused(name)).collect();
        expected.push("user-agent");
        expected.sort_unstable();
        assert_eq!(names(out.headers()), expected, "{kind:?}");
    }
}

#[tokio::test]
async fn the_callers_version_wins_over_the_default_and_the_configuration_over_both() {
    let version = HeaderName::from_static("anthropic-version");
    let out = sent(&at(Kind::Anthropic), call(&[])).await;
    assert!(out.headers().contains_key(&version));
    let out = sent(&at(Kind::Anthropic), call(&[("anthropic-version", "2030-01-01")])).await;
    assert_eq!(out.headers()[&version], "2030-01-01");
    let endpoint = at(Kind::Anthropic).with_header(version.clone(), HeaderValue::from_static("2031-01-01"));
    let out =
        sent(&endpoint, call(&[("anthropic-version", "2030-01-01"), ("anthropic-version", "2029-01-01")]))
            .await;
    assert_eq!(out.headers().get_all(&version).iter().collect::<Vec<_>>(), ["2031-01-01"]);
}

#[tokio::test]
async fn pitfall_41_each_try_is_rebuilt_from_the_same_request() {
    let endpoint = at(Kind::OpenAi);
    let mut request = call(&[("x-api-key", "mine-123")]);
    *request.version_mut() = Version::HTTP_2;
    let first = sent(&endpoint, request.clone()).await;
    let second = sent(&endpoint, request).await;
    assert_eq!(first.headers(), second.headers());
    assert_eq!(first.uri(), "https://provider.example/v1/chat/completions");
    // The caller's version of HTTP is its own affair.
    assert_eq!((first.version(), *first.body()), (Version::HTTP_11, "{}"));
}

#[tokio::test]
async fn a_signature_goes_in_place_of_every_key() {
    let credentials = Credentials::new("AKIDEXAMPLE", "secret-0123456789", None).unwrap();
    let endpoint = EndpointLayer::new(Kind::BedrockConverse, &Uri::from_static("https://h.example"))
        .unwrap()
        .with_signer(Signer::new(credentials, "us-east-1", "bedrock"));
    let mut request = call(&[("x-api-key", "mine-123"), ("content-type", "application/json")]);
    request.extensions_mut().insert(PayloadHash::of(b"{}"));
    let out = sent(&endpoint, request.clone()).await;
    assert_eq!(credentials_of(out.headers()), ["authorization"]);
    let value = out.headers()["authorization"].to_str().unwrap();
    assert!(value.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"), "{value}");
    assert!(value.contains("SignedHeaders=content-type;host;x-amz-date,"), "{value}");
    assert!(!value.contains("mine-123"));

    request.extensions_mut().clear();
    let echo = service_fn(|request: Sent| -> Ready<Result<Sent, Infallible>> { ready(Ok(request)) });
    let error = endpoint.layer(echo).oneshot(request).await.unwrap_err();
    assert!(error.to_string().contains("cannot be signed"), "{error}");
}

#[test]
fn pitfall_46_debug_shows_no_key_and_no_header() {
    let endpoint = at(Kind::OpenAi)
        .with_key(ApiKey::new("ours-456").unwrap())
        .with_header(HeaderName::from_static("x-team"), HeaderValue::from_static("secret-789"));
    let text = format!("{endpoint:?} {:?}", endpoint.layer(()));
    assert!(!text.contains("456") && !text.contains("789"), "{text}");
}
