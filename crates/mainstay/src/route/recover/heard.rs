//! What the caller of a stream has so far.

use super::super::fields::{Fields, is_filled};
use crate::{dialect::Dialect, sse::Event};
use serde_json::{Value, value::RawValue};

/// More text than this is not kept, and such a stream is not continued.
const LONGEST: usize = 1024 * 1024;

/// What of a stream has reached the caller.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) dialect: Dialect,
    /// The text, without reasoning.
    pub(super) text: String,
    /// Why the stream cannot be continued.
    pub(super) obstacle: Option<&'static str>,
    /// The reasoning has not ended in text.
    pub(super) thinking: bool,
    /// A reason for the end was given.
    pub(super) finished: bool,
    /// The id of the answer and the time at which it began, as the first chunk gave them.
    pub(super) id: Option<Box<RawValue>>,
    pub(super) created: Option<Box<RawValue>>,
    /// The tokens that the caller was told of, in the dialect's own form.
    pub(super) usage: Value,
    /// Messages: the content blocks that were begun, and the text block that has not ended.
    pub(super) blocks: u64,
    pub(super) open: Option<u64>,
    /// Messages: `message_start` was seen.
    pub(super) started: bool,
}

impl Heard {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            text: String::new(),
            obstacle: None,
            thinking: false,
            finished: false,
            id: None,
            created: None,
            usage: Value::Null,
            blocks: 0,
            open: None,
            started: false,
        }
    }

    /// Why the stream cannot be continued, if it cannot.
    pub(super) fn obstacle(&self) -> Option<&'static str> {
        let state = if self.finished {
            Some("the answer had been finished")
        } else if self.thinking {
            Some("the answer was cut in its reasoning")
        } else {
            None
        };
        self.obstacle.or(state)
    }

    /// An event has been handed on.
    pub(super) fn note(&mut self, event: &Event) {
        let Some(fields) = Fields::parse(event.data()) else { return };
        match self.dialect {
            Dialect::Messages => self.note_messages(event, &fields),
            Dialect::Gemini => self.note_gemini(&fields),
            _ => self.note_chat(&fields),
        }
    }

    fn note_chat(&mut self, fields: &Fields<'_>) {
        if self.id.is_none() {
            self.id = fields.read("id");
            self.created = fields.read("created");
        }
        self.add_usage(fields, "usage");
        for (at, choice) in fields.read::<Vec<Fields<'_>>>("choices").unwrap_or_default().iter().enumerate() {
            if at > 0 || choice.read::<u64>("index").unwrap_or(0) > 0 {
                self.obstacle = Some("the answer has several choices");
            }
            self.finished |= choice.raw("finish_reason").is_some_and(is_filled);
            let Some(delta) = choice.object("delta") else { continue };
            for (key, value) in delta.iter().filter(|(_, value)| is_filled(value)) {
                match key {
                    "content" => match serde_json::from_str::<String>(value) {
                        Ok(text) => self.add_text(&text),
                        Err(_) => self.obstacle = Some("the answer is more than text"),
                    },
                    "role" => {}
                    "tool_calls" | "function_call" => self.obstacle = Some("the answer calls tools"),
                    "refusal" | "audio" | "images" => self.obstacle = Some("the answer is more than text"),
                    _ if is_reasoning(key) => self.thinking |= self.text.is_empty(),
                    _ => {}
                }
            }
        }
    }

    fn note_messages(&mut self, event: &Event, fields: &Fields<'_>) {
        let kind = fields.text("type");
        match if kind.is_empty() { event.name() } else { &kind } {
            "message_start" => {
                self.started = true;
                if let Some(message) = fields.object("message") {
                    self.add_usage(&message, "usage");
                }
            }
            "content_block_start" => {
                self.blocks += 1;
                let Some(block) = fields.object("content_block") else { return };
                match &*block.text("type") {
                    "text" => {
                        self.open = fields.read("index");
                        self.add_text(&block.text("text"));
                    }
                    "thinking" | "redacted_thinking" => self.thinking = true,
                    _ => self.obstacle = Some("the answer calls tools"),
                }
            }
            "content_block_delta" => {
                if let Some(delta) = fields.object("delta") {
                    self.add_text(&delta.text("text"));
                }
            }
            "content_block_stop" => {
                self.open = self.open.filter(|open| fields.read::<u64>("index") != Some(*open));
            }
            "message_delta" => {
                self.finished |= fields
                    .object("delta")
                    .is_some_and(|delta| delta.raw("stop_reason").is_some_and(is_filled));
                self.add_usage(fields, "usage");
            }
            _ => {}
        }
    }

    pub(super) fn add_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.thinking = false;
        if self.text.len() + text.len() > LONGEST {
            self.obstacle = Some("the answer is too long to be kept");
        } else {
            self.text.push_str(text);
        }
    }

    /// Running counts: what is told again replaces what was told before.
    pub(super) fn add_usage(&mut self, fields: &Fields<'_>, key: &str) {
        if let Some(Value::Object(new)) = fields.read::<Value>(key) {
            match &mut self.usage {
                Value::Object(known) => known.extend(new),
                place => *place = Value::Object(new),
            }
        }
    }
}

/// Whether a field of a delta holds reasoning, as OpenAI's imitators call it.
pub(super) fn is_reasoning(key: &str) -> bool {
    matches!(
        key,
        "reasoning_content"
            | "reasoning"
            | "reasoning_text"
            | "reasoning_details"
            | "thinking"
            | "thinking_blocks"
    )
}

/// The sum of what two replies cost, count by count. What is no count is the second one's.
pub(super) fn sum(first: &Value, second: &Value) -> Value {
    match (first, second) {
        (Value::Object(first), Value::Object(second)) => {
            let mut all = second.clone();
            for (key, value) in first {
                let of_both = second.get(key).map_or_else(|| value.clone(), |other| sum(value, other));
                all.insert(key.clone(), of_both);
            }
            Value::Object(all)
        }
        (Value::Number(a), Value::Number(b)) => match (a.as_u64(), b.as_u64()) {
            (Some(a), Some(b)) => a.saturating_add(b).into(),
            _ => second.clone(),
        },
        (first, Value::Null) => first.clone(),
        _ => second.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_add_up_and_words_do_not() {
        let first = json!({"input_tokens": 10, "details": {"cached": 3}, "tier": "a", "only": 1});
        let second = json!({"input_tokens": 14, "output_tokens": 2, "details": {"cached": 4}, "tier": "b"});
        let all =
            json!({"input_tokens": 24, "output_tokens": 2, "details": {"cached": 7}, "tier": "b", "only": 1});
        assert_eq!(sum(&first, &second), all);
        assert_eq!(sum(&Value::Null, &second), second);
        assert_eq!(sum(&first, &Value::Null), first);
    }
}
