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
async fn each_part_of_an_answer_that_two_gave_is_charged_at_its_own_price() {
    let chunk = |text: &str, finish: Option<&str>| {
        let choice = serde_json::json!({"index": 0, "delta": {"content": text}, "finish_reason": finish});
        // Both tell ten tokens in and one out.
        let usage = serde_json::json!({"prompt_tokens": 10, "completion_tokens": 1});
        serde_json::json!({"id": "x", "choices": [choice], "usage": usage}).to_string()
    };
    let cut = ScriptedProvider::start([
        Step::sse([format!("data: {}\n\n", chunk("one two three ", None))]).ending(End::Reset)
    ])
    .await
    .unwrap();
    let rest = [format!("data: {}\n\n", chunk("four", Some("stop"))), "data: [DONE]\n\n".to_owned()];
    let goes_on = ScriptedProvider::start([Step::sse(rest)]).await.unwrap();
    let provider = |name: &str, url: String| {
        format!(
            "[providers.{name}]\nkind = \"openai\"\nbase_url = \"{url}/v1\"\nproxy = \"off\"\nretry.attempts = 1\n"
        )
    };
    let file = [
        provider("a", cut.url()),
        provider("b", goes_on.url()),
        "[[routes]]\nmodels = [\"m-1\"]\ntargets = [\"a\", \"b/m-2\"]\nrecovery = \"continue\"\n\
         [prices.\"a/m-1\"]\ninput = 1.0\noutput = 10.0\n[prices.\"b/m-2\"]\ninput = 100.0\noutput = 1000.0\n"
            .to_owned(),
    ];
    let app = App::new(&Config::parse(&file.concat(), "mainstay.toml", &|_| None).unwrap()).unwrap();
    let body = ASK.replace("\"max_tokens\"", "\"stream\": true, \"max_tokens\"");
    let reply =
        ask(&app, "/v1/chat/completions", &body).await.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&reply).contains("four"), "{reply:?}");
    for (labels, dollars) in [
        ("provider=\"a\",model=\"*\",route=\"m-1\"", 20e-6),
        ("provider=\"b\",model=\"m-2\",route=\"m-1\"", 2000e-6),
    ] {
        let input = sample(&app, &format!("mainstay_tokens_total{{{labels},kind=\"input\"}}")).await;
        let cost = sample(&app, &format!("mainstay_cost_usd_total{{{labels}}}")).await;
        assert_eq!(input, 10.0, "{labels}");
        assert!((cost - dollars).abs() < 1e-12, "{labels}: {cost}");
    }
}

#[tokio::test]
async fn a_kept_answer_is_no_spent_token() {
    let chunk = r#"data: {"id":"x","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":1}}"#;
    let events = [format!("{chunk}\n\n"), "data: [DONE]\n\n".to_owned()];
    let provider = ScriptedProvider::start([
        Step::sse(events),
        Step::json(200, bodies::openai_chat("one two three")),
        Step::json(500, bodies::openai_error("server_error", None, "no")),
    ])
    .await
    .unwrap();
    let file = format!(
        "[providers.a]\nkind = \"openai\"\nbase_url = \"{}/v1\"\nproxy = \"off\"\nretry.attempts = 1\n\
         [[routes]]\nmodels = [\"m-*\"]\ntargets = [\"a\"]\ncache = {{ max = \"1MiB\" }}\n",
        provider.url()
    );
    let app = App::new(&Config::parse(&file, "mainstay.toml", &|_| None).unwrap()).unwrap();
    let stream = ASK.replace("\"max_tokens\"", "\"stream\": true, \"max_tokens\"");
    let mut first = Vec::new();
    for stale in [false, true] {
        for body in [&*stream, ASK] {
            let reply = ask(&app, "/v1/chat/completions", body).await;
            assert_eq!(reply.status(), 200);
            assert_eq!(
                reply.headers().get("x-mainstay-cache").map(|how| how == "stale"),
                stale.then_some(true)
            );
            assert_eq!(reply.headers().contains_key("age"), stale);
            let kind = reply.headers()["content-type"].clone();
            assert_eq!(kind == "text/event-stream", body == stream);
            let text = reply.into_body().collect().await.unwrap().to_bytes();
            if stale {
                assert_eq!(first.remove(0), text);
            } else {
                first.push(text);
            }
        }
    }
    let input = "mainstay_tokens_total{provider=\"a\",model=\"*\",route=\"m-*\",kind=\"input\"}";
    assert_eq!(sample(&app, input).await, 10.0 + 9.0);
}

#[tokio::test]
async fn when_the_time_over_everything_is_up_the_last_good_answer_is_given() {
    let provider = ScriptedProvider::start([
        Step::json(200, bodies::openai_chat("one two three")),
        Step::json(200, bodies::openai_chat("late")).after(std::time::Duration::from_secs(60)),
    ])
    .await
    .unwrap();
    let file = format!(
        "[server]\ndeadline = \"300ms\"\n[providers.a]\nkind = \"openai\"\nbase_url = \"{}/v1\"\nproxy = \"off\"\n\
         [[routes]]\nmodels = [\"m-*\"]\ntargets = [\"a\"]\ncache = {{ max = \"1MiB\" }}\n",
        provider.url()
    );
    let app = App::new(&Config::parse(&file, "mainstay.toml", &|_| None).unwrap()).unwrap();
    assert_eq!(ask(&app, "/v1/chat/completions", ASK).await.status(), 200);
    let reply = ask(&app, "/v1/chat/completions", ASK).await;
    assert_eq!(
        (reply.status().as_u16(), &reply.headers()["x-mainstay-cache"]),
        (200, &"stale".parse().unwrap())
    );
    let other = ask(&app, "/v1/chat/completions", &ASK.replace("hi", "ho")).await;
    assert_eq!(other.status(), 504);
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
