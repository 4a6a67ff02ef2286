//! What answers used and cost, as callers and scrapers see it.

use super::App;
use crate::config::Config;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use mainstay_testkit::{End, ScriptedProvider, Step, bodies};
use tower::ServiceExt;

async fn app(provider: &ScriptedProvider, kind: &str, base: &str) -> App {
    let file = format!(
        "[providers.a]\nkind = \"{kind}\"\nbase_url = \"{}{base}\"\nproxy = \"off\"\n\
         [providers.a.retry]\nbase_delay = \"1ms\"\n\
         [[routes]]\nmodels = [\"m-*\"]\ntargets = [\"a\"]\n\
         [prices.\"a/m-1\"]\ninput = 1.0\noutput = 10.0\n[prices.\"m-*\"]\ninput = 99\noutput = 99\n",
        provider.url()
    );
    App::new(&Config::parse(&file, "mainstay.toml", &|_| None).unwrap()).unwrap()
}

async fn ask(app: &App, path: &str, body: &str) -> Response<super::ReplyBody> {
    let request = Request::post(path).header("content-type", "application/json");
    app.clone().oneshot(request.body(Full::new(Bytes::from(body.to_owned()))).unwrap()).await.unwrap()
}

/// The value of the sample `line` begins with.
async fn sample(app: &App, line: &str) -> f64 {
    let request = Request::get("/metrics").body(Full::new(Bytes::new())).unwrap();
    let body = app.clone().oneshot(request).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    let value =
        text.lines().find_map(|each| each.strip_prefix(line)).unwrap_or_else(|| panic!("{line} in\n{text}"));
    value.trim().parse().unwrap()
}

const ASK: &str = r#"{"model": "m-1", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}"#;

#[tokio::test]
async fn a_whole_answer_says_what_it_cost_and_the_sums_know_its_route() {
    let provider =
        ScriptedProvider::start([Step::json(200, bodies::openai_chat("one two three"))]).await.unwrap();
    let app = app(&provider, "openai", "/v1").await;
    let reply = ask(&app, "/v1/chat/completions", ASK).await;
    // 9 tokens in, 3 out.
    assert_eq!(reply.headers()["x-mainstay-cost"], "0.000039");
    reply.into_body().collect().await.unwrap();
    let labels = "provider=\"a\",model=\"*\",route=\"m-*\"";
    assert_eq!(sample(&app, &format!("mainstay_tokens_total{{{labels},kind=\"input\"}}")).await, 9.0);
    assert_eq!(sample(&app, &format!("mainstay_tokens_total{{{labels},kind=\"output\"}}")).await, 3.0);
    let cost = sample(&app, &format!("mainstay_cost_usd_total{{{labels}}}")).await;
    assert!((cost - 39e-6).abs() < 1e-12, "{cost}");
}

#[tokio::test]
async fn a_stream_is_added_up_at_its_end_and_a_failed_try_apart_from_it() {
    let events = || bodies::anthropic_events(["Hel", "lo"]);
    let provider = ScriptedProvider::start([
        Step::sse(events().into_iter().take(1)).ending(End::Reset),
        Step::sse(events()),
    ])
    .await
    .unwrap();
    let app = app(&provider, "anthropic", "").await;
    let body = ASK.replace("\"max_tokens\"", "\"stream\": true, \"max_tokens\"");
    let reply = ask(&app, "/v1/messages", &body).await;
    assert!(reply.status().is_success() && !reply.headers().contains_key("x-mainstay-cost"));
    reply.into_body().collect().await.unwrap();
    assert_eq!(provider.calls(), 2);
    let input =
        sample(&app, "mainstay_tokens_total{provider=\"a\",model=\"*\",route=\"m-*\",kind=\"input\"}").await;
    let wasted =
        sample(&app, "mainstay_wasted_tokens_total{provider=\"a\",model=\"*\",kind=\"input\"}").await;
    assert!(input > 0.0 && wasted == input, "{input} {wasted}");
    assert!(sample(&app, "mainstay_cost_usd_total{provider=\"a\",model=\"*\",route=\"m-*\"}").await > 0.0);
}

#[tokio::test]
async fn what_has_no_price_or_tells_no_tokens_has_no_figure() {
    let mut silent = bodies::openai_chat("hi");
    silent.as_object_mut().unwrap().remove("usage");
    let provider = ScriptedProvider::start([
        Step::json(200, silent),
        Step::json(404, bodies::openai_error("not_found", None, "no")),
    ])
    .await
    .unwrap();
    let app = app(&provider, "openai", "/v1").await;
    for status in [200, 404] {
        let reply = ask(&app, "/v1/chat/completions", ASK).await;
        assert_eq!(reply.status(), status);
        assert!(!reply.headers().contains_key("x-mainstay-cost"));
    }
    let reply = ask(&app, "/v1/chat/completions", &ASK.replace("m-1", "a/unpriced")).await;
    assert!(!reply.headers().contains_key("x-mainstay-cost"));
}

#[tokio::test]
async fn a_translated_answer_costs_what_the_provider_says_it_used() {
    let mut message = bodies::anthropic_message("one two three");
    message["usage"] =
        serde_json::json!({"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 3});
    let provider = ScriptedProvider::start([
        Step::json(200, message),
        Step::sse(bodies::anthropic_events(["Hel", "lo"])),
    ])
    .await
    .unwrap();
    let app = app(&provider, "anthropic", "").await;
    let reply = ask(&app, "/v1/chat/completions", ASK).await;
    // What came from a cache is part of the 9 tokens in; no price of its own was given for it.
    assert_eq!(reply.headers()["x-mainstay-cost"], "0.000039");
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["usage"]["prompt_tokens"], 9);
    let labels = "provider=\"a\",model=\"*\",route=\"m-*\"";
    for (kind, tokens) in [("input", 9.0), ("cached", 4.0), ("output", 3.0)] {
        let line = format!("mainstay_tokens_total{{{labels},kind=\"{kind}\"}}");
        assert_eq!(sample(&app, &line).await, tokens, "{kind}");
    }
    let stream = ASK.replace("\"max_tokens\"", "\"stream\": true, \"max_tokens\"");
    ask(&app, "/v1/chat/completions", &stream).await.into_body().collect().await.unwrap();
    assert_eq!(sample(&app, &format!("mainstay_tokens_total{{{labels},kind=\"input\"}}")).await, 18.0);
}

#[tokio::test]
async fn the_tokens_of_a_try_that_lost_a_race_are_wasted() {
    let events = bodies::anthropic_events(["Hel", "lo"]);
    // It tells its tokens and falls silent; the second target answers.
    let slow =
        ScriptedProvider::start([Step::sse(events.clone().into_iter().take(1)).ending(End::Hang)]).await;
    let (slow, quick) = (slow.unwrap(), ScriptedProvider::start([Step::sse(events)]).await.unwrap());
    let file = format!(
        "[providers.a]\nkind = \"anthropic\"\nbase_url = \"{}\"\nproxy = \"off\"\n\
         [providers.b]\nkind = \"anthropic\"\nbase_url = \"{}\"\nproxy = \"off\"\n\
         [[routes]]\nmodels = [\"m-*\"]\ntargets = [\"a\", \"b\"]\nhedge = {{ after = \"50ms\", max = 1 }}\n",
        slow.url(),
        quick.url()
    );
    let app = App::new(&Config::parse(&file, "mainstay.toml", &|_| None).unwrap()).unwrap();
    let stream = ASK.replace("\"max_tokens\"", "\"stream\": true, \"max_tokens\"");
    let reply = ask(&app, "/v1/messages", &stream).await;
    assert_eq!(reply.headers()["x-mainstay-provider"], "b");
    reply.into_body().collect().await.unwrap();
    let wasted = "mainstay_wasted_tokens_total{provider=\"a\",model=\"*\",kind=\"input\"}";
    assert_eq!(sample(&app, wasted).await, 9.0);
    let spent = "mainstay_tokens_total{provider=\"b\",model=\"*\",route=\"m-*\",kind=\"input\"}";
    assert_eq!(sample(&app, spent).await, 9.0);
}
