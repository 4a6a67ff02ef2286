//! OpenAI's chat completions and completions, whole and in chunks, with what imitators add.

use super::seen::Seen;
use crate::json::{NotJson, Shape, Value, Visit, count, is_word, parse, raw, skip, walk};

pub(super) struct Chat<'s, 'de>(pub(super) &'s mut Seen<'de>);

impl<'de> Visit<'de> for Chat<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "choices" => {
                let mut choices = Choices { seen: &mut *self.0, at: 0 };
                if let Shape::List(n) = walk(value, &mut choices)? {
                    self.0.listed = Some(n);
                }
            }
            "usage" => {
                walk(value, &mut self.0.tokens)?;
            }
            "x_groq" => {
                walk(value, self)?;
            }
            "error" => self.0.error(raw(value)?),
            // Flat errors: `{"object": "error", "message": ...}` (Mistral, old vLLM), `{"type": "error", ...}`.
            "object" | "type" => self.0.is_error |= is_word(raw(value)?, "error"),
            _ => skip(value)?,
        }
        Ok(())
    }

    // A list that holds one reply: Gemini's imitation wraps its errors so.
    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        walk(value, self).map(drop)
    }
}

struct Choices<'s, 'de> {
    seen: &'s mut Seen<'de>,
    at: u64,
}

impl<'de> Visit<'de> for Choices<'_, 'de> {
    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        let mut choice = Choice { seen: &mut *self.seen, index: self.at, finished: false };
        let shape = walk(value, &mut choice)?;
        choice.seen.object(shape);
        let (bit, finished) = (Seen::bit(choice.index), choice.finished);
        self.seen.choices |= bit;
        self.seen.finished |= if finished { bit } else { 0 };
        self.at += 1;
        Ok(())
    }
}

struct Choice<'s, 'de> {
    seen: &'s mut Seen<'de>,
    index: u64,
    finished: bool,
}

impl<'de> Visit<'de> for Choice<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "index" => self.index = count(raw(value)?).unwrap_or(self.index),
            "delta" | "message" => {
                let shape = walk(value, &mut Delta(&mut *self.seen))?;
                self.seen.object(shape);
            }
            "text" => self.seen.text(raw(value)?),
            "finish_reason" => self.finished |= self.seen.finish(raw(value)?),
            "error" => self.seen.error(raw(value)?),
            _ => skip(value)?,
        }
        Ok(())
    }
}

/// A message, or what a chunk adds to it.
pub(super) struct Delta<'s, 'de>(pub(super) &'s mut Seen<'de>);

impl<'de> Visit<'de> for Delta<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "content" => {
                let content = raw(value)?;
                // A list of parts (Mistral).
                if content.get().starts_with('[') {
                    self.0.filled(content);
                } else {
                    self.0.text(content);
                }
            }
            "refusal" => self.0.text(raw(value)?),
            "reasoning_content" | "reasoning" | "reasoning_text" | "reasoning_details" | "thinking"
            | "audio" | "images" | "annotations" => {
                self.0.filled(raw(value)?);
            }
            "tool_calls" => {
                let calls = raw(value)?;
                self.0.tool |= self.0.filled(calls);
                self.0.broken |= self.0.whole && !matches!(calls.get().as_bytes().first(), Some(b'[' | b'n'));
                if self.0.whole {
                    parse(calls.get().as_bytes(), &mut Calls(&mut *self.0))?;
                }
            }
            "function_call" => self.0.tool |= self.0.filled(raw(value)?),
            _ => skip(value)?,
        }
        Ok(())
    }
}

/// The tool calls of a message, for their arguments.
struct Calls<'s, 'de>(&'s mut Seen<'de>);

impl<'de> Visit<'de> for Calls<'_, '_> {
    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        walk(value, self).map(drop)
    }

    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "function" => walk(value, self).map(drop),
            "arguments" => {
                self.0.arguments(raw(value)?);
                Ok(())
            }
            _ => skip(value),
        }
    }
}
