//! What the target that is to go on is sent.

use super::{
    super::fields::{Fields, is_filled},
    gemini,
};
use crate::{dialect::Dialect, peek::Call};
use bytes::Bytes;
use serde::Serialize;

/// How a target takes the beginning of its own answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Prefill {
    /// As an assistant message at the end.
    #[default]
    Message,
    /// The same, with `"prefix": true` in that message (Mistral, DeepSeek). Chat completions only.
    Prefix,
    /// The same, with `continue_final_message` in the request (vLLM). Chat completions only.
    ContinueFinal,
    /// Not at all: it is asked from the start.
    Never,
}

/// Why a call is not continued whatever its answer is, if it is not.
pub(super) fn obstacle(call: &Call, body: &[u8]) -> Option<&'static str> {
    let Some(fields) = Fields::parse(body) else { return Some("the request is no object") };
    let filled = |key| fields.raw(key).is_some_and(is_filled);
    let typed = |key| fields.object(key).map(|object| object.text("type"));
    match call.dialect {
        Dialect::ChatCompletions => {
            if fields.read::<u64>("n").is_some_and(|n| n > 1) {
                Some("the call asks for several choices")
            } else if typed("response_format").is_some_and(|kind| kind != "text") {
                Some("the call asks for JSON")
            } else if filled("audio") {
                Some("the call asks for more than text")
            } else {
                None
            }
        }
        Dialect::Gemini => gemini::obstacle(&fields),
        _ if filled("output_format") => Some("the call asks for JSON"),
        _ if fields
            .object("output_config")
            .is_some_and(|config| config.raw("format").is_some_and(is_filled)) =>
        {
            Some("the call asks for JSON")
        }
        _ => None,
    }
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prefix: bool,
}

/// The request with `text` at its end as the beginning of the answer; `None` where there is no place for it.
pub(super) fn prefilled(dialect: Dialect, body: &[u8], text: &str, how: Prefill) -> Option<Bytes> {
    if how == Prefill::Never || text.is_empty() {
        return None;
    }
    let chat = dialect == Dialect::ChatCompletions;
    let mut fields = Fields::parse(body)?;
    if dialect == Dialect::Gemini {
        let content = gemini::said(text);
        let contents = appended(fields.raw("contents")?, &content)?;
        fields.set_raw("contents", &contents);
        return Some(fields.to_string().into());
    }
    let message = Message { role: "assistant", content: text, prefix: chat && how == Prefill::Prefix };
    let messages = appended(fields.raw("messages")?, &serde_json::to_string(&message).ok()?)?;
    fields.set_raw("messages", &messages);
    if chat && how == Prefill::ContinueFinal {
        fields.set("continue_final_message", &true);
        fields.set("add_generation_prompt", &false);
    }
    Some(fields.to_string().into())
}

/// A list with one item more; `None` where it is no list.
fn appended(list: &str, item: &str) -> Option<String> {
    let items = list.trim_end().strip_suffix(']')?.trim_end();
    let comma = if items.ends_with('[') { "" } else { "," };
    Some([items, comma, item, "]"].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peek::peek;

    fn call(path: &str, body: &str) -> Call {
        Call::new(path, peek(body.as_bytes()).unwrap())
    }

    #[test]
    fn the_partial_answer_is_the_last_message_and_nothing_else_changes() {
        let body = r#"{"model":"m", "messages" : [ {"role":"user","content":"hi"} ] ,"temperature":1.0}"#;
        let chat = |how| prefilled(Dialect::ChatCompletions, body.as_bytes(), "so \"f\"ar", how);
        assert_eq!(
            chat(Prefill::Message).unwrap(),
            r#"{"model":"m","messages":[ {"role":"user","content":"hi"},{"role":"assistant","content":"so \"f\"ar"}],"temperature":1.0}"#
        );
        assert!(
            chat(Prefill::Prefix)
                .unwrap()
                .ends_with(br#""content":"so \"f\"ar","prefix":true}],"temperature":1.0}"#)
        );
        assert!(
            chat(Prefill::ContinueFinal).unwrap().ends_with(
                br#""temperature":1.0,"continue_final_message":true,"add_generation_prompt":false}"#
            )
        );
        assert_eq!(chat(Prefill::Never), None);
        let messages = prefilled(Dialect::Messages, body.as_bytes(), "x", Prefill::Prefix).unwrap();
        assert!(!messages.windows(6).any(|part| part == b"prefix"));
    }

    #[test]
    fn what_must_not_be_pieced_together_is_not() {
        for (path, extra, refused) in [
            ("/v1/chat/completions", r#""n":2"#, true),
            ("/v1/chat/completions", r#""n":1"#, false),
            ("/v1/chat/completions", r#""response_format":{"type":"json_schema"}"#, true),
            ("/v1/chat/completions", r#""response_format":{"type":"json_object"}"#, true),
            ("/v1/chat/completions", r#""response_format":{"type":"text"}"#, false),
            ("/v1/chat/completions", r#""audio":{"voice":"x"}"#, true),
            ("/v1/messages", r#""output_config":{"format":{"type":"json_schema"}}"#, true),
            ("/v1/messages", r#""output_config":{"effort":"low"}"#, false),
            ("/v1/messages", r#""output_format":{"type":"json_schema"}"#, true),
        ] {
            let body = format!(r#"{{"model":"m","messages":[],{extra}}}"#);
            assert_eq!(obstacle(&call(path, &body), body.as_bytes()).is_some(), refused, "{body}");
        }
    }
}
