//! Messages, models and errors in Anthropic's form.

use super::{MODEL, named_event, tokens};
use serde_json::{Value, json};

/// A message that says `text`.
pub fn anthropic_message(text: &str) -> Value {
    anthropic_message_as(MODEL, text)
}

/// A message of that model.
pub fn anthropic_message_as(model: &str, text: &str) -> Value {
    message(model, json!([{"type": "text", "text": text}]), Some("end_turn"), tokens(text))
}

/// A message that uses one tool.
pub fn anthropic_tool_use(id: &str, name: &str, input: Value) -> Value {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
    message(MODEL, json!([block]), Some("tool_use"), 7)
}

fn message(model: &str, content: Value, stop: Option<&str>, output: usize) -> Value {
    json!({
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": {
            "input_tokens": 9,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": output,
        },
    })
}

/// The stream of a message: its start, a ping, one delta a piece, its stop.
pub fn anthropic_events<P: AsRef<str>>(pieces: impl IntoIterator<Item = P>) -> Vec<String> {
    anthropic_events_as(MODEL, pieces)
}

/// The stream of a message of that model.
pub fn anthropic_events_as<P: AsRef<str>>(model: &str, pieces: impl IntoIterator<Item = P>) -> Vec<String> {
    let deltas: Vec<_> =
        pieces.into_iter().map(|piece| json!({"type": "text_delta", "text": piece.as_ref()})).collect();
    stream(model, json!({"type": "text", "text": ""}), deltas, "end_turn")
}

/// The stream of one tool use whose input comes in those pieces of JSON.
pub fn anthropic_tool_events<P: AsRef<str>>(
    id: &str,
    name: &str,
    input: impl IntoIterator<Item = P>,
) -> Vec<String> {
    let deltas: Vec<_> = input
        .into_iter()
        .map(|piece| json!({"type": "input_json_delta", "partial_json": piece.as_ref()}))
        .collect();
    stream(MODEL, json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas, "tool_use")
}

fn stream(model: &str, block: Value, deltas: Vec<Value>, stop: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut push = |kind: &str, mut data: Value| {
        if let Some(fields) = data.as_object_mut() {
            fields.insert("type".into(), kind.into());
        }
        all.push(named_event(kind, &data));
    };
    let count = deltas.len().max(1);
    push("message_start", json!({"message": message(model, json!([]), None, 1)}));
    push("content_block_start", json!({"index": 0, "content_block": block}));
    push("ping", json!({}));
    for delta in deltas {
        push("content_block_delta", json!({"index": 0, "delta": delta}));
    }
    push("content_block_stop", json!({"index": 0}));
    push(
        "message_delta",
        json!({"delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": count}}),
    );
    push("message_stop", json!({}));
    all
}

/// The list of models.
pub fn anthropic_models<M: AsRef<str>>(models: impl IntoIterator<Item = M>) -> Value {
    let data: Vec<_> = models
        .into_iter()
        .map(|id| {
            let id = id.as_ref();
            json!({"type": "model", "id": id, "display_name": id, "created_at": "2026-01-01T00:00:00Z"})
        })
        .collect();
    let ends = |model: Option<&Value>| model.and_then(|model| model.get("id")).cloned();
    json!({"data": data, "has_more": false, "first_id": ends(data.first()), "last_id": ends(data.last())})
}

/// An error body: `{"type": "error", "error": {"type", "message"}, "request_id"}`.
pub fn anthropic_error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"})
}
