//! The targets that are no callers: Ollama, Cohere, Bedrock.

mod converse;
mod errors;
mod requests;
mod streams;

use super::{super::TargetApi, *};
use crate::{
    judge::framing::Framing,
    sse::{encode, framing::eventstream::Message},
    translate::{body::event_of, form::Wishes, out::Out},
};
use serde_json::json;

const KINDS: [Kind; 3] = [Kind::OllamaNative, Kind::CohereV2, Kind::BedrockConverse];

const WISHES: Wishes = Wishes { include_usage: true, thoughts: true };

fn api_of(kind: Kind) -> TargetApi {
    TranslateLayer::new(kind).target.api
}

/// A message of Bedrock's event stream.
fn message(kind: &str, data: &Value) -> Vec<u8> {
    Message::encode(&[(":event-type", kind), (":message-type", "event")], data.to_string().as_bytes())
        .to_vec()
}

fn exception(kind: &str, data: &Value) -> Vec<u8> {
    let headers = [(":exception-type", kind), (":message-type", "exception")];
    Message::encode(&headers, data.to_string().as_bytes()).to_vec()
}

/// The pieces of a stream that says: a thought, a text in two pieces, two tool calls, the tokens.
fn sample(kind: Kind) -> Vec<Vec<u8>> {
    let text = "He\u{e9}\u{1f600}\"\\ ";
    match kind {
        Kind::OllamaNative => [
            json!({"message": {"role": "assistant", "content": "", "thinking": "hm"}, "done": false}),
            json!({"message": {"role": "assistant", "content": text}, "done": false}),
            json!({"message": {"role": "assistant", "content": "llo"}, "done": false}),
            json!({"message": {"role": "assistant", "content": "", "tool_calls": [
                {"id": "a", "function": {"index": 0, "name": "f", "arguments": {"x": 1}}},
                {"id": "b", "function": {"index": 1, "name": "g", "arguments": {"y": "}"}}}]}, "done": false}),
            json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
                "prompt_eval_count": 9, "eval_count": 5, "total_duration": 1}),
        ]
        .map(|mut line| {
            line["model"] = json!("m");
            line["created_at"] = json!("2026-01-01T00:00:00.5Z");
            format!("{line}\n").into_bytes()
        })
        .to_vec(),
        Kind::CohereV2 => [
            json!({"type": "message-start", "id": "c1", "delta": {"message": {"role": "assistant"}}}),
            json!({"type": "content-start", "index": 0, "delta": {"message": {"content":
                {"type": "thinking", "thinking": ""}}}}),
            json!({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"thinking": "hm"}}}}),
            json!({"type": "content-end", "index": 0}),
            json!({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": text}}}),
            json!({"type": "content-delta", "index": 1, "delta": {"message": {"content": {"text": "llo"}}}}),
            json!({"type": "citation-start", "index": 0, "delta": {"message": {"citations": {"text": "x"}}}}),
            json!({"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls":
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}}}}),
            json!({"type": "tool-call-delta", "index": 0, "delta": {"message": {"tool_calls":
                {"function": {"arguments": "{\"x\":"}}}}}),
            json!({"type": "tool-call-delta", "index": 0, "delta": {"message": {"tool_calls":
                {"function": {"arguments": "1}"}}}}}),
            json!({"type": "tool-call-end", "index": 0}),
            json!({"type": "tool-call-start", "index": 1, "delta": {"message": {"tool_calls":
                {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{\"y\": \"}\"}"}}}}}),
            json!({"type": "tool-call-end", "index": 1}),
            json!({"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage":
                {"billed_units": {"input_tokens": 3, "output_tokens": 5},
                 "tokens": {"input_tokens": 9, "output_tokens": 5}}}}),
        ]
        .map(|data| encode(Some(data["type"].as_str().unwrap()), data.to_string().as_bytes()).to_vec())
        .to_vec(),
        _ => vec![
            message("messageStart", &json!({"role": "assistant", "p": "abc"})),
            message("contentBlockDelta", &json!({"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "hm"}}})),
            message("contentBlockDelta", &json!({"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "s"}}})),
            message("contentBlockStop", &json!({"contentBlockIndex": 0})),
            message("contentBlockDelta", &json!({"contentBlockIndex": 1, "delta": {"text": text}})),
            message("contentBlockDelta", &json!({"contentBlockIndex": 1, "delta": {"text": "llo"}})),
            message("contentBlockStop", &json!({"contentBlockIndex": 1})),
            message("contentBlockStart", &json!({"contentBlockIndex": 2, "start":
                {"toolUse": {"toolUseId": "a", "name": "f"}}})),
            message("contentBlockStart", &json!({"contentBlockIndex": 3, "start":
                {"toolUse": {"toolUseId": "b", "name": "g"}}})),
            message("contentBlockDelta", &json!({"contentBlockIndex": 3, "delta": {"toolUse": {"input": "{\"y\": \"}"}}})),
            message("contentBlockDelta", &json!({"contentBlockIndex": 2, "delta": {"toolUse": {"input": "{\"x\":1}"}}})),
            message("contentBlockDelta", &json!({"contentBlockIndex": 3, "delta": {"toolUse": {"input": "\"}"}}})),
            message("contentBlockStop", &json!({"contentBlockIndex": 2})),
            message("messageStop", &json!({"stopReason": "tool_use"})),
            message("metadata", &json!({"usage": {"inputTokens": 5, "cacheReadInputTokens": 4, "outputTokens": 5,
                "totalTokens": 14}, "metrics": {"latencyMs": 7}})),
        ],
    }
}

/// Translates a stream that comes in `pieces`.
fn translate<'p>(
    kind: Kind,
    to: Api,
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> Result<String, &'static str> {
    let from = api_of(kind);
    let mut translator = StreamTranslator::new(from, to, WISHES).with_model("m".into());
    let mut framing = Framing::of(from.dialect(), 1 << 20);
    let mut out = Out::default();
    for piece in pieces {
        framing.push(Bytes::copy_from_slice(piece));
        while let Ok(Some(unit)) = framing.next() {
            if let Some(event) = event_of(unit) {
                translator.event(&event, &mut out)?;
            }
        }
    }
    translator.end(&mut out)?;
    Ok(out.finish())
}
