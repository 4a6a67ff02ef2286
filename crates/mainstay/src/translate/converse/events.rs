//! Answers of `Converse`, and the messages of `ConverseStream`.
//!
//! The messages are told apart by what is in them. Blocks of a stream are counted, those of text included, and only a tool's
//! has a beginning.

use crate::{
    dialect::Finish,
    translate::{
        citation::{Citation, Place},
        event::{Event, MAX_CALLS, Tokens, WholeCalls, filled, made_id},
        json::Json,
        out::escape,
    },
};
use std::borrow::Cow;

/// Reads messages.
#[derive(Debug, Default)]
pub(in crate::translate) struct Events {
    started: bool,
    ended: bool,
    /// The blocks that are tool calls.
    calls: Vec<u64>,
    /// The block that the text is of.
    passage: Option<u64>,
}

impl Events {
    pub(in crate::translate) fn read<'a>(
        &mut self,
        message: Json<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<(), &'static str> {
        if !message.is_object() {
            return Err("a message of its stream is no object");
        }
        if !std::mem::replace(&mut self.started, true) {
            events.push(Event::Start { id: None, model: None, created: None });
        }
        let block = message.get("contentBlockIndex").and_then(Json::count);
        if let Some(tool) = message.get("start").and_then(|start| start.get("toolUse")) {
            self.begin(block.unwrap_or(0), tool, events)?;
        }
        if let Some(delta) = message.get("delta") {
            if let Some(text) = filled(delta.get("text")) {
                // Blocks of text have no beginning of their own.
                if self.passage != block {
                    self.passage = block;
                    events.push(Event::Passage(block));
                }
                events.push(Event::Text(text));
            }
            if let (Some(block), Some(citation)) = (block, delta.get("citation")) {
                read_citation(block, citation, events);
            }
            let thought = delta.get("reasoningContent").and_then(|thought| thought.get("text"));
            events.extend(filled(thought).map(Event::Thought));
            if let Some(input) = delta.get("toolUse").and_then(|tool| tool.get("input")) {
                self.go_on(block.unwrap_or(0), input, events);
            }
        } else if block.is_some() && self.passage == block {
            self.passage = None;
            events.push(Event::Passage(None));
        }
        read_end(message, events);
        Ok(())
    }

    fn begin<'a>(
        &mut self,
        block: u64,
        tool: Json<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<(), &'static str> {
        let call = self.calls.len() as u64;
        if call == MAX_CALLS {
            return Err("it calls too many tools");
        }
        self.calls.push(block);
        let id = tool.get("toolUseId").and_then(Json::text).filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| Cow::Owned(made_id("", call)));
        let name = tool.get("name").and_then(Json::text).unwrap_or_default();
        events.push(Event::Call { call, id, name });
        Ok(())
    }

    /// More of a tool's input: pieces of JSON as text, or all of it as an object.
    fn go_on<'a>(&self, block: u64, input: Json<'a>, events: &mut Vec<Event<'a>>) {
        let Some(call) = self.calls.iter().rposition(|known| *known == block) else { return };
        let text = match input.lit() {
            Some(_) => filled(Some(input)),
            None => Some(Cow::Owned(escape(input.raw()))),
        };
        events.extend(text.map(|text| Event::Arguments { call: call as u64, text }));
    }

    pub(in crate::translate) fn end(&mut self, events: &mut Vec<Event<'_>>) {
        if !std::mem::replace(&mut self.ended, true) {
            events.push(Event::End);
        }
    }
}

/// Reads an answer that is no stream.
pub(in crate::translate) fn read_answer<'a>(
    body: Json<'a>,
    events: &mut Vec<Event<'a>>,
) -> Result<(), &'static str> {
    let message = body.get("output").and_then(|output| output.get("message"));
    let content = message.and_then(|message| message.get("content")).and_then(Json::items);
    events.push(Event::Start { id: None, model: None, created: None });
    let mut calls = WholeCalls::default();
    for (index, block) in content.ok_or("it has no message with content")?.enumerate() {
        read_block(index as u64, block, &mut calls, events)?;
    }
    read_end(body, events);
    events.push(Event::End);
    Ok(())
}

/// A source of the block `index`, if it is a web page.
fn read_citation<'a>(index: u64, citation: Json<'a>, events: &mut Vec<Event<'a>>) {
    let [title, location] = citation.pick(["title", "location"]);
    let url = location.and_then(|location| location.get("web")?.get("url"));
    let citation = Citation::of(url, title, Place::Passage(index));
    events.extend(citation.map(|citation| Event::Citation(Box::new(citation))));
}

fn read_block<'a>(
    index: u64,
    block: Json<'a>,
    calls: &mut WholeCalls,
    events: &mut Vec<Event<'a>>,
) -> Result<(), &'static str> {
    events.extend(filled(block.get("text")).map(Event::Text));
    if let Some(thought) = block.get("reasoningContent").and_then(|thought| thought.get("reasoningText")) {
        events.extend(filled(thought.get("text")).map(Event::Thought));
    }
    if let Some(cited) = block.get("citationsContent") {
        events.push(Event::Passage(Some(index)));
        for text in cited.get("content").into_iter().flat_map(Json::each) {
            events.extend(filled(text.get("text")).map(Event::Text));
        }
        let citations = cited.get("citations").into_iter().flat_map(Json::each);
        citations.for_each(|citation| read_citation(index, citation, events));
        events.push(Event::Passage(None));
    }
    if let Some(tool) = block.get("toolUse") {
        let name = tool.get("name").and_then(Json::text);
        calls.push(tool.get("toolUseId"), name, tool.get("input"), events)?;
    }
    Ok(())
}

/// Why an answer ended, and its tokens, which a stream tells in two messages.
fn read_end<'a>(end: Json<'a>, events: &mut Vec<Event<'a>>) {
    if let Some(reason) = end.get("stopReason").and_then(Json::text) {
        if let Some(reason) = Finish::of_reason(&reason) {
            events.push(Event::Finish { reason, stop: None });
        }
    }
    if let Some(usage) = end.get("usage") {
        events.push(Event::Tokens(read_tokens(usage)));
    }
}

/// The counts: cached tokens stand beside `inputTokens`, not in it.
fn read_tokens(usage: Json<'_>) -> Tokens {
    let count = |name: &str| usage.get(name).and_then(Json::count);
    let (read, written) = (count("cacheReadInputTokens"), count("cacheWriteInputTokens"));
    let input = [count("inputTokens"), read, written].into_iter().flatten().reduce(u64::saturating_add);
    Tokens { input, output: count("outputTokens"), cached: read, cache_write: written, thoughts: None }
}
