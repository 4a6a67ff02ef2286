//! Answers of `/v2/chat`, whole.

use crate::{
    dialect::Finish,
    translate::{
        event::{Event, Tokens, WholeCalls, filled},
        json::Json,
    },
};

/// Reads a reply.
pub(in crate::translate) fn read_answer<'a>(
    body: Json<'a>,
    events: &mut Vec<Event<'a>>,
) -> Result<(), &'static str> {
    let message = body.get("message").filter(|message| message.is_object()).ok_or("it has no message")?;
    let id = body.get("id").and_then(Json::text);
    let mut calls = WholeCalls::of(id.as_deref().unwrap_or_default());
    events.push(Event::Start { id, model: None, created: None });
    // What it means to do with the tools comes before the calls, and so before anything it says besides.
    events.extend(filled(message.get("tool_plan")).map(Event::Text));
    for part in message.get("content").into_iter().flat_map(Json::each) {
        read_part(part, events);
    }
    for call in message.get("tool_calls").into_iter().flat_map(Json::each) {
        let function = call.get("function").unwrap_or(call);
        let name = function.get("name").and_then(Json::text);
        calls.push(call.get("id"), name, function.get("arguments"), events)?;
    }
    read_end(body, events);
    events.push(Event::End);
    Ok(())
}

/// A part of an answer, or a piece of one.
pub(super) fn read_part<'a>(part: Json<'a>, events: &mut Vec<Event<'a>>) {
    events.extend(filled(part.get("thinking")).map(Event::Thought));
    events.extend(filled(part.get("text")).map(Event::Text));
}

/// Why an answer ended, and its tokens.
pub(super) fn read_end<'a>(end: Json<'a>, events: &mut Vec<Event<'a>>) {
    if let Some(reason) = end.get("finish_reason").and_then(Json::text) {
        if let Some(reason) = Finish::of_reason(&reason) {
            events.push(Event::Finish { reason, stop: None });
        }
    }
    if let Some(usage) = end.get("usage") {
        events.push(Event::Tokens(read_tokens(usage)));
    }
}

/// The tokens themselves; those that are billed, where nothing else is told.
fn read_tokens(usage: Json<'_>) -> Tokens {
    let of = |group: &str, name: &str| usage.get(group).and_then(|group| group.get(name)?.count());
    let count = |name: &str| of("tokens", name).or_else(|| of("billed_units", name));
    Tokens {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cached: usage.get("cached_tokens").and_then(Json::count),
        ..Tokens::default()
    }
}
