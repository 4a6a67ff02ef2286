//! OpenAI's Responses, whole and in events.

use super::{Finish, seen::Seen};
use crate::json::{NotJson, Raw, Shape, Value, Visit, is_word, quoted, raw, skip, string, walk};

pub(super) struct Responses<'s, 'de> {
    pub(super) seen: &'s mut Seen<'de>,
    kind: Option<Raw<'de>>,
    /// `delta`, or the whole that the deltas made.
    piece: Option<Raw<'de>>,
    status: Option<Raw<'de>>,
}

impl<'s, 'de> Responses<'s, 'de> {
    pub(super) fn new(seen: &'s mut Seen<'de>) -> Self {
        Self { seen, kind: None, piece: None, status: None }
    }

    /// Says what the event was; `name` where the data has no type.
    pub(super) fn event(self, name: &str) {
        let seen = self.seen;
        let kind = self.kind.and_then(string);
        let kind = kind.as_deref().unwrap_or(name);
        match kind {
            "error" | "response.error" | "response.failed" | "response.cancelled" => seen.is_error = true,
            "response.completed" => {
                seen.terminal = true;
                seen.finish = seen.finish.or(Some(Finish::Stop));
            }
            "response.incomplete" => {
                seen.terminal = true;
                seen.finish = seen.finish.or(Some(Finish::Length));
            }
            "response.output_item.done" => seen.block_end = true,
            _ => {}
        }
        if let Some(piece) = self.piece {
            match kind {
                "response.output_text.delta" | "response.refusal.delta" => seen.text(piece),
                _ if kind.ends_with(".delta") || kind.ends_with(".done") => {
                    seen.filled(piece);
                }
                "response.image_generation_call.partial_image" => seen.content = true,
                _ => {}
            }
        }
    }

    /// Says what a response that is no stream was.
    pub(super) fn whole(self) {
        match self.status.and_then(string).as_deref() {
            Some("failed" | "cancelled") => self.seen.is_error = true,
            Some("incomplete") => self.seen.finish = self.seen.finish.or(Some(Finish::Length)),
            Some("completed") => self.seen.finish = self.seen.finish.or(Some(Finish::Stop)),
            // `queued` and `in_progress`: it runs in the background, and has nothing to show yet.
            Some(_) => self.seen.finish = Some(Finish::Other),
            None => {}
        }
        self.seen.is_error |= self.kind.is_some_and(|kind| is_word(kind, "error"));
    }
}

impl<'de> Visit<'de> for Responses<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "type" => self.kind = Some(raw(value)?),
            "status" => self.status = Some(raw(value)?),
            "error" => self.seen.error(raw(value)?),
            "delta" | "text" | "arguments" | "refusal" | "input" | "partial_image_b64" => {
                self.piece = Some(raw(value)?);
            }
            "response" => {
                walk(value, &mut Responses::new(&mut *self.seen))?;
            }
            "output" => {
                if let Shape::List(n) = walk(value, &mut Items(&mut *self.seen))? {
                    self.seen.listed = Some(n);
                }
            }
            "item" => item(value, self.seen)?,
            "usage" => {
                walk(value, &mut self.seen.tokens)?;
            }
            "incomplete_details" => {
                walk(value, &mut Details(&mut *self.seen))?;
            }
            _ => skip(value)?,
        }
        Ok(())
    }

    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        walk(value, self).map(drop)
    }
}

struct Details<'s, 'de>(&'s mut Seen<'de>);

impl<'de> Visit<'de> for Details<'_, 'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "reason" => {
                self.0.finish(raw(value)?);
                Ok(())
            }
            _ => skip(value),
        }
    }
}

struct Items<'s, 'de>(&'s mut Seen<'de>);

impl<'de> Visit<'de> for Items<'_, 'de> {
    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        item(value, self.0)
    }
}

#[derive(Default)]
struct Item<'de> {
    kind: Option<Raw<'de>>,
    arguments: Option<Raw<'de>>,
    status: Option<Raw<'de>>,
    parts: Parts,
}

impl<'de> Visit<'de> for Item<'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "type" => self.kind = Some(raw(value)?),
            "content" | "summary" => {
                walk(value, &mut self.parts)?;
            }
            "arguments" => self.arguments = Some(raw(value)?),
            "status" => self.status = Some(raw(value)?),
            _ => skip(value)?,
        }
        Ok(())
    }
}

/// The parts of a message or of reasoning.
#[derive(Default)]
struct Parts {
    text: usize,
    filled: bool,
    broken: bool,
}

impl<'de> Visit<'de> for Parts {
    fn item(&mut self, value: Value<'_, 'de>) -> Result<(), NotJson> {
        walk(value, self).map(drop)
    }

    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        match key {
            "text" | "refusal" => {
                let value = raw(value)?;
                let text = quoted(value).map_or(0, str::len);
                self.broken |= !matches!(value.get().as_bytes().first(), Some(b'"' | b'n'));
                self.text += text;
                self.filled |= text > 0;
                Ok(())
            }
            _ => skip(value),
        }
    }
}

/// An output item: messages and reasoning begin empty; any other kind is a call, content by being there.
fn item<'de>(value: Value<'_, 'de>, seen: &mut Seen<'de>) -> Result<(), NotJson> {
    let mut item = Item::default();
    let shape = walk(value, &mut item)?;
    seen.object(shape);
    seen.broken |= item.parts.broken;
    // An item that says itself that it is not complete may end anywhere.
    let cut_openly = item.status.is_some_and(|status| is_word(status, "incomplete"));
    if let Some(arguments) = item.arguments.filter(|_| !cut_openly) {
        seen.arguments(arguments);
    }
    match item.kind.and_then(string).as_deref() {
        None => {}
        Some("message" | "reasoning") => seen.content |= item.parts.filled,
        Some(kind) => {
            seen.content = true;
            seen.tool |= kind.ends_with("_call");
        }
    }
    Ok(())
}
