//! Gemini's `GenerateContentResponse`: a whole answer and each event of a stream have the same shape.

use super::{Finish, seen::Seen};
use crate::json::{NotJson, Raw, Shape, Value, Visit, count, is_filled, raw, skip, walk};

pub(super) struct Gemini<'s, 'de>(pub(super) &'s mut Seen<'de>);

impl<'de> Visit<'de> for Gemini<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "candidates" => {
                let mut candidates = Candidates { seen: &mut *self.0, at: 0 };
                if let Shape::List(n) = walk(value, &mut candidates)? {
                    self.0.listed = Some(n.max(self.0.listed.unwrap_or(0)));
                }
            }
            "usageMetadata" | "usage_metadata" => {
                walk(value, &mut self.0.tokens)?;
            }
            "promptFeedback" | "prompt_feedback" => {
                walk(value, &mut Feedback(&mut *self.0))?;
            }
            "error" => self.0.error(raw(value)?),
            _ => skip(value)?,
        }
        Ok(())
    }

    // Without `alt=sse` a stream is a list of replies, and so are its errors.
    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        walk(value, self).map(drop)
    }
}

struct Feedback<'s, 'de>(&'s mut Seen<'de>);

impl<'de> Visit<'de> for Feedback<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "blockReason" | "block_reason" => {
                if is_filled(raw(value)?) {
                    self.0.finish = Some(Finish::ContentFilter);
                    self.0.choices |= 1;
                    self.0.finished |= 1;
                }
                Ok(())
            }
            _ => skip(value),
        }
    }
}

struct Candidates<'s, 'de> {
    seen: &'s mut Seen<'de>,
    at: u64,
}

impl<'de> Visit<'de> for Candidates<'_, 'de> {
    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        let mut candidate = Candidate { seen: &mut *self.seen, index: self.at, finished: false };
        walk(value, &mut candidate)?;
        let (bit, finished) = (Seen::bit(candidate.index), candidate.finished);
        self.seen.choices |= bit;
        self.seen.finished |= if finished { bit } else { 0 };
        self.at += 1;
        Ok(())
    }
}

struct Candidate<'s, 'de> {
    seen: &'s mut Seen<'de>,
    index: u64,
    finished: bool,
}

impl<'de> Visit<'de> for Candidate<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "index" => self.index = count(raw(value)?).unwrap_or(self.index),
            "content" => {
                walk(value, &mut Content(&mut *self.seen))?;
            }
            "finishReason" | "finish_reason" => self.finished |= self.seen.finish(raw(value)?),
            _ => skip(value)?,
        }
        Ok(())
    }
}

struct Content<'s, 'de>(&'s mut Seen<'de>);

impl<'de> Visit<'de> for Content<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "parts" => walk(value, self).map(drop),
            _ => skip(value),
        }
    }

    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        let mut part = Part::default();
        walk(value, &mut part)?;
        self.0.content |= part.filled;
        self.0.tool |= part.tool;
        if let Some(text) = part.text {
            if part.thought { self.0.content |= is_filled(text) } else { self.0.text(text) }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Part<'de> {
    text: Option<Raw<'de>>,
    thought: bool,
    tool: bool,
    filled: bool,
}

impl<'de> Visit<'de> for Part<'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "text" => self.text = Some(raw(value)?),
            "thought" => self.thought = raw(value)?.get() == "true",
            "functionCall" | "function_call" => {
                self.tool = is_filled(raw(value)?);
                self.filled |= self.tool;
            }
            // A signature belongs to a thought; it says nothing.
            "thoughtSignature" | "thought_signature" => skip(value)?,
            _ => self.filled |= is_filled(raw(value)?),
        }
        Ok(())
    }
}
