//! Asked over real sockets, as the gateway does. Time is paused.

use super::{DemoProvider, DemoProviders};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// What came within an hour, and whether the connection had ended by then.
async fn ask(provider: &DemoProvider, path: &str, body: Option<Value>) -> (String, bool) {
    let mut stream = TcpStream::connect(provider.host_url().trim_start_matches("http://")).await.unwrap();
    let text = body.as_ref().map(Value::to_string).unwrap_or_default();
    let method = if body.is_some() { "POST" } else { "GET" };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{text}",
        text.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut got = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(3600), stream.read_to_end(&mut got)).await.is_ok();
    (String::from_utf8(got).unwrap(), ended)
}

fn chat(stream: bool) -> Option<Value> {
    Some(json!({"model": "demo", "stream": stream, "messages": [{"role": "user", "content": "my prompt"}]}))
}

fn status(reply: &(String, bool)) -> &str {
    reply.0.get(9..12).unwrap_or("none")
}

#[tokio::test(start_paused = true)]
async fn the_well_one_answers_every_path_in_its_dialect() {
    let demo = DemoProviders::start().await.unwrap();
    for (path, stream, marks) in [
        ("/v1/chat/completions", false, ["\"object\":\"chat.completion\"", "demo"]),
        ("/v1/chat/completions", true, ["\"finish_reason\":\"stop\"", "data: [DONE]\n\n"]),
        ("/v1/completions", false, ["\"object\":\"text_completion\"", "demo"]),
        ("/v1/completions", true, ["text_completion", "data: [DONE]\n\n"]),
        ("/v1/responses", false, ["\"object\":\"response\"", "output_text"]),
        ("/v1/responses", true, ["event: response.created", "event: response.completed"]),
        ("/v1/messages", false, ["\"type\":\"message\"", "end_turn"]),
        ("/v1/messages", true, ["event: message_start", "event: message_stop"]),
    ] {
        let reply = ask(&demo.well, path, chat(stream)).await;
        assert_eq!(status(&reply), "200", "{path}");
        assert!(marks.iter().all(|mark| reply.0.contains(mark)), "{path}: {}", reply.0);
        assert_eq!(reply.0.contains("text/event-stream"), stream, "{path}");
        assert!(!reply.0.contains("my prompt"), "{path} repeats the prompt");
        assert!(reply.1, "{path} does not end");
    }
    assert!(ask(&demo.well, "/v1/models", None).await.0.contains("\"object\":\"list\""));
    assert!(ask(&demo.well, "/v1/messages/count_tokens", chat(false)).await.0.contains("input_tokens"));
    assert_eq!(status(&ask(&demo.well, "/v1/elsewhere", chat(true)).await), "404");
}

#[tokio::test(start_paused = true)]
async fn embeddings_come_one_an_input_and_in_the_encoding_asked_for() {
    let demo = DemoProviders::start().await.unwrap();
    let ask = async |body: Value| {
        let reply = ask(&demo.well, "/v1/embeddings", Some(body)).await.0;
        let body: Value = serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap();
        body["data"].as_array().unwrap().clone()
    };
    let three = ask(json!({"model": "e", "input": ["a", "b", "c"]})).await;
    assert_eq!(three.len(), 3);
    assert!(three[2]["embedding"].is_array());
    let tokens = ask(json!({"model": "e", "input": [1, 2, 3], "encoding_format": "base64"})).await;
    assert_eq!(tokens.len(), 1);
    assert!(tokens[0]["embedding"].is_string());
}

#[tokio::test(start_paused = true)]
async fn the_flaky_one_is_well_every_third_time() {
    let demo = DemoProviders::start().await.unwrap();
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(status(&ask(&demo.flaky, "/v1/chat/completions", chat(false)).await).to_owned());
        ask(&demo.flaky, "/v1/models", None).await;
    }
    assert_eq!(statuses, ["503", "503", "200", "503", "503", "200"]);
    assert_eq!(demo.flaky.calls(), 12);
}

#[tokio::test(start_paused = true)]
async fn the_limited_one_names_a_second_every_other_time() {
    let demo = DemoProviders::start().await.unwrap();
    let first = ask(&demo.limited, "/v1/messages", chat(false)).await;
    assert_eq!(status(&first), "429");
    assert!(first.0.contains("retry-after: 1\r\n") && first.0.contains("rate_limit_error"), "{}", first.0);
    assert_eq!(status(&ask(&demo.limited, "/v1/messages", chat(false)).await), "200");
    assert_eq!(status(&ask(&demo.limited, "/v1/messages", chat(false)).await), "429");
}

#[tokio::test(start_paused = true)]
async fn the_stalling_one_says_some_words_and_never_ends() {
    let demo = DemoProviders::start().await.unwrap();
    for path in ["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"] {
        let (got, ended) = ask(&demo.stall, path, chat(true)).await;
        assert!(!ended, "{path}");
        assert!(got.contains("now ") && got.contains("fall"), "{path}: {got}");
        for terminal in ["[DONE]", "\"stop\"", "message_stop", "message_delta", "response.completed"] {
            assert!(!got.contains(terminal), "{path} ends: {got}");
        }
        assert_eq!(ask(&demo.stall, path, chat(false)).await, (String::new(), false), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_one_that_is_down_refuses() {
    let demo = DemoProviders::start().await.unwrap();
    let address = demo.down.host_url().trim_start_matches("http://");
    assert!(TcpStream::connect(address).await.is_err());
}
