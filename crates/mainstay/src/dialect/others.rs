//! The dialects that providers speak and callers do not: Cohere's, Ollama's, Bedrock's; embeddings; anything else.

use super::{Finish, chat::Delta, seen::Seen};
use crate::json::{NotJson, Shape, Value, Visit, is_word, raw, skip, walk};

/// Cohere's `/v2/chat`, whole and in events.
pub(super) struct Cohere<'s, 'de>(pub(super) &'s mut Seen<'de>);

impl<'de> Visit<'de> for Cohere<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "type" => self.0.terminal |= is_word(raw(value)?, "message-end"),
            "delta" | "content" => {
                walk(value, self)?;
            }
            // A flat error has its words here.
            "message" => self.0.is_error |= walk(value, self)? == Shape::Text,
            "text" => self.0.text(raw(value)?),
            "thinking" | "tool_plan" | "citations" => {
                self.0.filled(raw(value)?);
            }
            "tool_calls" => self.0.tool |= self.0.filled(raw(value)?),
            "finish_reason" => {
                self.0.finish(raw(value)?);
            }
            "usage" => {
                walk(value, &mut self.0.tokens)?;
            }
            "error" => self.0.error(raw(value)?),
            _ => skip(value)?,
        }
        Ok(())
    }

    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        walk(value, self).map(drop)
    }
}

/// Ollama's `/api/chat` and `/api/generate`, whole and in lines.
pub(super) struct Ollama<'s, 'de>(pub(super) &'s mut Seen<'de>);

impl<'de> Visit<'de> for Ollama<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "message" => {
                walk(value, &mut Delta(&mut *self.0))?;
            }
            "response" => self.0.text(raw(value)?),
            "thinking" => {
                self.0.filled(raw(value)?);
            }
            "done" => {
                self.0.terminal = raw(value)?.get() == "true";
                if self.0.terminal && self.0.finish.is_none() {
                    self.0.finish = Some(Finish::Stop);
                }
            }
            "done_reason" => {
                self.0.finish(raw(value)?);
            }
            "error" => self.0.error(raw(value)?),
            "prompt_eval_count" | "eval_count" => self.0.tokens.field(key, value)?,
            _ => skip(value)?,
        }
        Ok(())
    }
}

/// Bedrock's `Converse` and the payloads of `ConverseStream`.
pub(super) struct Converse<'s, 'de>(pub(super) &'s mut Seen<'de>);

impl<'de> Visit<'de> for Converse<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "output" | "content" | "delta" | "start" => {
                walk(value, self)?;
            }
            // An exception has its words here.
            "message" | "Message" => self.0.is_error |= walk(value, self)? == Shape::Text,
            "text" => self.0.text(raw(value)?),
            "reasoningContent" => {
                self.0.filled(raw(value)?);
            }
            "toolUse" => self.0.tool |= self.0.filled(raw(value)?),
            "stopReason" => {
                self.0.finish(raw(value)?);
            }
            "usage" => {
                walk(value, &mut self.0.tokens)?;
                self.0.terminal = true;
            }
            _ => AnyError(&mut *self.0).field(key, value)?,
        }
        Ok(())
    }

    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        walk(value, self).map(drop)
    }
}

/// OpenAI's embeddings.
pub(super) struct Embeddings<'s, 'de>(pub(super) &'s mut Seen<'de>);

impl<'de> Visit<'de> for Embeddings<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            // Cohere and Ollama call the list so.
            "data" | "embeddings" => {
                if let Shape::List(n) = walk(value, &mut Nothing)? {
                    self.0.listed = Some(n);
                    self.0.content |= n > 0;
                }
                Ok(())
            }
            "usage" => walk(value, &mut self.0.tokens).map(drop),
            _ => AnyError(&mut *self.0).field(key, value),
        }
    }

    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        walk(value, self).map(drop)
    }
}

struct Nothing;

impl Visit<'_> for Nothing {}

/// The errors that any reply may carry.
pub(super) struct AnyError<'s, 'de>(pub(super) &'s mut Seen<'de>);

impl<'de> Visit<'de> for AnyError<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "error" => self.0.error(raw(value)?),
            "object" | "type" => self.0.is_error |= is_word(raw(value)?, "error"),
            _ => skip(value)?,
        }
        Ok(())
    }

    // A list of one, as Gemini's imitation of OpenAI wraps its errors.
    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        walk(value, self).map(drop)
    }
}
