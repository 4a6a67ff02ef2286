//! Answers of Cohere's `/v2/chat`.

use super::{named_event, tokens};
use serde_json::{Value, json};

/// An answer that says `text`.
pub fn cohere_chat(text: &str) -> Value {
    let message = json!({"role": "assistant", "content": [{"type": "text", "text": text}]});
    json!({"id": "c-scripted", "message": message, "finish_reason": "COMPLETE", "usage": usage(tokens(text))})
}

/// An answer that plans to call one tool, and calls it.
pub fn cohere_tool_call(id: &str, name: &str, arguments: &str) -> Value {
    let call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let message = json!({"role": "assistant", "tool_plan": "I will ask.", "tool_calls": [call]});
    json!({"id": "c-scripted", "message": message, "finish_reason": "TOOL_CALL", "usage": usage(7)})
}

/// The stream of an answer, one delta a piece. For [`Step::sse`](crate::Step::sse).
pub fn cohere_events<P: AsRef<str>>(pieces: impl IntoIterator<Item = P>) -> Vec<String> {
    let text = |kind: &str, content: Value| json!({"type": kind, "index": 0, "delta": {"message": {"content": content}}});
    let mut all = vec![start(), text("content-start", json!({"type": "text", "text": ""}))];
    all.extend(pieces.into_iter().map(|piece| text("content-delta", json!({"text": piece.as_ref()}))));
    let count = all.len() - 2;
    all.push(json!({"type": "content-end", "index": 0}));
    all.push(end("COMPLETE", count.max(1)));
    named(all)
}

/// The stream of one tool call whose arguments come in those pieces of JSON.
pub fn cohere_tool_events<P: AsRef<str>>(
    id: &str,
    name: &str,
    arguments: impl IntoIterator<Item = P>,
) -> Vec<String> {
    let call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": ""}});
    let plan = json!({"message": {"tool_plan": "I will ask."}});
    let mut all = vec![
        start(),
        json!({"type": "tool-plan-delta", "delta": plan}),
        json!({"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": call}}}),
    ];
    all.extend(arguments.into_iter().map(|piece| {
        let call = json!({"function": {"arguments": piece.as_ref()}});
        json!({"type": "tool-call-delta", "index": 0, "delta": {"message": {"tool_calls": call}}})
    }));
    all.push(json!({"type": "tool-call-end", "index": 0}));
    all.push(end("TOOL_CALL", 7));
    named(all)
}

/// An error body: flat.
pub fn cohere_error(message: &str) -> Value {
    json!({"id": "c-scripted", "message": message})
}

fn start() -> Value {
    let message =
        json!({"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []});
    json!({"type": "message-start", "id": "c-scripted", "delta": {"message": message}})
}

fn end(reason: &str, output: usize) -> Value {
    json!({"type": "message-end", "delta": {"finish_reason": reason, "usage": usage(output)}})
}

fn usage(output: usize) -> Value {
    json!({
        "billed_units": {"input_tokens": 5, "output_tokens": output},
        "tokens": {"input_tokens": 9, "output_tokens": output},
    })
}

fn named(all: Vec<Value>) -> Vec<String> {
    let name = |data: &Value| data.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    all.iter().map(|data| named_event(&name(data), data)).collect()
}
