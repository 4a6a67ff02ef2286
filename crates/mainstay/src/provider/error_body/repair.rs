//! JSON that was cut off in the middle.

use serde_json::Value;

/// The deepest nesting that is mended.
const MAX_DEPTH: usize = 64;

/// What a JSON text that was cut off says as far as it goes: the open string and the open containers are closed; if
/// that is no JSON, all after the last whole member is dropped.
pub(super) fn cut(text: &[u8]) -> Option<Value> {
    let mut open = Vec::new();
    let mut in_string = false;
    let mut escaped = false;
    // Where all before is whole, and what is open there.
    let mut safe = (0, Vec::new());
    for (at, &byte) in text.iter().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                open.push(if byte == b'{' { b'}' } else { b']' });
                if open.len() > MAX_DEPTH {
                    return None;
                }
                safe = (at + 1, open.clone());
            }
            b'}' | b']' => {
                if open.pop() != Some(byte) {
                    return None;
                }
                safe = (at + 1, open.clone());
            }
            b',' => safe = (at, open.clone()),
            _ => {}
        }
    }
    if open.is_empty() {
        return None;
    }
    let mut whole = text.to_vec();
    if in_string {
        if escaped {
            whole.pop();
        }
        // A character or a \u escape may have been cut in two.
        while let Err(error) = std::str::from_utf8(&whole) {
            if error.error_len().is_some() {
                return None;
            }
            whole.truncate(error.valid_up_to());
        }
        whole.push(b'"');
    }
    parse(whole, &open).or_else(|| parse(text.get(..safe.0)?.to_vec(), &safe.1))
}

fn parse(mut text: Vec<u8>, open: &[u8]) -> Option<Value> {
    text.extend(open.iter().rev());
    serde_json::from_slice(&text).ok()
}
