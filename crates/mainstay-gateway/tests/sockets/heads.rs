//! Which headers go where.

use crate::support::*;
use mainstay_testkit::{ScriptedProvider, Step, bodies};

const BODY: &[u8] = br#"{"model":"m","messages":[]}"#;

fn answer() -> Step {
    let step = Step::json(200, bodies::openai_chat("hello"));
    [
        ("x-request-id", "theirs-1"),
        ("openai-organization", "org"),
        ("x-ratelimit-remaining-tokens", "7"),
        ("set-cookie", "session=1"),
        ("server", "nginx"),
        ("alt-svc", "h3"),
        ("strict-transport-security", "max-age=1"),
        ("access-control-allow-origin", "*"),
        ("keep-alive", "timeout=5"),
        ("proxy-authenticate", "Basic"),
        ("www-authenticate", "Basic"),
        ("location", "https://elsewhere/"),
        ("x-mainstay-provider", "forged"),
    ]
    .into_iter()
    .fold(step, |step, (name, value)| step.header(name, value))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pitfall_41_only_what_is_listed_of_a_providers_headers_reaches_the_caller() {
    let provider = ScriptedProvider::start([answer()]).await.unwrap();
    let gateway = Gateway::start(&config(&provider, "")).await;
    let reply = gateway.talk(post(CHAT, &[], BODY)).await;
    let mut names: Vec<&str> =
        reply.head.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0)).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "connection",
            "content-length",
            "content-type",
            "date",
            "openai-organization",
            "x-mainstay-attempts",
            "x-mainstay-model",
            "x-mainstay-provider",
            "x-mainstay-provider-request-id",
            "x-ratelimit-remaining-tokens",
            "x-request-id",
        ]
    );
    assert_eq!(reply.header("x-mainstay-provider"), Some("a"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_has_one_id_at_the_caller_at_the_provider_and_in_the_reply() {
    let provider = ScriptedProvider::start([
        answer(),
        answer(),
        Step::json(400, bodies::openai_error("x", None, "no")).header("x-request-id", "theirs-2"),
    ])
    .await
    .unwrap();
    let gateway = Gateway::start(&config(&provider, "")).await;
    let reply = gateway.talk(post(CHAT, &["x-request-id: mine-1"], BODY)).await;
    assert_eq!(reply.header("x-request-id"), Some("mine-1"));
    assert_eq!(reply.header("x-mainstay-provider-request-id"), Some("theirs-1"));
    assert_eq!(provider.last_request().unwrap().header("x-request-id"), Some("mine-1"));
    let reply = gateway.talk(post(CHAT, &[], BODY)).await;
    let made = reply.header("x-request-id").unwrap();
    assert!(made.starts_with("req_"));
    assert_eq!(provider.last_request().unwrap().header("x-request-id"), Some(made));
    // On errors too, the provider's and our own.
    let reply = gateway.talk(post(CHAT, &["x-request-id: mine-2"], BODY)).await;
    assert_eq!((reply.status, reply.header("x-request-id")), (400, Some("mine-2")));
    assert_eq!(reply.header("x-mainstay-provider-request-id"), Some("theirs-2"));
    let reply = gateway.talk(post("/v1/messages", &["x-request-id: mine-3"], b"{}")).await;
    assert_eq!((reply.header("x-request-id"), reply.header("request-id")), (Some("mine-3"), Some("mine-3")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anthropics_own_id_stays_where_its_sdks_look_for_it() {
    let step = Step::json(200, bodies::anthropic_message("hello")).header("request-id", "req_theirs");
    let provider = ScriptedProvider::start([step]).await.unwrap();
    let gateway = Gateway::start(&config(&provider, "")).await;
    let body = br#"{"model":"claude-x","max_tokens":1,"messages":[]}"#;
    let reply = gateway.talk(post("/v1/messages", &["x-request-id: mine"], body)).await;
    assert_eq!(
        (reply.header("x-request-id"), reply.header("request-id")),
        (Some("mine"), Some("req_theirs"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn providers_are_asked_for_what_we_can_decode_whatever_the_caller_accepts() {
    let provider = ScriptedProvider::start([answer()]).await.unwrap();
    let gateway = Gateway::start(&config(&provider, "")).await;
    for accept in ["accept-encoding: identity", "accept-encoding: lzw, compress", "x-none: 1"] {
        assert_eq!(gateway.talk(post(CHAT, &[accept], BODY)).await.status, 200);
        let sent = provider.last_request().unwrap();
        let asked = sent.header("accept-encoding").unwrap();
        assert!(asked.contains("gzip") && asked.contains("br") && !asked.contains("compress"), "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_providers_coding_that_nobody_asked_for_is_no_answer() {
    let step = Step::json(200, bodies::openai_chat("hello")).header("content-encoding", "compress");
    let provider = ScriptedProvider::start([step]).await.unwrap();
    let gateway = Gateway::start(&config(&provider, "")).await;
    let reply = gateway.talk(post(CHAT, &[], BODY)).await;
    assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (502, Some("upstream_malformed")));
}
