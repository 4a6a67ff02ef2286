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

/// Fields that requests have, and that nest.
const ASKED: [&str; 64] = [
    "model",
    "messages",
    "role",
    "content",
    "type",
    "text",
    "image_url",
    "url",
    "source",
    "data",
    "media_type",
    "file",
    "file_data",
    "filename",
    "file_id",
    "input_audio",
    "format",
    "tool_calls",
    "id",
    "function",
    "name",
    "arguments",
    "tool_call_id",
    "tool_use_id",
    "input",
    "thinking",
    "budget_tokens",
    "effort",
    "tools",
    "parameters",
    "input_schema",
    "tool_choice",
    "parallel_tool_calls",
    "system",
    "instructions",
    "max_tokens",
    "max_output_tokens",
    "temperature",
    "top_k",
    "stop",
    "stop_sequences",
    "response_format",
    "json_schema",
    "schema",
    "reasoning",
    "reasoning_effort",
    "stream",
    "stream_options",
    "n",
    "contents",
    "parts",
    "inlineData",
    "mimeType",
    "fileData",
    "functionCall",
    "functionResponse",
    "args",
    "response",
    "systemInstruction",
    "generationConfig",
    "thinkingConfig",
    "functionDeclarations",
    "call_id",
    "output",
];

/// Values of a request that mean something.
const SAID: [&str; 64] = [
    "",
    "x",
    " ",
    "user",
    "assistant",
    "model",
    "system",
    "tool",
    "developer",
    "function",
    "text",
    "image_url",
    "image",
    "document",
    "file",
    "input_text",
    "output_text",
    "input_image",
    "input_file",
    "tool_use",
    "tool_result",
    "thinking",
    "base64",
    "url",
    "data:image/png;base64,AAAA",
    "data:,",
    "https://a.b/c",
    "gs://a",
    "auto",
    "none",
    "any",
    "required",
    "json_schema",
    "json_object",
    "enabled",
    "adaptive",
    "disabled",
    "low",
    "high",
    "max",
    "{}",
    "{\\\"a\\\":1}",
    "[]",
    "{\\\"a",
    "a",
    "message",
    "function_call",
    "function_call_output",
    "reasoning",
    "ANY",
    "AUTO",
    "VALIDATED",
    "STRING",
    "OBJECT",
    "application/json",
    "image/png",
    "application/pdf",
    "audio/wav",
    "\\u0000",
    "\\ud83c\\udf0d",
    "\\ud800",
    "caf\\u00e9",
    "a\\\\",
    "call_1",
];

/// A request of a dialect, with anything in its main fields.
pub(crate) fn request(letter: u8, mut bytes: &[u8]) -> String {
    let main = match letter {
        b'r' => "input",
        b'g' => "contents",
        _ => "messages",
    };
    let mut text = format!("{{\"model\":\"m\",\"{main}\":[");
    for n in 0..next(&mut bytes) % 4 {
        text.push_str(if n > 0 { ",{\"role\":\"" } else { "{\"role\":\"" });
        text.push_str(["user", "assistant", "tool", "model"][usize::from(next(&mut bytes) % 4)]);
        text.push_str(if letter == b'g' { "\",\"parts\":" } else { "\",\"content\":" });
        Words { keys: &ASKED, words: &SAID }.value(&mut bytes, DEPTH, &mut text);
        text.push('}');
    }
    text.push(']');
    while !bytes.is_empty() {
        text.push_str(&format!(",\"{}\":", ASKED[usize::from(next(&mut bytes) % 64)]));
        Words { keys: &ASKED, words: &SAID }.value(&mut bytes, DEPTH, &mut text);
    }
    text.push('}');
    text
}

/// A reply of a dialect, with anything in its main field.
pub(crate) fn reply(letter: u8, mut bytes: &[u8]) -> String {
    let (before, after) = match letter {
        b'r' => ("{\"id\":\"resp_1\",\"output\":[", "],\"usage\":"),
        b'm' => ("{\"type\":\"message\",\"content\":[", "],\"usage\":"),
        b'g' => ("{\"candidates\":[{\"content\":{\"parts\":[", "]}}],\"usageMetadata\":"),
        b'o' => ("{\"done\":true,\"message\":{\"tool_calls\":[", "]},\"usage\":"),
        b'h' => ("{\"id\":\"x\",\"message\":{\"content\":[", "]},\"usage\":"),
        b'b' => ("{\"output\":{\"message\":{\"content\":[", "]}},\"usage\":"),
        _ => ("{\"choices\":[{\"message\":{\"tool_calls\":[", "]}}],\"usage\":"),
    };
    let mut text = before.to_owned();
    list_of(&mut bytes, &mut text);
    text.push_str(after);
    WORDS_OF_REPLIES.value(&mut bytes, DEPTH, &mut text);
    text.push('}');
    text
}

fn list_of(bytes: &mut &[u8], text: &mut String) {
    for n in 0..next(bytes) % 4 {
        text.push_str(if n > 0 { "," } else { "" });
        WORDS_OF_REPLIES.object(bytes, DEPTH, text);
    }
}

/// The names and values that JSON is made of.
#[derive(Clone, Copy)]
struct Words {
    keys: &'static [&'static str; 64],
    words: &'static [&'static str; 64],
}

const WORDS_OF_REPLIES: Words = Words { keys: &KEYS, words: &WORDS };

/// A document; what follows it is left in `bytes`.
pub(crate) fn json(bytes: &mut &[u8]) -> String {
    let mut text = String::new();
    match next(bytes) % 16 {
        0 => WORDS_OF_REPLIES.value(bytes, DEPTH, &mut text),
        1 => WORDS_OF_REPLIES.list(bytes, DEPTH, &mut text),
        _ => WORDS_OF_REPLIES.object(bytes, DEPTH, &mut text),
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

impl Words {
    fn value(self, bytes: &mut &[u8], depth: usize, text: &mut String) {
        match next(bytes) {
            0..=79 => {
                text.push('"');
                text.push_str(self.words[usize::from(next(bytes) % 64)]);
                text.push('"');
            }
            byte if byte < 112 || depth == 0 => text.push_str(LITERALS[usize::from(byte % 16)]),
            112..=175 => self.list(bytes, depth - 1, text),
            _ => self.object(bytes, depth - 1, text),
        }
    }

    fn list(self, bytes: &mut &[u8], depth: usize, text: &mut String) {
        text.push('[');
        for n in 0..next(bytes) % 4 {
            text.push_str(if n > 0 { "," } else { "" });
            self.value(bytes, depth, text);
        }
        text.push(']');
    }

    fn object(self, bytes: &mut &[u8], depth: usize, text: &mut String) {
        text.push('{');
        for n in 0..next(bytes) % 8 {
            text.push_str(if n > 0 { "," } else { "" });
            let key = next(bytes);
            let name = self.keys[usize::from(key % 64)];
            match key / 64 {
                3 => text.push_str(&format!("\"\\u{:04x}{}\" : ", name.as_bytes()[0], &name[1..])),
                _ => text.push_str(&format!("\"{name}\":")),
            }
            self.value(bytes, depth, text);
        }
        text.push('}');
    }
}
