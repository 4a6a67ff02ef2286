//! Writing streams of `/v1/messages`.
//!
//! Blocks follow one another: each begins, grows and ends before the next begins. Other dialects let tool calls grow side
//! by side. So each text, thought and call has a lane; the first lane is written as it grows, those behind it are held
//! until it has ended. A call has ended when its arguments are a whole JSON object and something else has begun. Nothing
//! is closed that was cut off.

use super::answer::{write_reason, write_tokens};
use crate::{
    dialect::Finish,
    translate::{
        balance::Balance,
        event::{Event, Tokens, conclude, id_with},
        form::Wishes,
        out::Out,
        target::{IdStyle, fit_id},
    },
};
use std::{borrow::Cow, collections::VecDeque};

/// How much is held of lanes that have to wait.
const MAX_HELD: usize = 8 << 20;

/// How many lanes there are at once.
const MAX_LANES: usize = 2048;

/// Writes events.
#[derive(Debug)]
pub(in crate::translate) struct Stream {
    wishes: Wishes,
    started: bool,
    ended: bool,
    lanes: VecDeque<Lane>,
    /// The index of the next block.
    next: u64,
    held: usize,
    called: bool,
    refused: bool,
    finish: Option<Finish>,
    stop: Option<String>,
    tokens: Tokens,
}

#[derive(Debug)]
struct Lane {
    kind: LaneKind,
    /// Its block has begun.
    open: bool,
    /// What waits to be written.
    held: String,
}

#[derive(Debug)]
enum LaneKind {
    Text,
    Thought,
    Call { call: u64, id: String, name: String, balance: Balance },
}

impl Lane {
    /// Whether something else may follow it.
    fn may_end(&self) -> bool {
        match &self.kind {
            LaneKind::Text | LaneKind::Thought => true,
            LaneKind::Call { balance, .. } => balance.is_whole(),
        }
    }
}

impl Stream {
    pub(in crate::translate) fn new(wishes: Wishes) -> Self {
        Self {
            wishes,
            started: false,
            ended: false,
            lanes: VecDeque::new(),
            next: 0,
            held: 0,
            called: false,
            refused: false,
            finish: None,
            stop: None,
            tokens: Tokens::default(),
        }
    }

    pub(in crate::translate) fn write(
        &mut self,
        event: Event<'_>,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        match event {
            Event::Start { id, model, .. } => self.begin(id.as_deref(), model.as_deref(), out),
            Event::Text(text) => self.grow(LaneKind::Text, &text, out)?,
            Event::Refusal(text) => {
                self.refused = true;
                self.grow(LaneKind::Text, &text, out)?;
            }
            Event::Thought(text) if self.wishes.thoughts => self.grow(LaneKind::Thought, &text, out)?,
            Event::Thought(_) => {}
            Event::Call { call, id, name } => {
                self.called = true;
                let id = fit_id(&id, IdStyle::Word).into_owned();
                let (name, balance) = (name.into_owned(), Balance::default());
                self.push(LaneKind::Call { call, id, name, balance }, out)?;
            }
            Event::Arguments { call, text } => self.arguments(call, &text, out)?,
            Event::Finish { reason, stop } => {
                self.finish = Some(reason);
                self.stop = stop.map(Cow::into_owned);
            }
            Event::Tokens(tokens) => self.tokens.update(tokens),
            Event::Passage(_) | Event::Citation(_) => {}
            Event::End => self.end(out),
        }
        Ok(())
    }

    fn begin(&mut self, id: Option<&str>, model: Option<&str>, out: &mut Out) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        out.event(Some("message_start"))
            .open('{')
            .field_str("type", "message_start")
            .key("message")
            .open('{');
        out.field_str("id", &id_with("msg_", id)).field_str("type", "message").field_str("role", "assistant");
        out.field_str("model", model.unwrap_or_default()).key("content").open('[').close(']');
        out.field_raw("stop_reason", "null").field_raw("stop_sequence", "null").key("usage");
        // How many they are is told at the end.
        write_tokens(&Tokens::default(), out);
        out.close('}').close('}').end_event();
    }

    /// Text or thoughts, in the last lane if that is one of them.
    fn grow(&mut self, kind: LaneKind, text: &str, out: &mut Out) -> Result<(), &'static str> {
        let same = self.lanes.back().is_some_and(|lane| {
            matches!(
                (&lane.kind, &kind),
                (LaneKind::Text, LaneKind::Text) | (LaneKind::Thought, LaneKind::Thought)
            )
        });
        if !same {
            self.push(kind, out)?;
        }
        self.extend(self.lanes.len().saturating_sub(1), text, out)
    }

    fn arguments(&mut self, call: u64, text: &str, out: &mut Out) -> Result<(), &'static str> {
        let is = |lane: &Lane| matches!(&lane.kind, LaneKind::Call { call: other, .. } if *other == call);
        match self.lanes.iter().position(is) {
            Some(at) => {
                if let Some(Lane { kind: LaneKind::Call { balance, .. }, .. }) = self.lanes.get_mut(at) {
                    balance.read(text);
                }
                self.extend(at, text, out)?;
                self.advance(out);
                Ok(())
            }
            None if text.trim().is_empty() => Ok(()),
            None => Err("a tool call goes on after its end"),
        }
    }

    fn push(&mut self, kind: LaneKind, out: &mut Out) -> Result<(), &'static str> {
        if self.lanes.len() == MAX_LANES {
            return Err("its tool calls are mixed up for too long");
        }
        self.begin(None, None, out);
        self.lanes.push_back(Lane { kind, open: false, held: String::new() });
        self.advance(out);
        Ok(())
    }

    fn extend(&mut self, at: usize, text: &str, out: &mut Out) -> Result<(), &'static str> {
        let Some(lane) = self.lanes.get_mut(at) else { return Ok(()) };
        if at == 0 && lane.open {
            write_delta(self.next, &lane.kind, text, out);
            return Ok(());
        }
        self.held += text.len();
        if self.held > MAX_HELD {
            return Err("its tool calls are mixed up for too long");
        }
        lane.held.push_str(text);
        Ok(())
    }

    /// Ends the lanes that may end and are followed by another; the first that is left is open.
    fn advance(&mut self, out: &mut Out) {
        loop {
            let more = self.lanes.len() > 1;
            let Some(lane) = self.lanes.front_mut() else { return };
            if !lane.open {
                lane.open = true;
                write_start(self.next, &lane.kind, out);
                self.held = self.held.saturating_sub(lane.held.len());
                if !lane.held.is_empty() {
                    write_delta(self.next, &lane.kind, &std::mem::take(&mut lane.held), out);
                }
            }
            if !(more && lane.may_end()) {
                return;
            }
            self.close_first(out);
        }
    }

    fn close_first(&mut self, out: &mut Out) {
        self.lanes.pop_front();
        out.event(Some("content_block_stop")).open('{').field_str("type", "content_block_stop");
        out.field_number("index", self.next).close('}').end_event();
        self.next += 1;
    }

    fn end(&mut self, out: &mut Out) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.begin(None, None, out);
        while !self.lanes.is_empty() {
            self.advance(out);
            self.close_first(out);
        }
        out.event(Some("message_delta")).open('{').field_str("type", "message_delta").key("delta").open('{');
        write_reason(conclude(self.finish, self.called, self.refused), self.stop.as_deref(), out);
        out.close('}').key("usage");
        write_tokens(&self.tokens, out);
        out.close('}').end_event();
        out.event(Some("message_stop")).open('{').field_str("type", "message_stop").close('}').end_event();
    }
}

fn write_start(index: u64, kind: &LaneKind, out: &mut Out) {
    out.event(Some("content_block_start")).open('{').field_str("type", "content_block_start");
    out.field_number("index", index).key("content_block").open('{');
    match kind {
        LaneKind::Text => out.field_str("type", "text").field_str("text", ""),
        LaneKind::Thought => {
            out.field_str("type", "thinking").field_str("thinking", "").field_str("signature", "")
        }
        LaneKind::Call { id, name, .. } => {
            out.field_str("type", "tool_use").field_str("id", id).field_str("name", name);
            out.key("input").open('{').close('}')
        }
    };
    out.close('}').close('}').end_event();
}

fn write_delta(index: u64, kind: &LaneKind, text: &str, out: &mut Out) {
    let (word, name) = match kind {
        LaneKind::Text => ("text_delta", "text"),
        LaneKind::Thought => ("thinking_delta", "thinking"),
        LaneKind::Call { .. } => ("input_json_delta", "partial_json"),
    };
    out.event(Some("content_block_delta")).open('{').field_str("type", "content_block_delta");
    out.field_number("index", index).key("delta").open('{').field_str("type", word);
    out.key(name).pieces([text]).close('}').close('}').end_event();
}
