//! Streams of `/v2/chat`: events that each name their type.

use super::answer::{read_end, read_part};
use crate::translate::{
    event::{Event, MAX_CALLS, filled, made_id},
    json::Json,
};
use std::borrow::Cow;

/// Reads events. Citations name tools and documents by Cohere's own ids and are left out; types that are not known are none.
#[derive(Debug, Default)]
pub(in crate::translate) struct Events {
    started: bool,
    ended: bool,
    id: String,
    /// The indexes of the tool calls, which count nothing else.
    calls: Vec<Option<u64>>,
}

impl Events {
    pub(in crate::translate) fn read<'a>(
        &mut self,
        event: Json<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<(), &'static str> {
        if !event.is_object() {
            return Err("an event of its stream is no object");
        }
        if !std::mem::replace(&mut self.started, true) {
            let id = event.get("id").and_then(Json::text);
            self.id = id.as_deref().unwrap_or_default().to_owned();
            events.push(Event::Start { id, model: None, created: None });
        }
        let delta = event.get("delta");
        let message = delta.and_then(|delta| delta.get("message"));
        match event.get("type").and_then(Json::text).as_deref() {
            Some("content-start" | "content-delta") => {
                if let Some(content) = message.and_then(|message| message.get("content")) {
                    read_part(content, events);
                }
            }
            Some("tool-plan-delta") => {
                events.extend(filled(message.and_then(|message| message.get("tool_plan"))).map(Event::Text));
            }
            Some("tool-call-start") => {
                let call = message.and_then(|message| message.get("tool_calls"));
                self.begin(event.get("index").and_then(Json::count), call, events)?;
            }
            Some("tool-call-delta") => {
                let call = message.and_then(|message| message.get("tool_calls"));
                self.go_on(event.get("index").and_then(Json::count), call, events);
            }
            Some("message-end") => {
                if let Some(end) = delta {
                    read_end(end, events);
                }
                self.end(events);
            }
            _ => {}
        }
        Ok(())
    }

    fn begin<'a>(
        &mut self,
        index: Option<u64>,
        call: Option<Json<'a>>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<(), &'static str> {
        let n = self.calls.len() as u64;
        if n == MAX_CALLS {
            return Err("it calls too many tools");
        }
        self.calls.push(index);
        let id = call.and_then(|call| call.get("id")?.text()).filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| Cow::Owned(made_id(&self.id, n)));
        let function = call.and_then(|call| call.get("function"));
        let name = function.and_then(|function| function.get("name")?.text()).unwrap_or_default();
        events.push(Event::Call { call: n, id, name });
        let arguments = filled(function.and_then(|function| function.get("arguments")));
        events.extend(arguments.map(|text| Event::Arguments { call: n, text }));
        Ok(())
    }

    fn go_on<'a>(&self, index: Option<u64>, call: Option<Json<'a>>, events: &mut Vec<Event<'a>>) {
        let same = self.calls.iter().rposition(|known| *known == index);
        // Without an index the last one is meant.
        let Some(at) = same.or_else(|| self.calls.len().checked_sub(1)) else { return };
        let function = call.and_then(|call| call.get("function"));
        let arguments = filled(function.and_then(|function| function.get("arguments")));
        events.extend(arguments.map(|text| Event::Arguments { call: at as u64, text }));
    }

    pub(in crate::translate) fn end(&mut self, events: &mut Vec<Event<'_>>) {
        if !std::mem::replace(&mut self.ended, true) {
            events.push(Event::End);
        }
    }
}
