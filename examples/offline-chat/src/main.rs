//! A chat program that works on a train: its replies come from a recording, and everything above the client is real.
//!
//! Shows `ReplayService` in the place of a client. The recording, `calls.jsonl`, was made by `RecordLayer` around a real
//! one (the call in `replay`'s docs); it has one 503 in it, which the retry deals with as it did then. Tests of one's own
//! program can do the same.
//!
//! `cargo run -p example-offline-chat` prints
//!
//! ```text
//! > What is a circuit breaker?
//! It stops asking a server that is ill, and finds out when it is well again. [2 tries]
//! > In one word?
//! Patience. [1 try]
//! ```
//!
//! Questions of your own go on the command line; those that are not in the recording are refused by name.

use bytes::Bytes;
use http::{Request, Uri};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use mainstay::{
    BoxError,
    endpoint::EndpointLayer,
    judge::JudgeLayer,
    layers::retry::{RetryLayer, RetryOutcome},
    provider::Kind,
    sse::Scanner,
};
use mainstay_testkit::replay::ReplayService;
use serde_json::{Value, json};
use std::{
    io::{self, Write},
    pin::pin,
    time::Duration,
};
use tower::{ServiceBuilder, ServiceExt};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let recording = ReplayService::read(include_str!("../calls.jsonl"))?;
    let endpoint = EndpointLayer::new(Kind::OpenAi, &Uri::from_static("https://api.openai.com/v1"));
    // With a network, `Client::new()?` takes the place of the recording; nothing else changes.
    let model = ServiceBuilder::new()
        .layer(RetryLayer::new().with_base_delay(Duration::from_millis(20)))
        .layer(JudgeLayer::new(Kind::OpenAi))
        .layer(endpoint.ok_or("no host in the base URL")?)
        .service(recording.paced());

    let mut questions: Vec<String> = std::env::args().skip(1).collect();
    if questions.is_empty() {
        questions = ["What is a circuit breaker?", "In one word?"].map(String::from).into();
    }
    let mut messages = Vec::new();
    for question in questions {
        println!("> {question}");
        messages.push(json!({"role": "user", "content": question}));
        let body = json!({"model": "gpt-5", "stream": true, "messages": messages}).to_string();
        let request = Request::post("/v1/chat/completions")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))?;
        let reply = model.clone().oneshot(request).await?;
        if !reply.status().is_success() {
            return Err(format!("the model answered {}", reply.status()).into());
        }
        let tries = reply.extensions().get::<RetryOutcome>().map_or(1, |outcome| outcome.attempts);
        let answer = show(reply.into_body()).await?;
        println!(" [{tries} {}]", if tries == 1 { "try" } else { "tries" });
        messages.push(json!({"role": "assistant", "content": answer}));
    }
    Ok(())
}

/// Prints the words of a stream as they come; returns all of them.
async fn show(body: impl Body<Data = Bytes, Error = BoxError>) -> Result<String, BoxError> {
    let mut body = pin!(body);
    let (mut scanner, mut answer) = (Scanner::new(), String::new());
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        scanner.push(data);
        while let Some(block) = scanner.next_block()? {
            let Some(event) = block.event.filter(|event| !event.is_done()) else { continue };
            let chunk: Value = serde_json::from_slice(event.data())?;
            let words = chunk.pointer("/choices/0/delta/content").and_then(Value::as_str).unwrap_or_default();
            print!("{words}");
            io::stdout().flush()?;
            answer.push_str(words);
        }
    }
    Ok(answer)
}
