//! Answers of Bedrock's `Converse`, and the messages of its event streams.

use super::tokens;
use serde_json::{Value, json};

/// An answer that says `text`.
pub fn converse(text: &str) -> Value {
    whole(json!([{"text": text}]), "end_turn", tokens(text))
}

/// An answer that uses one tool.
pub fn converse_tool_use(id: &str, name: &str, input: Value) -> Value {
    whole(json!([{"toolUse": {"toolUseId": id, "name": name, "input": input}}]), "tool_use", 7)
}

/// The stream of an answer, one delta a piece. For [`Step::event_stream`](crate::Step::event_stream).
pub fn converse_messages<P: AsRef<str>>(pieces: impl IntoIterator<Item = P>) -> Vec<Vec<u8>> {
    let delta = |piece: P| json!({"contentBlockIndex": 0, "delta": {"text": piece.as_ref()}});
    let deltas: Vec<Value> = pieces.into_iter().map(delta).collect();
    let count = deltas.len().max(1);
    stream(None, deltas, "end_turn", count)
}

/// The stream of one use of a tool whose input comes in those pieces of JSON.
pub fn converse_tool_messages<P: AsRef<str>>(
    id: &str,
    name: &str,
    input: impl IntoIterator<Item = P>,
) -> Vec<Vec<u8>> {
    let start = json!({"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": id, "name": name}}});
    let delta = |piece: P| json!({"contentBlockIndex": 0, "delta": {"toolUse": {"input": piece.as_ref()}}});
    stream(Some(start), input.into_iter().map(delta).collect(), "tool_use", 7)
}

/// A message of an event stream that says that it failed, such as `throttlingException`.
pub fn converse_exception(kind: &str, message: &str) -> Vec<u8> {
    let headers =
        [(":message-type", "exception"), (":exception-type", kind), (":content-type", "application/json")];
    aws_message(&headers, json!({"message": message}).to_string().as_bytes())
}

/// A message of an AWS event stream: its string headers, its payload, its two checksums.
pub fn aws_message(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(name.len() as u8);
        head.extend_from_slice(name.as_bytes());
        head.push(7);
        head.extend_from_slice(&(value.len() as u16).to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let mut out = Vec::new();
    out.extend_from_slice(&((16 + head.len() + payload.len()) as u32).to_be_bytes());
    out.extend_from_slice(&(head.len() as u32).to_be_bytes());
    out.extend_from_slice(&crc32(&out).to_be_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(payload);
    out.extend_from_slice(&crc32(&out).to_be_bytes());
    out
}

fn whole(content: Value, reason: &str, output: usize) -> Value {
    json!({
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": reason,
        "usage": usage(output),
        "metrics": {"latencyMs": 1},
    })
}

fn stream(start: Option<Value>, deltas: Vec<Value>, reason: &str, output: usize) -> Vec<Vec<u8>> {
    let event = |kind: &str, data: &Value| {
        let headers =
            [(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")];
        aws_message(&headers, data.to_string().as_bytes())
    };
    let mut all = vec![event("messageStart", &json!({"role": "assistant"}))];
    all.extend(start.iter().map(|start| event("contentBlockStart", start)));
    all.extend(deltas.iter().map(|delta| event("contentBlockDelta", delta)));
    all.push(event("contentBlockStop", &json!({"contentBlockIndex": 0})));
    all.push(event("messageStop", &json!({"stopReason": reason})));
    all.push(event("metadata", &json!({"usage": usage(output), "metrics": {"latencyMs": 1}})));
    all
}

fn usage(output: usize) -> Value {
    json!({"inputTokens": 9, "outputTokens": output, "totalTokens": 9 + output})
}

/// CRC-32 of ISO 3309, bit by bit: streams of tests are short.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |sum, byte| {
        (0..8).fold(
            sum ^ u32::from(*byte),
            |sum, _| {
                if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 }
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_that_everyone_means() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
