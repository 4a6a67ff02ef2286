//! Reading streams of `/v1/messages`.

use super::answer::{read_block, read_citation};
use crate::{
    dialect::Finish,
    translate::{
        event::{Event, MAX_CALLS, Tokens, filled},
        json::Json,
    },
};

/// Reads events.
#[derive(Debug, Default)]
pub(in crate::translate) struct Events {
    counts: Counts,
    /// What the answer is called.
    id: String,
    /// The indexes of the blocks that are tool calls.
    calls: Vec<u64>,
    ended: bool,
}

impl Events {
    pub(in crate::translate) fn read<'a>(
        &mut self,
        name: &str,
        data: Json<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<(), &'static str> {
        let [kind, index, delta] = data.pick(["type", "index", "delta"]);
        let kind = kind.and_then(Json::text);
        let index = index.and_then(Json::count).unwrap_or(0);
        match kind.as_deref().unwrap_or(name) {
            "message_start" => {
                let Some(message) = data.get("message") else { return Ok(()) };
                let id = message.get("id").and_then(Json::text);
                self.id = id.as_deref().unwrap_or_default().to_owned();
                let model = message.get("model").and_then(Json::text);
                events.push(Event::Start { id, model, created: None });
                self.usage(message.get("usage"), events);
            }
            "content_block_start" => {
                let Some(block) = data.get("content_block") else { return Ok(()) };
                if read_block(&self.id, index, block, events) {
                    if self.calls.len() as u64 == MAX_CALLS {
                        return Err("it calls too many tools");
                    }
                    self.calls.push(index);
                }
            }
            "content_block_delta" => {
                let Some(delta) = delta else { return Ok(()) };
                match delta.get("type").and_then(Json::text).as_deref() {
                    Some("text_delta") => events.extend(filled(delta.get("text")).map(Event::Text)),
                    Some("thinking_delta") => {
                        events.extend(filled(delta.get("thinking")).map(Event::Thought))
                    }
                    // Of other blocks, such as a server's own tools, nothing is shown.
                    Some("input_json_delta") if self.calls.contains(&index) => {
                        let text = filled(delta.get("partial_json"));
                        events.extend(text.map(|text| Event::Arguments { call: index, text }));
                    }
                    Some("citations_delta") => {
                        if let Some(citation) = delta.get("citation") {
                            read_citation(index, citation, events);
                        }
                    }
                    _ => {}
                }
            }
            "content_block_stop" => events.push(Event::Passage(None)),
            "message_delta" => {
                let reason = delta.and_then(|delta| delta.get("stop_reason")?.text());
                if let Some(reason) = reason.and_then(|reason| Finish::of_reason(&reason)) {
                    let stop = filled(delta.and_then(|delta| delta.get("stop_sequence")));
                    events.push(Event::Finish { reason, stop });
                }
                self.usage(data.get("usage"), events);
            }
            "message_stop" => self.end(events),
            _ => {}
        }
        Ok(())
    }

    fn usage(&mut self, usage: Option<Json<'_>>, events: &mut Vec<Event<'_>>) {
        events.extend(usage.map(|usage| Event::Tokens(self.counts.update(usage))));
    }

    pub(in crate::translate) fn end(&mut self, events: &mut Vec<Event<'_>>) {
        if !std::mem::replace(&mut self.ended, true) {
            events.push(Event::End);
        }
    }
}

/// The counts as Anthropic keeps them: cached tokens beside `input_tokens`, not in it.
#[derive(Debug, Default)]
pub(super) struct Counts {
    input: Option<u64>,
    read: Option<u64>,
    written: Option<u64>,
    output: Option<u64>,
    thoughts: Option<u64>,
}

impl Counts {
    /// Takes what is new and gives all that is known.
    pub(super) fn update(&mut self, usage: Json<'_>) -> Tokens {
        let count = |name: &str, before: Option<u64>| usage.get(name).and_then(Json::count).or(before);
        self.input = count("input_tokens", self.input);
        self.read = count("cache_read_input_tokens", self.read);
        self.written = count("cache_creation_input_tokens", self.written);
        self.output = count("output_tokens", self.output);
        let details = usage.get("output_tokens_details");
        self.thoughts = details.and_then(|of| of.get("thinking_tokens")?.count()).or(self.thoughts);
        let parts = [self.input, self.read, self.written];
        Tokens {
            input: parts.into_iter().flatten().reduce(u64::saturating_add),
            output: self.output,
            cached: self.read,
            cache_write: self.written,
            thoughts: self.thoughts,
        }
    }
}
