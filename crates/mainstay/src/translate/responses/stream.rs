//! Writing streams of `/v1/responses`.
//!
//! Every event has a number, every item begins, grows and ends, and the last event repeats the whole answer: so the answer
//! is kept while it is written, up to a bound.

use super::{
    annotations::{Texts, add_annotation, annotation},
    answer::{Item, ItemKind, Names, incomplete, write_item, write_part, write_response},
    parts::part_events,
};
use crate::{
    dialect::Finish,
    translate::{
        balance::Balance,
        citation::Citation,
        event::{Event, Tokens, conclude},
        form::Wishes,
        measure::Measure,
        out::Out,
    },
};

/// How long an answer may be.
const MAX_ANSWER: usize = 64 << 20;

/// Writes events.
#[derive(Debug)]
pub(in crate::translate) struct Stream {
    wishes: Wishes,
    names: Names,
    items: Vec<Grown>,
    /// The items that are text, and where each starts.
    texts: Vec<usize>,
    starts: Texts,
    told: Measure,
    length: usize,
    sequence: u64,
    started: bool,
    ended: bool,
    finish: Option<Finish>,
    tokens: Tokens,
}

/// An item as far as it has grown.
#[derive(Debug)]
struct Grown {
    kind: ItemKind,
    id: String,
    text: String,
    annotations: String,
    /// How many those are.
    annotated: u64,
    call: u64,
    call_id: String,
    name: String,
    balance: Balance,
    done: bool,
}

impl Grown {
    fn item(&self) -> Item<'_> {
        let Grown { kind, id, text, annotations, call_id, name, done, .. } = self;
        Item { kind: *kind, id, text, annotations, call_id, name, done: *done }
    }
}

impl Stream {
    pub(in crate::translate) fn new(wishes: Wishes) -> Self {
        Self {
            wishes,
            names: Names::default(),
            items: Vec::new(),
            texts: Vec::new(),
            starts: Texts::default(),
            told: Measure::default(),
            length: 0,
            sequence: 0,
            started: false,
            ended: false,
            finish: None,
            tokens: Tokens::default(),
        }
    }

    /// The number of the next event.
    pub(in crate::translate) fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(in crate::translate) fn write(
        &mut self,
        event: Event<'_>,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        if let Event::Start { id, model, created } = &event {
            self.begin(id.as_deref(), model.as_deref(), *created, out);
            return Ok(());
        }
        self.begin(None, None, None, out);
        match event {
            Event::Start { .. } => {}
            Event::Text(text) => {
                self.grow(ItemKind::Text, &text, out)?;
                self.told.read(&text);
            }
            Event::Refusal(text) => self.grow(ItemKind::Refusal, &text, out)?,
            Event::Thought(text) if self.wishes.thoughts => self.grow(ItemKind::Thought, &text, out)?,
            Event::Thought(_) => {}
            Event::Call { call, id, name } => {
                self.push(ItemKind::Call, call, id.into_owned(), name.into_owned(), out);
            }
            Event::Arguments { call, text } => self.arguments(call, &text, out)?,
            Event::Citation(citation) => self.cite(&citation, out)?,
            Event::Passage(_) => {}
            Event::Finish { reason, .. } => self.finish = Some(reason),
            Event::Tokens(tokens) => self.tokens.update(tokens),
            Event::End => self.end(out),
        }
        Ok(())
    }

    fn begin(&mut self, id: Option<&str>, model: Option<&str>, created: Option<u64>, out: &mut Out) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        self.names = Names::new(id, model, created);
        for name in ["response.created", "response.in_progress"] {
            self.open(name, out);
            out.key("response");
            write_response(&self.names, None, None, out, |_| {});
            out.close('}').end_event();
        }
    }

    /// Begins an event, up to its own fields.
    fn open(&mut self, name: &str, out: &mut Out) {
        out.event(Some(name))
            .open('{')
            .field_str("type", name)
            .field_number("sequence_number", self.sequence);
        self.sequence += 1;
    }

    /// Begins an event about an item.
    fn open_of(&mut self, name: &str, index: usize, out: &mut Out) {
        self.open(name, out);
        if let Some(item) = self.items.get(index) {
            out.field_str("item_id", &item.id);
        }
        out.field_number("output_index", index as u64);
    }

    fn push(&mut self, kind: ItemKind, call: u64, call_id: String, name: String, out: &mut Out) {
        // Text that something else follows has ended; calls may grow side by side.
        if let Some(last) = self.items.len().checked_sub(1) {
            if self.items.get(last).is_some_and(|item| item.kind != ItemKind::Call) {
                self.close(last, out);
            }
        }
        // What an item costs besides its text.
        self.length += 512;
        let index = self.items.len();
        let id = self.names.item(kind, index);
        if kind == ItemKind::Text {
            self.texts.push(index);
            self.starts.begin(self.told.length().chars);
        }
        self.items.push(Grown {
            kind,
            id,
            text: String::new(),
            annotations: String::new(),
            annotated: 0,
            call,
            call_id,
            name,
            balance: Balance::default(),
            done: false,
        });
        self.open("response.output_item.added", out);
        out.field_number("output_index", index as u64).key("item");
        if let Some(item) = self.items.get(index) {
            write_item(item.item(), out);
        }
        out.close('}').end_event();
        if let Some(part) = part_events(kind) {
            self.open_of(part.added, index, out);
            out.field_number(part.index, 0).key("part");
            write_part(kind, "", "", out);
            out.close('}').end_event();
        }
    }

    fn grow(&mut self, kind: ItemKind, text: &str, out: &mut Out) -> Result<(), &'static str> {
        if !self.items.last().is_some_and(|item| item.kind == kind && !item.done) {
            self.push(kind, u64::MAX, String::new(), String::new(), out);
        }
        let index = self.items.len().saturating_sub(1);
        self.extend(index, text)?;
        if let Some(part) = part_events(kind) {
            self.open_of(part.delta, index, out);
            out.field_number(part.index, 0).key("delta").pieces([text]);
            if kind == ItemKind::Text {
                out.field_raw("logprobs", "[]");
            }
            out.close('}').end_event();
        }
        Ok(())
    }

    /// A source, as an event and for all that repeats the text later. Of a text that something else followed before the source
    /// was told, that is the end of the answer only.
    fn cite(&mut self, citation: &Citation<'_>, out: &mut Out) -> Result<(), &'static str> {
        let found = self.starts.of(citation, self.told.length().chars);
        let Some((index, at)) = found.and_then(|(n, at)| Some((self.texts.get(n).copied()?, at))) else {
            return Ok(());
        };
        let annotation = annotation(citation, at);
        self.room(annotation.len())?;
        let Some(item) = self.items.get_mut(index) else { return Ok(()) };
        add_annotation(&annotation, &mut item.annotations);
        let number = item.annotated;
        item.annotated += 1;
        self.open_of("response.output_text.annotation.added", index, out);
        out.field_number("content_index", 0).field_number("annotation_index", number);
        out.field_raw("annotation", &annotation).close('}').end_event();
        Ok(())
    }

    fn arguments(&mut self, call: u64, text: &str, out: &mut Out) -> Result<(), &'static str> {
        let is = |item: &Grown| item.kind == ItemKind::Call && item.call == call;
        let Some(index) = self.items.iter().rposition(is) else { return Ok(()) };
        if self.items.get(index).is_some_and(|item| item.done) {
            return if text.trim().is_empty() { Ok(()) } else { Err("a tool call goes on after its end") };
        }
        self.extend(index, text)?;
        self.open_of("response.function_call_arguments.delta", index, out);
        out.key("delta").pieces([text]).close('}').end_event();
        let Some(item) = self.items.get_mut(index) else { return Ok(()) };
        item.balance.read(text);
        if item.balance.is_whole() {
            self.close(index, out);
        }
        Ok(())
    }

    fn extend(&mut self, index: usize, text: &str) -> Result<(), &'static str> {
        self.room(text.len())?;
        if let Some(item) = self.items.get_mut(index) {
            item.text.push_str(text);
        }
        Ok(())
    }

    fn room(&mut self, bytes: usize) -> Result<(), &'static str> {
        self.length += bytes;
        if self.length > MAX_ANSWER { Err("it is larger than an answer may be") } else { Ok(()) }
    }

    fn close(&mut self, index: usize, out: &mut Out) {
        let Some(item) = self.items.get_mut(index).filter(|item| !item.done) else { return };
        item.done = true;
        let (kind, text, name) = (item.kind, std::mem::take(&mut item.text), item.name.clone());
        let annotations = std::mem::take(&mut item.annotations);
        match part_events(kind) {
            Some(part) => {
                self.open_of(part.done, index, out);
                out.field_number(part.index, 0).key(part.whole).pieces([&*text]);
                if kind == ItemKind::Text {
                    out.field_raw("logprobs", "[]");
                }
                out.close('}').end_event();
                self.open_of(part.closed, index, out);
                out.field_number(part.index, 0).key("part");
                write_part(kind, &text, &annotations, out);
                out.close('}').end_event();
            }
            None => {
                self.open_of("response.function_call_arguments.done", index, out);
                out.field_str("name", &name).key("arguments");
                out.pieces([if text.is_empty() { "{}" } else { &*text }]).close('}').end_event();
            }
        }
        if let Some(item) = self.items.get_mut(index) {
            item.text = text;
            item.annotations = annotations;
        }
        self.open("response.output_item.done", out);
        out.field_number("output_index", index as u64).key("item");
        if let Some(item) = self.items.get(index) {
            write_item(item.item(), out);
        }
        out.close('}').end_event();
    }

    fn end(&mut self, out: &mut Out) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        for index in 0..self.items.len() {
            self.close(index, out);
        }
        let has = |kind: ItemKind| self.items.iter().any(|item| item.kind == kind);
        let reason = conclude(self.finish, has(ItemKind::Call), false);
        let name = if incomplete(reason).is_some() { "response.incomplete" } else { "response.completed" };
        self.open(name, out);
        out.key("response");
        write_response(&self.names, Some(reason), Some(&self.tokens), out, |out| {
            self.items.iter().for_each(|item| write_item(item.item(), out));
        });
        out.close('}').end_event();
    }
}
