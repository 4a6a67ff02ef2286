//! The Responses API.

use super::{CREATED, MODEL, named_event, tokens};
use serde_json::{Value, json};

/// A response that says `text`.
pub fn openai_response(text: &str) -> Value {
    openai_response_as(MODEL, text)
}

/// A response of that model.
pub fn openai_response_as(model: &str, text: &str) -> Value {
    let tokens = tokens(text);
    let usage = json!({
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 9 + tokens,
    });
    response(model, "completed", json!([message("completed", json!([part(text)]))]), usage)
}

/// The stream of a response: its whole life from `response.created` to `response.completed`, one delta a piece.
pub fn openai_response_events<P: AsRef<str>>(pieces: impl IntoIterator<Item = P>) -> Vec<String> {
    openai_response_events_as(MODEL, pieces)
}

/// The stream of a response of that model.
pub fn openai_response_events_as<P: AsRef<str>>(
    model: &str,
    pieces: impl IntoIterator<Item = P>,
) -> Vec<String> {
    let mut all = Vec::new();
    let mut push = |kind: &str, mut data: Value| {
        if let Some(fields) = data.as_object_mut() {
            fields.insert("type".into(), kind.into());
            fields.insert("sequence_number".into(), all.len().into());
        }
        all.push(named_event(kind, &data));
    };
    let begun = response(model, "in_progress", json!([]), Value::Null);
    push("response.created", json!({"response": begun}));
    push("response.in_progress", json!({"response": begun}));
    push("response.output_item.added", json!({"output_index": 0, "item": message("in_progress", json!([]))}));
    let at = json!({"item_id": "msg_scripted", "output_index": 0, "content_index": 0});
    push("response.content_part.added", with(&at, json!({"part": part("")})));
    let mut text = String::new();
    for piece in pieces {
        text.push_str(piece.as_ref());
        push("response.output_text.delta", with(&at, json!({"delta": piece.as_ref(), "logprobs": []})));
    }
    push("response.output_text.done", with(&at, json!({"text": text, "logprobs": []})));
    push("response.content_part.done", with(&at, json!({"part": part(&text)})));
    let item = message("completed", json!([part(&text)]));
    push("response.output_item.done", json!({"output_index": 0, "item": item}));
    push("response.completed", json!({"response": openai_response_as(model, &text)}));
    all
}

fn response(model: &str, status: &str, output: Value, usage: Value) -> Value {
    json!({
        "id": "resp_scripted",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "max_output_tokens": null,
        "metadata": {},
        "model": model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": {"effort": null, "summary": null},
        "store": false,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "user": null,
    })
}

fn message(status: &str, content: Value) -> Value {
    json!({"id": "msg_scripted", "type": "message", "role": "assistant", "status": status, "content": content})
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn with(base: &Value, more: Value) -> Value {
    let fields = [base, &more].into_iter().filter_map(Value::as_object).flatten();
    fields.map(|(name, value)| (name.clone(), value.clone())).collect::<serde_json::Map<_, _>>().into()
}
