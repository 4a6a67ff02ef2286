//! Answers of `/v1/messages`, whole.

use super::events::Counts;
use crate::{
    dialect::Finish,
    translate::{
        citation::{Citation, Place},
        event::{Answer, Event, Piece, Tokens, filled, id_with, made_id},
        form::Wishes,
        json::{Json, Lit},
        out::{Out, escape},
        target::{IdStyle, fit_id},
    },
};
use std::borrow::Cow;

/// Reads a `message`.
pub(in crate::translate) fn read_answer<'a>(
    body: Json<'a>,
    events: &mut Vec<Event<'a>>,
) -> Result<(), &'static str> {
    let id = body.get("id").and_then(Json::text);
    let model = body.get("model").and_then(Json::text);
    let answer = id.as_deref().unwrap_or_default().to_owned();
    events.push(Event::Start { id, model, created: None });
    let content = body.get("content").and_then(Json::items).ok_or("it has no content")?;
    for (call, block) in content.enumerate() {
        read_block(&answer, call as u64, block, events);
        events.push(Event::Passage(None));
    }
    if let Some(reason) = body.get("stop_reason").and_then(Json::text) {
        if let Some(reason) = Finish::of_reason(&reason) {
            events.push(Event::Finish { reason, stop: filled(body.get("stop_sequence")) });
        }
    }
    if let Some(usage) = body.get("usage") {
        events.push(Event::Tokens(Counts::default().update(usage)));
    }
    events.push(Event::End);
    Ok(())
}

/// A source of the block `index`, if it is a web page. Places in the documents of the request are the caller's own to find.
pub(super) fn read_citation<'a>(index: u64, citation: Json<'a>, events: &mut Vec<Event<'a>>) {
    let [kind, url, source, title] = citation.pick(["type", "url", "source", "title"]);
    let url = match kind.and_then(Json::text).as_deref() {
        Some("web_search_result_location") => url,
        Some("search_result_location") => source.filter(|source| is_address(*source)),
        _ => None,
    };
    let citation = Citation::of(url, title, Place::Passage(index));
    events.extend(citation.map(|citation| Event::Citation(Box::new(citation))));
}

/// Whether the name that a caller gave a search result of his is an address on the web.
fn is_address(source: Json<'_>) -> bool {
    let text = source.text().unwrap_or_default();
    ["http://", "https://"]
        .iter()
        .any(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}

/// A block with what it holds when it begins; whether it is a tool call. `answer` is what the answer is called.
pub(super) fn read_block<'a>(answer: &str, call: u64, block: Json<'a>, events: &mut Vec<Event<'a>>) -> bool {
    match block.get("type").and_then(Json::text).as_deref() {
        Some("text") => {
            events.push(Event::Passage(Some(call)));
            events.extend(filled(block.get("text")).map(Event::Text));
            let citations = block.get("citations").into_iter().flat_map(Json::each);
            citations.for_each(|citation| read_citation(call, citation, events));
        }
        Some("thinking") => events.extend(filled(block.get("thinking")).map(Event::Thought)),
        Some("tool_use") => {
            let id = block.get("id").and_then(Json::text).filter(|id| !id.is_empty());
            let id = id.unwrap_or_else(|| Cow::Owned(made_id(answer, call)));
            let name = block.get("name").and_then(Json::text).unwrap_or_default();
            events.push(Event::Call { call, id, name });
            if let Some(input) = block.get("input").filter(|input| input.fields().next().is_some()) {
                events.push(Event::Arguments { call, text: Cow::Owned(escape(input.raw())) });
            }
            return true;
        }
        _ => {}
    }
    false
}

pub(in crate::translate) fn write_answer(
    answer: &Answer<'_>,
    wishes: Wishes,
    out: &mut Out,
) -> Result<(), &'static str> {
    out.open('{').field_str("id", &id_with("msg_", answer.id.as_deref())).field_str("type", "message");
    out.field_str("role", "assistant").field_str("model", answer.model.as_deref().unwrap_or_default());
    out.key("content").open('[');
    for piece in &answer.pieces {
        match piece {
            Piece::Text(text) | Piece::Refusal(text) => {
                out.open('{').field_str("type", "text").key("text").pieces([&**text]).close('}');
            }
            Piece::Thought(text) if wishes.thoughts => {
                out.open('{').field_str("type", "thinking").key("thinking").pieces([&**text]);
                out.field_str("signature", "").close('}');
            }
            Piece::Thought(_) => {}
            // There was no room for the rest of it, and half an object is none.
            Piece::Call { arguments, .. } if answer.reason() == Finish::Length && !is_input(arguments) => {}
            Piece::Call { id, name, arguments, .. } => {
                out.open('{').field_str("type", "tool_use").field_str("id", &fit_id(id, IdStyle::Word));
                out.field_str("name", name).key("input");
                write_input(arguments, out)?;
                out.close('}');
            }
        }
    }
    out.close(']');
    write_reason(answer.reason(), answer.stop.as_deref(), out);
    out.key("usage");
    write_tokens(&answer.tokens, out);
    out.close('}');
    Ok(())
}

/// Whether arguments can be written as an object.
pub(in crate::translate) fn is_input(arguments: &str) -> bool {
    write_input(arguments, &mut Out::default()).is_ok()
}

/// Arguments, which are text inside a JSON string, as the object that they spell.
pub(in crate::translate) fn write_input(arguments: &str, out: &mut Out) -> Result<(), &'static str> {
    const BROKEN: &str = "the arguments of a tool call are no JSON object";
    let quoted = format!("\"{arguments}\"");
    let literal = Json::check(quoted.as_bytes(), false).ok().and_then(Json::lit);
    let text = literal.and_then(Lit::decode).ok_or(BROKEN)?;
    if text.trim().is_empty() {
        out.open('{').close('}');
        return Ok(());
    }
    let object = Json::check(text.as_bytes(), false).ok().filter(|json| json.is_object()).ok_or(BROKEN)?;
    out.raw(object.raw());
    Ok(())
}

/// `stop_reason` and `stop_sequence`.
pub(super) fn write_reason(finish: Finish, stop: Option<&str>, out: &mut Out) {
    let (reason, stop) = match (finish, stop) {
        (Finish::Length, _) => ("max_tokens", None),
        (Finish::ToolCalls, _) => ("tool_use", None),
        (Finish::ContentFilter, _) => ("refusal", None),
        (_, Some(stop)) => ("stop_sequence", Some(stop)),
        _ => ("end_turn", None),
    };
    out.field_str("stop_reason", reason).key("stop_sequence");
    match stop {
        Some(stop) => out.pieces([stop]),
        None => out.raw("null"),
    };
}

pub(super) fn write_tokens(tokens: &Tokens, out: &mut Out) {
    out.open('{').field_number("input_tokens", tokens.plain_input());
    out.field_number("cache_creation_input_tokens", tokens.cache_write.unwrap_or(0));
    out.field_number("cache_read_input_tokens", tokens.cached.unwrap_or(0));
    out.field_number("output_tokens", tokens.output.unwrap_or(0)).close('}');
}
