//! What `/metrics` shows, and what it never does.

use crate::support::*;
use mainstay_testkit::{ScriptedProvider, Step, bodies};

/// The value of a sample with these labels, in whatever order they stand.
fn sample(text: &str, name: &str, labels: &[(&str, &str)]) -> f64 {
    let fits = |line: &&str| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']))
            && labels.iter().all(|(key, value)| line.contains(&format!("{key}=\"{value}\"")))
    };
    let line = text.lines().find(fits).unwrap_or_else(|| panic!("no {name} {labels:?} in {text}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_tries_tokens_and_times_are_counted_where_they_belong() {
    let provider = ScriptedProvider::start([
        Step::json(503, bodies::openai_error("server_error", None, "busy")),
        Step::json(200, bodies::openai_chat("hello")),
        Step::sse(bodies::openai_chunks(["Hel", "lo"])),
        Step::json(400, bodies::openai_error("invalid_request_error", None, "no")),
    ])
    .await
    .unwrap();
    let twice = config(&provider, "").replace("attempts = 1", "attempts = 2\nbase_delay = \"10ms\"");
    let gateway = Gateway::start(&twice).await;
    for (request, status) in
        [(chat(false), 200), (chat(true), 200), (chat(false), 400), (post(CHAT, &[], b"{}"), 400)]
    {
        assert_eq!(gateway.talk(request).await.status, status);
    }
    gateway.quiet().await;
    let reply = gateway.talk(get("/metrics")).await;
    assert!(reply.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    let text = reply.body;
    assert!(text.ends_with("# EOF\n"));
    let a = ("provider", "a");
    for (name, labels, value) in [
        ("mainstay_requests_total", &[("route", "*"), ("status", "200")][..], 2.0),
        ("mainstay_requests_total", &[("route", "*"), ("status", "400")], 1.0),
        ("mainstay_requests_total", &[("route", "none"), ("status", "400")], 1.0),
        ("mainstay_attempts_total", &[a, ("class", "success")], 2.0),
        ("mainstay_attempts_total", &[a, ("class", "overloaded")], 1.0),
        ("mainstay_attempts_total", &[a, ("class", "invalid_request")], 1.0),
        ("mainstay_attempts_total", &[("provider", "b"), ("class", "success")], 0.0),
        ("mainstay_retries_total", &[a], 1.0),
        ("mainstay_circuit_state", &[a], 0.0),
        ("mainstay_time_to_first_event_seconds_count", &[a], 1.0),
        ("mainstay_request_duration_seconds_count", &[("route", "*")], 3.0),
        ("mainstay_requests_in_flight", &[], 0.0),
    ] {
        assert_eq!(sample(&text, name, labels), value, "{name} {labels:?}");
    }
    assert!(sample(&text, "mainstay_tokens_total", &[a, ("kind", "output")]) > 0.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_callers_or_providers_make_up_becomes_a_label() {
    let odd = Step::json(404, bodies::openai_error("made_up_type", Some("made_up_code"), "made_up_message"));
    let provider = ScriptedProvider::start([odd.header("x-request-id", "made_up_id")]).await.unwrap();
    let gateway = Gateway::start(&config(&provider, "")).await;
    let before = gateway.talk(get("/metrics")).await.body.lines().count();
    for n in 0..50 {
        let body = format!(r#"{{"model":"made_up_{n}","messages":[],"user":"made_up"}}"#);
        gateway.talk(post(CHAT, &["x-request-id: made_up"], body.as_bytes())).await;
        gateway.talk(post(&format!("/v1/made_up/{n}"), &[], body.as_bytes())).await;
        gateway.talk(get(&format!("/made_up/{n}"))).await;
        gateway.talk(format!("MADE_UP{n} / HTTP/1.1\r\nconnection: close\r\n\r\n")).await;
    }
    gateway.quiet().await;
    let text = gateway.talk(get("/metrics")).await.body;
    assert!(!text.to_lowercase().contains("made_up"), "{text}");
    // A line for each status that was met, and no more.
    assert!(text.lines().count() <= before + 4, "{before} lines, now {}", text.lines().count());
}
