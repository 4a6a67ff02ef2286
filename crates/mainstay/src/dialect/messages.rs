//! Anthropic's Messages, whole and in events.

use super::seen::Seen;
use crate::json::{NotJson, Raw, Shape, Value, Visit, is_filled, is_word, parse, raw, skip, string, walk};

pub(super) struct Messages<'s, 'de> {
    pub(super) seen: &'s mut Seen<'de>,
    pub(super) kind: Option<Raw<'de>>,
}

impl<'s, 'de> Messages<'s, 'de> {
    pub(super) fn new(seen: &'s mut Seen<'de>) -> Self {
        Self { seen, kind: None }
    }

    /// Says what the event was; `name` where the data has no type.
    pub(super) fn event(self, name: &str) {
        match self.kind.and_then(string).as_deref().unwrap_or(name) {
            "error" => self.seen.is_error = true,
            "content_block_stop" => self.seen.block_end = true,
            "message_stop" => self.seen.terminal = true,
            "message_delta" => self.seen.tokens_final = true,
            _ => {}
        }
    }

    /// Says what a message that is no stream was.
    pub(super) fn whole(self) {
        self.seen.is_error |= self.kind.is_some_and(|kind| is_word(kind, "error"));
        self.seen.tokens_final = true;
    }
}

/// The type of an event, if it is one that an event could be named by.
pub(crate) fn type_of(data: &[u8]) -> Option<String> {
    struct Type<'de>(Option<Raw<'de>>);
    impl<'de> Visit<'de> for Type<'de> {
        fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
            match key {
                "type" => self.0 = Some(raw(value)?),
                _ => skip(value)?,
            }
            Ok(())
        }
    }
    let mut visit = Type(None);
    parse(data, &mut visit).ok()?;
    let name = string(visit.0?)?.into_owned();
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    (!name.is_empty() && name.bytes().all(is_word)).then_some(name)
}

impl<'de> Visit<'de> for Messages<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "type" => self.kind = Some(raw(value)?),
            "error" => self.seen.error(raw(value)?),
            "usage" => {
                walk(value, &mut self.seen.tokens)?;
            }
            "message" => {
                // Its own type says nothing of the event's.
                walk(value, &mut Messages::new(&mut *self.seen))?;
            }
            "content" => {
                if let Shape::List(n) = walk(value, &mut Blocks(&mut *self.seen))? {
                    self.seen.listed = Some(n);
                }
            }
            "content_block" => block(value, self.seen)?,
            "delta" => {
                walk(value, &mut Delta(&mut *self.seen))?;
            }
            "stop_reason" => {
                self.seen.finish(raw(value)?);
            }
            _ => skip(value)?,
        }
        Ok(())
    }

    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        walk(value, self).map(drop)
    }
}

struct Blocks<'s, 'de>(&'s mut Seen<'de>);

impl<'de> Visit<'de> for Blocks<'_, 'de> {
    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        block(value, self.0)
    }
}

#[derive(Default)]
struct Block<'de> {
    kind: Option<Raw<'de>>,
    text: Option<Raw<'de>>,
    thinking: bool,
}

impl<'de> Visit<'de> for Block<'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "type" => self.kind = Some(raw(value)?),
            "text" => self.text = Some(raw(value)?),
            "thinking" => self.thinking |= is_filled(raw(value)?),
            _ => skip(value)?,
        }
        Ok(())
    }
}

/// A content block: text and thinking begin empty; any other kind is content by being there.
fn block<'de>(value: Value<'_, 'de>, seen: &mut Seen<'de>) -> Result<(), NotJson> {
    let mut block = Block::default();
    let shape = walk(value, &mut block)?;
    seen.object(shape);
    match block.kind.and_then(string).as_deref() {
        None => {}
        Some("text") => {
            if let Some(text) = block.text {
                seen.text(text);
            }
        }
        Some("thinking") => seen.content |= block.thinking,
        Some(kind) => {
            seen.content = true;
            seen.tool |= kind.ends_with("tool_use");
        }
    }
    Ok(())
}

struct Delta<'s, 'de>(&'s mut Seen<'de>);

impl<'de> Visit<'de> for Delta<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "text" => self.0.text(raw(value)?),
            "thinking" | "partial_json" | "citation" => {
                self.0.filled(raw(value)?);
            }
            "stop_reason" => {
                self.0.finish(raw(value)?);
            }
            _ => skip(value)?,
        }
        Ok(())
    }
}
