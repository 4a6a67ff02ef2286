//! From one target's stream to the next one's: one id, one role, one end, each word once, the tokens added up.

use super::{
    super::fields::{Fields, is_filled},
    heard::{Heard, is_reasoning, sum},
    text::{Differs, Splice},
};
use crate::{
    dialect::Dialect,
    sse::{self, Event},
};
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Rewrites a continuation's events.
#[derive(Debug)]
pub(super) struct Seam {
    dialect: Dialect,
    pub(super) splice: Splice,
    /// What the caller was told that the answer cost before.
    pub(super) before: Value,
    /// Messages: what this reply's `message_start` says that it cost.
    leg: Value,
    /// Messages: where this reply's content blocks stand in the caller's answer.
    places: Vec<(u64, Place)>,
}

/// Where a content block of a continuation went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It has this index in the caller's answer.
    At(u64),
    /// A text block of which nothing new was seen yet: the caller knows nothing of it.
    Pending,
    /// It is not handed on.
    Dropped,
}

/// Where rewritten events go: to the caller, and into what it has.
pub(super) struct Out<'a> {
    pub(super) heard: &'a mut Heard,
    pub(super) events: &'a mut VecDeque<Bytes>,
}

impl Out<'_> {
    pub(super) fn emit(&mut self, name: &[u8], fields: &Fields<'_>) {
        let data = Bytes::from(fields.to_string());
        let event = Event::new(Bytes::copy_from_slice(name), data);
        self.heard.note(&event);
        let name = Some(event.name()).filter(|_| !name.is_empty());
        self.events.push_back(sse::encode(name, event.data()));
    }

    fn emit_json(&mut self, name: &str, value: &Value) {
        if let Some(fields) = Fields::parse(value.to_string().as_bytes()) {
            self.emit(name.as_bytes(), &fields);
        }
    }
}

impl Seam {
    pub(super) fn new(splice: Splice, heard: &Heard) -> Self {
        Self {
            dialect: heard.dialect,
            splice,
            before: heard.usage.clone(),
            leg: Value::Null,
            places: Vec::new(),
        }
    }

    /// Takes one event of the continuation; `raw` are the bytes that spell it.
    pub(super) fn take(&mut self, event: &Event, raw: Bytes, out: &mut Out<'_>) -> Result<(), Differs> {
        match Fields::parse(event.data()) {
            Some(fields) if self.dialect == Dialect::Messages => self.messages(event, &fields, raw, out),
            Some(fields) if self.dialect == Dialect::Gemini => self.gemini(fields, out),
            Some(fields) => self.chat(event, fields, out),
            None => {
                if event.is_done() {
                    let held = self.splice.finish(&out.heard.text)?;
                    self.chat_text(&held, out);
                }
                out.events.push_back(raw);
                Ok(())
            }
        }
    }

    fn chat(&mut self, event: &Event, mut fields: Fields<'_>, out: &mut Out<'_>) -> Result<(), Differs> {
        let given = fields.raw("choices").is_some();
        let mut says = !given;
        let text = fields.raw("choices").unwrap_or_default().to_owned();
        let choices: Vec<Fields<'_>> = serde_json::from_str(&text).unwrap_or_default();
        let first = choices.into_iter().find(|choice| choice.read::<u64>("index").unwrap_or(0) == 0);
        if let Some(mut choice) = first {
            let finishes = choice.raw("finish_reason").is_some_and(is_filled);
            let text = choice.raw("delta").unwrap_or_default().to_owned();
            let mut delta = Fields::parse(text.as_bytes()).unwrap_or_default();
            delta.retain(|key| key != "role" && !is_reasoning(key));
            let more = delta.iter().any(|(key, value)| key != "content" && is_filled(value));
            let piece = delta.text("content");
            let mut new = self.splice.take(&out.heard.text, &piece)?;
            if more && self.splice.is_repeating(&out.heard.text) {
                return Err(Differs);
            }
            if more || finishes {
                new += &self.splice.finish(&out.heard.text)?;
            }
            if new.is_empty() {
                delta.retain(|key| key != "content");
            } else if new != piece {
                delta.set("content", &new);
                choice.retain(|key| key != "logprobs");
            }
            says |= finishes || delta.iter().any(|(_, value)| is_filled(value));
            choice.set("delta", &delta);
            fields.set("choices", &[choice]);
        } else if given {
            fields.set_raw("choices", "[]");
        }
        if let Some(usage) = fields.read::<Value>("usage").filter(Value::is_object) {
            fields.set("usage", &sum(&self.before, &usage));
            says = true;
        }
        if says {
            if let Some(id) = &out.heard.id {
                fields.set("id", id);
            }
            if let Some(created) = &out.heard.created {
                fields.set("created", created);
            }
            out.emit(event.name_bytes(), &fields);
        }
        Ok(())
    }

    /// A chunk of our own.
    fn chat_text(&self, text: &str, out: &mut Out<'_>) {
        if text.is_empty() || self.dialect == Dialect::Messages {
            return;
        }
        let (id, created) = (&out.heard.id, &out.heard.created);
        let chunk = json!({
            "id": id, "object": "chat.completion.chunk", "created": created,
            "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}],
        });
        out.emit_json("", &chunk);
    }

    fn messages(
        &mut self,
        event: &Event,
        fields: &Fields<'_>,
        raw: Bytes,
        out: &mut Out<'_>,
    ) -> Result<(), Differs> {
        let kind = fields.text("type");
        let kind = if kind.is_empty() { event.name() } else { &kind };
        let index = fields.read::<u64>("index").unwrap_or(0);
        match kind {
            "message_start" => {
                if let Some(message) = fields.object("message") {
                    self.leg = message.read("usage").unwrap_or_default();
                }
                if !out.heard.started {
                    out.emit(event.name_bytes(), fields);
                }
            }
            "content_block_start" => {
                let block = fields.object("content_block").unwrap_or_default();
                match &*block.text("type") {
                    "text" => {
                        let place = out.heard.open.map_or(Place::Pending, Place::At);
                        self.places.push((index, place));
                        let new = self.splice.take(&out.heard.text, &block.text("text"))?;
                        self.block_text(index, &new, out);
                    }
                    "thinking" | "redacted_thinking" if !out.heard.text.is_empty() => {
                        self.places.push((index, Place::Dropped));
                    }
                    _ => {
                        self.end_text(out)?;
                        let at = out.heard.blocks;
                        self.places.push((index, Place::At(at)));
                        self.emit_at(event, fields, at, out);
                    }
                }
            }
            "content_block_delta" => {
                let delta = fields.object("delta").unwrap_or_default();
                match (self.place(index), &*delta.text("type")) {
                    (Place::Dropped, _) => {}
                    (Place::At(_) | Place::Pending, "text_delta") => {
                        let new = self.splice.take(&out.heard.text, &delta.text("text"))?;
                        self.block_text(index, &new, out);
                    }
                    (Place::At(at), _) => self.emit_at(event, fields, at, out),
                    (Place::Pending, _) => {}
                }
            }
            "content_block_stop" => {
                if let (false, Place::At(at)) = (self.splice.is_repeating(&out.heard.text), self.place(index))
                {
                    let held = self.splice.finish(&out.heard.text)?;
                    self.block_text(index, &held, out);
                    self.emit_at(event, fields, at, out);
                }
                self.places.retain(|(known, _)| *known != index);
            }
            "message_delta" => {
                self.end_text(out)?;
                let mut fields = fields.clone();
                let mut usage = self.leg.clone();
                if let (Some(all), Some(Value::Object(new))) = (usage.as_object_mut(), fields.read("usage")) {
                    all.extend(new);
                } else if let Some(new) = fields.read("usage") {
                    usage = new;
                }
                fields.set("usage", &sum(&self.before, &usage));
                out.emit(event.name_bytes(), &fields);
            }
            "message_stop" => {
                self.end_text(out)?;
                out.events.push_back(raw);
            }
            _ => out.events.push_back(raw),
        }
        Ok(())
    }

    fn place(&self, index: u64) -> Place {
        self.places.iter().find(|(known, _)| *known == index).map_or(Place::Pending, |(_, place)| *place)
    }

    fn emit_at(&self, event: &Event, fields: &Fields<'_>, at: u64, out: &mut Out<'_>) {
        let mut fields = fields.clone();
        fields.set("index", &at);
        out.emit(event.name_bytes(), &fields);
    }

    /// New text, in the block that is open at the caller's or in a new one.
    fn block_text(&mut self, index: u64, text: &str, out: &mut Out<'_>) {
        if text.is_empty() {
            return;
        }
        let at = match out.heard.open {
            Some(open) => open,
            None => {
                let at = out.heard.blocks;
                let block = json!({"type": "text", "text": ""});
                let start = json!({"type": "content_block_start", "index": at, "content_block": block});
                out.emit_json("content_block_start", &start);
                at
            }
        };
        self.places.retain(|(known, _)| *known != index);
        self.places.push((index, Place::At(at)));
        let delta = json!({"type": "text_delta", "text": text});
        out.emit_json(
            "content_block_delta",
            &json!({"type": "content_block_delta", "index": at, "delta": delta}),
        );
    }

    /// No more text: what was held back goes out, and the block that is open at the caller's ends.
    fn end_text(&mut self, out: &mut Out<'_>) -> Result<(), Differs> {
        let held = self.splice.finish(&out.heard.text)?;
        if !held.is_empty() {
            self.block_text(u64::MAX, &held, out);
        }
        if let Some(open) = out.heard.open {
            out.emit_json("content_block_stop", &json!({"type": "content_block_stop", "index": open}));
        }
        Ok(())
    }
}
