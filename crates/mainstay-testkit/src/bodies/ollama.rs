//! Answers of Ollama's own API.

use super::{MODEL, tokens};
use serde_json::{Value, json};

const WHEN: &str = "2026-01-01T00:00:00.5Z";

/// An answer of `/api/chat` that says `text`.
pub fn ollama_chat(text: &str) -> Value {
    let message = json!({"role": "assistant", "content": text});
    last(message, "stop", tokens(text))
}

/// An answer that calls one tool.
pub fn ollama_tool_call(name: &str, arguments: Value) -> Value {
    let call = json!({"function": {"index": 0, "name": name, "arguments": arguments}});
    last(json!({"role": "assistant", "content": "", "tool_calls": [call]}), "stop", 7)
}

/// The stream of an answer: one line a piece, and a last one with the counts. For [`Step::ndjson`](crate::Step::ndjson).
pub fn ollama_lines<P: AsRef<str>>(pieces: impl IntoIterator<Item = P>) -> Vec<String> {
    let mut lines: Vec<Value> = pieces
        .into_iter()
        .map(|piece| {
            let message = json!({"role": "assistant", "content": piece.as_ref()});
            json!({"model": MODEL, "created_at": WHEN, "message": message, "done": false})
        })
        .collect();
    let count = lines.len().max(1);
    lines.push(last(json!({"role": "assistant", "content": ""}), "stop", count));
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

/// An error, as a body and as a line of a stream.
pub fn ollama_error(message: &str) -> Value {
    json!({"error": message})
}

fn last(message: Value, reason: &str, output: usize) -> Value {
    json!({
        "model": MODEL,
        "created_at": WHEN,
        "message": message,
        "done": true,
        "done_reason": reason,
        "total_duration": 4_883_583_458_u64,
        "load_duration": 1_334_875,
        "prompt_eval_count": 9,
        "prompt_eval_duration": 342_546_000,
        "eval_count": output,
        "eval_duration": 4_535_599_000_u64,
    })
}
