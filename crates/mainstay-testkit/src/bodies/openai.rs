//! Chat completions, completions, embeddings, models and errors in OpenAI's form.

use super::{CREATED, MODEL, event, tokens};
use serde_json::{Value, json};

/// A chat completion that says `text`.
pub fn openai_chat(text: &str) -> Value {
    openai_chat_as(MODEL, text)
}

/// A chat completion of that model.
pub fn openai_chat_as(model: &str, text: &str) -> Value {
    completion(model, json!({"role": "assistant", "content": text, "refusal": null}), "stop", tokens(text))
}

/// A chat completion that calls one tool; `arguments` is JSON as text.
pub fn openai_tool_call(id: &str, name: &str, arguments: &str) -> Value {
    let call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    completion(MODEL, json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls", 7)
}

fn completion(model: &str, message: Value, finish: &str, tokens: usize) -> Value {
    json!({
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": CREATED,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish}],
        "usage": usage(tokens),
        "system_fingerprint": null,
    })
}

fn usage(tokens: usize) -> Value {
    json!({"prompt_tokens": 9, "completion_tokens": tokens, "total_tokens": 9 + tokens})
}

/// The stream of a chat completion: the role, one event a piece, the finish reason, `[DONE]`.
pub fn openai_chunks<P: AsRef<str>>(pieces: impl IntoIterator<Item = P>) -> Vec<String> {
    openai_chunks_as(MODEL, pieces)
}

/// The stream of a chat completion of that model.
pub fn openai_chunks_as<P: AsRef<str>>(model: &str, pieces: impl IntoIterator<Item = P>) -> Vec<String> {
    let mut all = vec![chunk(model, json!({"role": "assistant", "content": ""}), None)];
    all.extend(pieces.into_iter().map(|piece| chunk(model, json!({"content": piece.as_ref()}), None)));
    all.push(chunk(model, json!({}), Some("stop")));
    all.push(event("[DONE]"));
    all
}

/// The stream of one tool call whose arguments come in those pieces.
pub fn openai_tool_chunks<P: AsRef<str>>(
    id: &str,
    name: &str,
    arguments: impl IntoIterator<Item = P>,
) -> Vec<String> {
    let start =
        json!([{"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]);
    let mut all =
        vec![chunk(MODEL, json!({"role": "assistant", "content": null, "tool_calls": start}), None)];
    for piece in arguments {
        let part = json!([{"index": 0, "function": {"arguments": piece.as_ref()}}]);
        all.push(chunk(MODEL, json!({"tool_calls": part}), None));
    }
    all.push(chunk(MODEL, json!({}), Some("tool_calls")));
    all.push(event("[DONE]"));
    all
}

fn chunk(model: &str, delta: Value, finish: Option<&str>) -> String {
    event(json!({
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": model,
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
    }))
}

/// An answer of the old completions API.
pub fn openai_completion(model: &str, text: &str) -> Value {
    json!({
        "id": "cmpl-scripted",
        "object": "text_completion",
        "created": CREATED,
        "model": model,
        "choices": [{"index": 0, "text": text, "logprobs": null, "finish_reason": "stop"}],
        "usage": usage(tokens(text)),
    })
}

/// The stream of the old completions API.
pub fn openai_completion_chunks<P: AsRef<str>>(
    model: &str,
    pieces: impl IntoIterator<Item = P>,
) -> Vec<String> {
    let chunk = |text: &str, finish: Option<&str>| {
        event(json!({
            "id": "cmpl-scripted",
            "object": "text_completion",
            "created": CREATED,
            "model": model,
            "choices": [{"index": 0, "text": text, "logprobs": null, "finish_reason": finish}],
        }))
    };
    let mut all: Vec<_> = pieces.into_iter().map(|piece| chunk(piece.as_ref(), None)).collect();
    all.push(chunk("", Some("stop")));
    all.push(event("[DONE]"));
    all
}

/// Embeddings of four dimensions for so many inputs, as plain numbers.
pub fn openai_embeddings(model: &str, inputs: usize) -> Value {
    embeddings(model, inputs, &json!([0.5, -0.25, 0.125, 1.0]))
}

/// The same numbers as a client gets them that asks for `encoding_format: base64`, which the SDKs do unasked.
pub fn openai_embeddings_base64(model: &str, inputs: usize) -> Value {
    embeddings(model, inputs, &json!("AAAAPwAAgL4AAAA+AACAPw=="))
}

fn embeddings(model: &str, inputs: usize, embedding: &Value) -> Value {
    let data: Vec<_> = (0..inputs)
        .map(|index| json!({"object": "embedding", "index": index, "embedding": embedding}))
        .collect();
    json!({
        "object": "list",
        "data": data,
        "model": model,
        "usage": {"prompt_tokens": 9, "total_tokens": 9},
    })
}

/// The list of models.
pub fn openai_models<M: AsRef<str>>(models: impl IntoIterator<Item = M>) -> Value {
    let data: Vec<_> = models
        .into_iter()
        .map(|id| json!({"id": id.as_ref(), "object": "model", "created": CREATED, "owned_by": "scripted"}))
        .collect();
    json!({"object": "list", "data": data})
}

/// An error body: `{"error": {"message", "type", "param": null, "code"}}`.
pub fn openai_error(kind: &str, code: Option<&str>, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}
