//! JSON out of any bytes: each byte chooses, so that whatever a fuzzer changes is JSON again. Words are those of the
//! wire formats; what it makes is rarely a reply, and often nearly one.

const KEYS: [&str; 64] = [
    "error",
    "choices",
    "delta",
    "message",
    "content",
    "finish_reason",
    "index",
    "usage",
    "type",
    "text",
    "output",
    "item",
    "response",
    "candidates",
    "parts",
    "tool_calls",
    "function_call",
    "status",
    "content_block",
    "details",
    "code",
    "attempts",
    "completion_tokens",
    "output_tokens",
    "done",
    "done_reason",
    "stopReason",
    "stop_reason",
    "object",
    "finishReason",
    "promptFeedback",
    "blockReason",
    "usageMetadata",
    "thought",
    "functionCall",
    "reasoning_content",
    "refusal",
    "thinking",
    "partial_json",
    "incomplete_details",
    "reason",
    "x_groq",
    "data",
    "model",
    "stream",
    "metadata",
    "raw",
    "headers",
    "retryDelay",
    "@type",
    "quotaId",
    "errors",
    "detail",
    "param",
    "error_code",
    "availability",
    "retry_after",
    "toolUse",
    "start",
    "name",
    "__type",
    "candidatesTokenCount",
    "arguments",
    "id",
];

const WORDS: [&str; 64] = [
    "",
    "x",
    "Hi there",
    "stop",
    "length",
    "error",
    "tool_calls",
    "content_filter",
    "end_turn",
    "tool_use",
    "refusal",
    "text",
    "message",
    "thinking",
    "reasoning",
    "function_call",
    "message_start",
    "message_delta",
    "message_stop",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "text_delta",
    "input_json_delta",
    "response.created",
    "response.output_text.delta",
    "response.function_call_arguments.delta",
    "response.output_item.done",
    "response.completed",
    "response.incomplete",
    "response.failed",
    "completed",
    "incomplete",
    "failed",
    "cancelled",
    "in_progress",
    "message-end",
    "COMPLETE",
    "ERROR",
    "STOP",
    "SAFETY",
    "MAX_TOKENS",
    "MALFORMED_FUNCTION_CALL",
    "insufficient_system_resource",
    "insufficient_quota",
    "rate_limit_exceeded",
    "server_error",
    "overloaded_error",
    "RESOURCE_EXHAUSTED",
    "chat.completion",
    "429",
    "503",
    "34s",
    "Please try again in 6.57s",
    "type.googleapis.com/google.rpc.RetryInfo",
    "type.googleapis.com/google.rpc.QuotaFailure",
    "say \\\"error\\\":{",
    "caf\\u00e9",
    "\\ud83c\\udf0d",
    "\\u0065rror",
    "\\ud800",
    "a\\\\",
    "data: [DONE]",
    "ü",
];

const LITERALS: [&str; 16] = [
    "null", "null", "true", "false", "0", "1", "2", "7", "429", "0.5", "-1", "1e1", "1e400", "[]", "{}",
    " { } ",
];

/// How deep it goes.
const DEPTH: usize = 7;

/// A document; what follows it is left in `bytes`.
pub(crate) fn json(bytes: &mut &[u8]) -> String {
    let mut text = String::new();
    match next(bytes) % 16 {
        0 => value(bytes, DEPTH, &mut text),
        1 => list(bytes, DEPTH, &mut text),
        _ => object(bytes, DEPTH, &mut text),
    }
    text
}

/// A stream of named and nameless events.
pub(crate) fn stream(mut bytes: &[u8]) -> String {
    let mut text = String::new();
    while !bytes.is_empty() {
        let name = next(&mut bytes);
        if name >= 64 {
            text +=
                &format!("event: {}{}\n", if name > 240 { "!" } else { "" }, WORDS[usize::from(name % 64)]);
        }
        match name % 32 {
            31 => text += "data: [DONE]",
            _ => text += &format!("data: {}", json(&mut bytes)),
        }
        text += "\n\n";
    }
    text
}

fn next(bytes: &mut &[u8]) -> u8 {
    let Some((&first, rest)) = bytes.split_first() else { return 0 };
    *bytes = rest;
    first
}

fn value(bytes: &mut &[u8], depth: usize, text: &mut String) {
    match next(bytes) {
        0..=79 => {
            text.push('"');
            text.push_str(WORDS[usize::from(next(bytes) % 64)]);
            text.push('"');
        }
        byte if byte < 112 || depth == 0 => text.push_str(LITERALS[usize::from(byte % 16)]),
        112..=175 => list(bytes, depth - 1, text),
        _ => object(bytes, depth - 1, text),
    }
}

fn list(bytes: &mut &[u8], depth: usize, text: &mut String) {
    text.push('[');
    for n in 0..next(bytes) % 4 {
        text.push_str(if n > 0 { "," } else { "" });
        value(bytes, depth, text);
    }
    text.push(']');
}

fn object(bytes: &mut &[u8], depth: usize, text: &mut String) {
    text.push('{');
    for n in 0..next(bytes) % 8 {
        text.push_str(if n > 0 { "," } else { "" });
        let key = next(bytes);
        let name = KEYS[usize::from(key % 64)];
        match key / 64 {
            3 => text.push_str(&format!("\"\\u{:04x}{}\" : ", name.as_bytes()[0], &name[1..])),
            _ => text.push_str(&format!("\"{name}\":")),
        }
        value(bytes, depth, text);
    }
    text.push('}');
}
