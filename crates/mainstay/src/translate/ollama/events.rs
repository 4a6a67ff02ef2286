//! Answers of `/api/chat`: a stream is lines of JSON, and an answer that is none is one such line.
//!
//! Tool calls are told whole and end with `done_reason: "stop"`; some servers give them no ids. Thoughts stand in `thinking`.

use crate::{
    dialect::Finish,
    translate::{
        event::{Event, Tokens, WholeCalls, filled},
        json::Json,
    },
};
use std::time::UNIX_EPOCH;

/// Reads lines, each of which is a piece of the answer.
#[derive(Debug, Default)]
pub(in crate::translate) struct Events {
    started: bool,
    ended: bool,
    calls: WholeCalls,
}

impl Events {
    pub(in crate::translate) fn read<'a>(
        &mut self,
        line: Json<'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<(), &'static str> {
        if !line.is_object() {
            return Err("a line of its stream is no object");
        }
        if !std::mem::replace(&mut self.started, true) {
            let created = line.get("created_at").and_then(Json::text);
            let model = line.get("model").and_then(Json::text);
            // It has no id. The time, to the nanosecond, tells this answer from others.
            self.calls = WholeCalls::of(created.as_deref().unwrap_or_default());
            events.push(Event::Start { id: None, model, created: created.as_deref().and_then(seconds) });
        }
        if let Some(message) = line.get("message") {
            events.extend(filled(message.get("thinking")).map(Event::Thought));
            events.extend(filled(message.get("content")).map(Event::Text));
            for call in message.get("tool_calls").into_iter().flat_map(Json::each) {
                let function = call.get("function").unwrap_or(call);
                let name = function.get("name").and_then(Json::text);
                self.calls.push(call.get("id"), name, function.get("arguments"), events)?;
            }
        }
        if line.get("done").and_then(Json::as_bool) == Some(true) {
            let reason = line.get("done_reason").and_then(Json::text);
            let reason = reason.and_then(|reason| Finish::of_reason(&reason)).unwrap_or(Finish::Stop);
            events.push(Event::Finish { reason, stop: None });
            events.push(Event::Tokens(read_tokens(line)));
            self.end(events);
        }
        Ok(())
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
    let mut reader = Events::default();
    reader.read(body, events)?;
    reader.end(events);
    Ok(())
}

/// The counts, of which those of a prompt that was in the cache whole may be missing.
fn read_tokens(line: Json<'_>) -> Tokens {
    let count = |name: &str| line.get(name).and_then(Json::count);
    Tokens { input: count("prompt_eval_count"), output: count("eval_count"), ..Tokens::default() }
}

/// Seconds since 1970, of a time that is written in UTC.
fn seconds(time: &str) -> Option<u64> {
    let time = humantime::parse_rfc3339(time).ok()?;
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}
