//! Writing streams of `streamGenerateContent`.

use super::{
    answer::{self, write_call, write_names, write_tokens},
    sources::{PartStart, write_grounding},
};
use crate::{
    dialect::Finish,
    translate::{
        balance::Balance,
        citation::Citation,
        event::{Event, Tokens, conclude},
        form::Wishes,
        measure::Measure,
        messages::is_input,
        out::Out,
    },
};
use std::borrow::Cow;

/// How much is held of tool calls, which are told whole.
const MAX_HELD: usize = 8 << 20;

/// Writes responses.
#[derive(Debug)]
pub(in crate::translate) struct Stream {
    wishes: Wishes,
    id: Option<String>,
    model: Option<String>,
    /// Calls that are not whole yet: they are told in one piece.
    open: Vec<Open>,
    held: usize,
    called: bool,
    refused: bool,
    finish: Option<Finish>,
    tokens: Tokens,
    /// The sources, which the last response tells.
    citations: Vec<Citation<'static>>,
    told: Measure,
    ended: bool,
}

#[derive(Debug)]
struct Open {
    call: u64,
    id: String,
    name: String,
    arguments: String,
    balance: Balance,
}

impl Stream {
    pub(in crate::translate) fn new(wishes: Wishes) -> Self {
        Self {
            wishes,
            id: None,
            model: None,
            open: Vec::new(),
            held: 0,
            called: false,
            refused: false,
            finish: None,
            tokens: Tokens::default(),
            citations: Vec::new(),
            told: Measure::default(),
            ended: false,
        }
    }

    pub(in crate::translate) fn write(
        &mut self,
        event: Event<'_>,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        match event {
            Event::Start { id, model, .. } => {
                self.id = id.map(Cow::into_owned);
                self.model = model.map(Cow::into_owned);
            }
            Event::Text(text) => {
                self.told.read(&text);
                self.text(&text, false, out);
            }
            Event::Refusal(text) => {
                self.refused = true;
                self.text(&text, false, out);
            }
            Event::Thought(text) if self.wishes.thoughts => self.text(&text, true, out),
            Event::Thought(_) => {}
            Event::Call { call, id, name } => {
                self.called = true;
                let (id, name) = (id.into_owned(), name.into_owned());
                self.open.push(Open {
                    call,
                    id,
                    name,
                    arguments: String::new(),
                    balance: Balance::default(),
                });
            }
            Event::Arguments { call, text } => self.arguments(call, &text, out)?,
            Event::Citation(citation) => self.citations.push(citation.into_owned()),
            Event::Passage(_) => {}
            Event::Finish { reason, .. } => self.finish = Some(reason),
            Event::Tokens(tokens) => self.tokens.update(tokens),
            Event::End => self.end(out)?,
        }
        Ok(())
    }

    fn text(&self, text: &str, thought: bool, out: &mut Out) {
        head(out);
        out.open('{').key("text").pieces([text]);
        if thought {
            out.field_raw("thought", "true");
        }
        out.close('}');
        self.tail(out);
    }

    fn arguments(&mut self, call: u64, text: &str, out: &mut Out) -> Result<(), &'static str> {
        let Some(at) = self.open.iter().position(|open| open.call == call) else {
            return if text.trim().is_empty() { Ok(()) } else { Err("a tool call goes on after its end") };
        };
        let Some(open) = self.open.get_mut(at) else { return Ok(()) };
        self.held += text.len();
        if self.held > MAX_HELD {
            return Err("its tool calls are larger than can be held");
        }
        open.arguments.push_str(text);
        open.balance.read(text);
        if open.balance.is_whole() {
            let whole = self.open.remove(at);
            self.held = self.held.saturating_sub(whole.arguments.len());
            self.call(&whole, out)?;
        }
        Ok(())
    }

    fn call(&self, whole: &Open, out: &mut Out) -> Result<(), &'static str> {
        head(out);
        write_call(&whole.id, &whole.name, &whole.arguments, out)?;
        self.tail(out);
        Ok(())
    }

    fn tail(&self, out: &mut Out) {
        out.close(']').field_str("role", "model").close('}').field_number("index", 0).close('}').close(']');
        write_names(self.id.as_deref(), self.model.as_deref(), out);
        out.close('}').end_event();
    }

    fn end(&mut self, out: &mut Out) -> Result<(), &'static str> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        let reason = conclude(self.finish, self.called, self.refused);
        for whole in std::mem::take(&mut self.open) {
            // There was no room for the rest of it, and half an object is none.
            if reason == Finish::Length && !is_input(&whole.arguments) {
                continue;
            }
            self.call(&whole, out)?;
        }
        out.event(None).open('{').key("candidates").open('[').open('{').key("content").open('{');
        out.key("parts").open('[').open('{').field_str("text", "").close('}').close(']');
        out.field_str("role", "model").close('}');
        out.field_str("finishReason", answer::reason(reason));
        out.field_number("index", 0);
        // Whoever puts the pieces together has one part of all the text.
        write_grounding(&self.citations, &[PartStart::default()], self.told.length().bytes, out);
        out.close('}').close(']').key("usageMetadata");
        write_tokens(&self.tokens, out);
        write_names(self.id.as_deref(), self.model.as_deref(), out);
        out.close('}').end_event();
        Ok(())
    }
}

fn head(out: &mut Out) {
    out.event(None)
        .open('{')
        .key("candidates")
        .open('[')
        .open('{')
        .key("content")
        .open('{')
        .key("parts")
        .open('[');
}
