//! Whether a caller's SDK would notice a provider's error event.

use mainstay::dialect::Dialect;

/// What an SDK makes of a provider's error event as it came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It raises: the event is handed on.
    Raises,
    /// It takes it for a piece of the answer, whose last words may be in it: the error is told behind it.
    Passes,
    /// It does not see it, or not the reason: the error is told in its place.
    Never,
}

/// Of an event's bytes as they came, and its data. A chunk that ends for an error (`finish_reason` `error`) raises nowhere. Not seen are bare JSON without `data:`, a bare
/// `{"message"}` behind `event: error`, the flat error of Responses, an error of Messages without the event's name.
pub(super) fn seen(dialect: Dialect, raw: &[u8], data: &[u8]) -> Seen {
    let line = |begin: fn(&[u8]) -> bool| raw.split(|byte| matches!(byte, b'\n' | b'\r')).any(begin);
    let Ok(data) = serde_json::from_slice::<serde_json::Value>(data) else { return Seen::Never };
    let has = |key: &str| data.get(key).is_some_and(|value| !value.is_null());
    let framed = || line(|line| line.starts_with(b"data"));
    let raises = match dialect {
        Dialect::Responses => framed() && (has("error") || has("response")),
        Dialect::Messages => {
            let named =
                |line: &[u8]| line.strip_prefix(b"event:").is_some_and(|name| name.trim_ascii() == b"error");
            framed() && has("error") && line(named)
        }
        Dialect::ChatCompletions | Dialect::Completions if has("error") => framed(),
        Dialect::Gemini if has("error") => framed(),
        Dialect::ChatCompletions | Dialect::Completions | Dialect::Gemini => {
            let piece = framed() && (has("choices") || has("candidates"));
            return if piece { Seen::Passes } else { Seen::Never };
        }
        _ => true,
    };
    if raises { Seen::Raises } else { Seen::Never }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_sdk_raises_on_is_told_behind_it_or_in_its_place() {
        let error = r#"{"error":{"message":"m"}}"#;
        for (dialect, data, framed, bare) in [
            (Dialect::ChatCompletions, error, Seen::Raises, Seen::Never),
            (Dialect::Completions, error, Seen::Raises, Seen::Never),
            (Dialect::Gemini, error, Seen::Raises, Seen::Never),
            (Dialect::Responses, error, Seen::Raises, Seen::Never),
            (Dialect::Messages, error, Seen::Never, Seen::Never),
            (
                Dialect::ChatCompletions,
                r#"{"error":null,"choices":[{"finish_reason":"error"}]}"#,
                Seen::Passes,
                Seen::Never,
            ),
            (Dialect::Gemini, r#"{"candidates":[{"finishReason":"OTHER"}]}"#, Seen::Passes, Seen::Never),
            (Dialect::ChatCompletions, r#"{"message":"m"}"#, Seen::Never, Seen::Never),
            (Dialect::Responses, r#"{"type":"error","message":"m"}"#, Seen::Never, Seen::Never),
            (Dialect::ChatCompletions, "boom", Seen::Never, Seen::Never),
        ] {
            for end in ["\n\n", "\r\n\r\n", "\r\r"] {
                let event = format!("data: {data}{end}");
                assert_eq!(seen(dialect, event.as_bytes(), data.as_bytes()), framed, "{dialect:?} {data}");
            }
            let lines = format!("{data}\n\n");
            assert_eq!(seen(dialect, lines.as_bytes(), data.as_bytes()), bare, "{dialect:?} {data}");
        }
        let named = format!("event: error\ndata: {error}\n\n");
        assert_eq!(seen(Dialect::Messages, named.as_bytes(), error.as_bytes()), Seen::Raises);
    }
}
