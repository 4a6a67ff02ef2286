//! What goes out.

use super::{super::*, ask, chat};
use crate::{peek::Call, provider::Kind};
use http::{HeaderName, HeaderValue};
use mainstay_layers::{classify::Class, deadline::Deadline, timeout::Streaming};
use mainstay_testkit::{
    bodies,
    memory::{Received, Reply, ScriptedService},
};
use serde_json::{Value, json};
use std::time::Duration;

fn answering() -> Chat<ScriptedService> {
    chat([Reply::json(200, &bodies::openai_chat("yes"))])
}

fn sent(chat: &Chat<ScriptedService>) -> (Received, Value) {
    let received = chat.service().requests().pop().unwrap();
    let body = serde_json::from_slice(received.body.as_deref().unwrap()).unwrap();
    (received, body)
}

#[tokio::test(start_paused = true)]
async fn a_bare_request_says_nothing_that_was_not_set() {
    let chat = answering();
    chat.complete(&ask()).await.unwrap();
    let (received, body) = sent(&chat);
    assert_eq!(
        body,
        json!({"model": "gpt-9", "messages": [{"role": "user", "content": "the secret question"}]})
    );
    assert_eq!((received.parts.method.as_str(), received.parts.uri.path()), ("POST", "/v1/chat/completions"));
    assert_eq!(received.parts.headers["content-type"], "application/json");
    let call = received.parts.extensions.get::<Call>().unwrap();
    assert_eq!((&*call.model, call.stream), ("gpt-9", false));
}

#[tokio::test(start_paused = true)]
async fn every_field_reaches_the_wire_in_its_form() {
    let chat = answering();
    let call = ToolCall::new("c1", "add", r#"{"a":1}"#);
    let request = ChatRequest::new("m")
        .system("s")
        .message(Message::user_parts(["look".into(), Part::image_url("data:image/png;base64,AA==")]))
        .message(Message::tool_calls([call]).with("name", "bot"))
        .tool_result("c1", "2")
        .assistant("two")
        .tool(Tool::function("add", "adds", json!({"type": "object"})).with_strict(true))
        .with_tool_choice(ToolChoice::Function("add".into()))
        .with_max_tokens(7)
        .with_temperature(0.5)
        .with_stop(["x", "y"])
        .with_json_schema("out", json!({"type": "object"}))
        .with("seed", 3);
    chat.complete(&request).await.unwrap();
    let function =
        json!({"name": "add", "description": "adds", "parameters": {"type": "object"}, "strict": true});
    assert_eq!(
        sent(&chat).1,
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                ]},
                {"role": "assistant", "content": null, "name": "bot", "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}},
                ]},
                {"role": "tool", "content": "2", "tool_call_id": "c1"},
                {"role": "assistant", "content": "two"},
            ],
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": "add"}},
            "max_tokens": 7,
            "temperature": 0.5,
            "stop": ["x", "y"],
            "response_format": {"type": "json_schema", "json_schema": {
                "name": "out", "strict": true, "schema": {"type": "object"},
            }},
            "seed": 3,
        })
    );
}

#[tokio::test(start_paused = true)]
async fn an_extra_field_replaces_a_known_one_and_never_what_the_client_decides() {
    let chat = answering();
    let request =
        ask().with_temperature(1.0).with("temperature", 0).with("stream", true).with("model", "other");
    chat.complete(&request).await.unwrap();
    let text = chat.service().requests()[0].body.clone().unwrap();
    assert_eq!(text.windows(13).filter(|at| at == b"\"temperature\"").count(), 1);
    let body = sent(&chat).1;
    assert_eq!(
        (&body["temperature"], &body["model"], body.get("stream")),
        (&json!(0), &json!("gpt-9"), None)
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_asked_for_with_its_tokens() {
    let chat = chat([Reply::sse(bodies::openai_chunks(["a"]), Default::default())]);
    chat.stream(&ask()).await.unwrap();
    let (received, body) = sent(&chat);
    assert_eq!((&body["stream"], &body["stream_options"]), (&json!(true), &json!({"include_usage": true})));
    assert_eq!(received.parts.extensions.get::<Streaming>(), Some(&Streaming(true)));
    assert_eq!(received.parts.headers["accept"], "text/event-stream");
}

#[tokio::test(start_paused = true)]
async fn a_kind_of_provider_has_its_own_words() {
    for (kind, limit, usage) in [
        (Kind::OpenAi, "max_completion_tokens", true),
        (Kind::Vllm, "max_tokens", true),
        (Kind::Mistral, "max_tokens", false),
    ] {
        let chat = chat([Reply::sse(bodies::openai_chunks(["a"]), Default::default())]).with_kind(kind);
        chat.stream(&ask().with_max_tokens(5)).await.unwrap();
        let body = sent(&chat).1;
        assert_eq!((&body[limit], body.get("stream_options").is_some()), (&json!(5), usage), "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_and_the_headers_go_along() {
    let key = crate::secret::ApiKey::new("sk-0123456789").unwrap();
    let name = HeaderName::from_static("x-team");
    let chat = answering().with_key(&key).with_header(name, HeaderValue::from_static("search"));
    chat.complete(&ask().within(Duration::from_secs(9))).await.unwrap();
    let parts = sent(&chat).0.parts;
    assert_eq!(Deadline::of(&parts.extensions).unwrap().remaining(), Duration::from_secs(9));
    assert_eq!(parts.headers["authorization"], "Bearer sk-0123456789");
    assert_eq!(parts.headers["x-team"], "search");
    assert!(parts.headers["authorization"].is_sensitive());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_routed_is_not_sent() {
    let chat = answering();
    let error = chat.complete(&ChatRequest::new("").user("hi")).await.unwrap_err();
    assert_eq!(
        (error.class(), error.code(), chat.service().calls()),
        (Class::InvalidRequest, Some("invalid_request"), 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_future_borrows_nothing_and_can_be_spawned() {
    let chat = answering();
    let answer = {
        let request = ask();
        tokio::spawn(chat.complete(&request))
    };
    assert_eq!(answer.await.unwrap().unwrap().text(), "yes");
}

#[test]
fn pitfall_46_debug_shows_no_prompt() {
    let request = ask().message(Message::tool_calls([ToolCall::new("1", "f", "secret")]));
    let shown = format!("{request:?} {:?} {:?}", request.messages(), Part::text("secret"));
    assert!(!shown.contains("secret"), "{shown}");
}
