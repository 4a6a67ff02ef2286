//! Over scripted replies, on paused time.

mod request;
mod stream;
mod tools;
mod whole;

use super::{Chat, ChatError, ChatEvent, ChatRequest, ChatStream};
use bytes::Bytes;
use http_body::Body;
use mainstay_layers::{
    BoxError,
    classify::{Classify, HttpClassifier},
};
use mainstay_testkit::memory::{FaultBody, Reply, ScriptedService};

pub(super) fn chat(replies: impl IntoIterator<Item = Reply>) -> Chat<ScriptedService> {
    Chat::new(ScriptedService::new(replies))
}

pub(super) fn ask() -> ChatRequest {
    ChatRequest::new("gpt-9").user("the secret question")
}

/// The events until the end, and the error if there is one.
pub(super) async fn read<B>(stream: &mut ChatStream<B>) -> (Vec<ChatEvent>, Option<ChatError>)
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error is the end");
                return (events, Some(error));
            }
        }
    }
    (events, None)
}

/// What a reply of one stream comes to.
pub(super) async fn stream_of(body: FaultBody) -> (Vec<ChatEvent>, Option<ChatError>) {
    let chat = chat([Reply::sse([], body)]);
    let mut stream = chat.stream(&ask()).await.unwrap();
    read(&mut stream).await
}

pub(super) fn data(json: &serde_json::Value) -> String {
    format!("data: {json}\n\n")
}

pub(super) fn delta(delta: serde_json::Value) -> String {
    data(
        &serde_json::json!({"id": "c1", "model": "gpt-9-0101", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]}),
    )
}

pub(super) fn finish(reason: &str) -> String {
    data(&serde_json::json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

pub(super) const DONE: &str = "data: [DONE]\n\n";

/// Whoever reads errors by their chain finds the verdict of this one.
pub(super) fn finds_the_verdict(error: &ChatError) {
    assert_eq!(&HttpClassifier::new().error(error), error.verdict());
}
