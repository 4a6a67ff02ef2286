//! Answers of `/v1/chat/completions`, whole.

use super::events::Events;
use crate::{
    dialect::Finish,
    translate::{
        citation::{Citation, write_url_citation},
        event::{Answer, Event, Piece, Tokens, id_with, now},
        json::Json,
        out::Out,
    },
};

/// Reads a `chat.completion`: its first choice, since one was asked for.
pub(in crate::translate) fn read_answer<'a>(
    body: Json<'a>,
    events: &mut Vec<Event<'a>>,
) -> Result<(), &'static str> {
    let mut reader = Events::default();
    reader.read(body, events)?;
    reader.end(events);
    Ok(())
}

pub(in crate::translate) fn write_answer(answer: &Answer<'_>, out: &mut Out) {
    out.open('{').field_str("id", &id_with("chatcmpl-", answer.id.as_deref()));
    out.field_str("object", "chat.completion").field_number("created", answer.created.unwrap_or_else(now));
    out.field_str("model", answer.model.as_deref().unwrap_or_default());
    out.key("choices").open('[').open('{').field_number("index", 0);
    out.key("message").open('{').field_str("role", "assistant");
    let pieces = answer.pieces.iter();
    let texts =
        pieces.clone().filter_map(|piece| if let Piece::Text(text) = piece { Some(&**text) } else { None });
    let refusals = pieces
        .clone()
        .filter_map(|piece| if let Piece::Refusal(text) = piece { Some(&**text) } else { None });
    let thoughts = pieces
        .clone()
        .filter_map(|piece| if let Piece::Thought(text) = piece { Some(&**text) } else { None });
    let (refused, called) =
        (refusals.clone().next().is_some(), pieces.clone().any(|piece| matches!(piece, Piece::Call { .. })));
    out.key("content");
    if texts.clone().next().is_some() || !(called || refused) {
        out.pieces(texts);
    } else {
        out.raw("null");
    }
    out.key("refusal");
    if refused {
        out.pieces(refusals);
    } else {
        out.raw("null");
    }
    if thoughts.clone().next().is_some() {
        out.key("reasoning_content").pieces(thoughts);
    }
    if !answer.citations.is_empty() {
        write_annotations(&answer.citations, out);
    }
    if called {
        out.key("tool_calls").open('[');
        for piece in pieces {
            if let Piece::Call { id, name, arguments, .. } = piece {
                out.open('{').field_str("id", id).field_str("type", "function").key("function").open('{');
                out.field_str("name", name).key("arguments");
                out.pieces([if arguments.is_empty() { "{}" } else { &**arguments }]);
                out.close('}').close('}');
            }
        }
        out.close(']');
    }
    out.close('}').field_raw("logprobs", "null").field_str("finish_reason", reason(answer.reason()));
    out.close('}').close(']');
    out.key("usage");
    write_tokens(&answer.tokens, out);
    out.close('}');
}

/// The pages that the content comes from.
pub(super) fn write_annotations(citations: &[Citation<'_>], out: &mut Out) {
    out.key("annotations").open('[');
    for citation in citations {
        out.open('{').field_str("type", "url_citation").key("url_citation").open('{');
        write_url_citation(citation, citation.at(), out);
        out.close('}').close('}');
    }
    out.close(']');
}

/// The word for a reason.
pub(super) fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Length => "length",
        Finish::ToolCalls => "tool_calls",
        Finish::ContentFilter => "content_filter",
        _ => "stop",
    }
}

pub(super) fn write_tokens(tokens: &Tokens, out: &mut Out) {
    out.open('{').field_number("prompt_tokens", tokens.input.unwrap_or(0));
    out.field_number("completion_tokens", tokens.output.unwrap_or(0));
    out.field_number("total_tokens", tokens.total());
    out.key("prompt_tokens_details").open('{').field_number("cached_tokens", tokens.cached.unwrap_or(0));
    if let Some(written) = tokens.cache_write.filter(|written| *written > 0) {
        out.field_number("cache_write_tokens", written);
    }
    out.close('}');
    out.key("completion_tokens_details").open('{');
    out.field_number("reasoning_tokens", tokens.thoughts.unwrap_or(0)).close('}').close('}');
}

pub(super) fn read_tokens(usage: Json<'_>) -> Tokens {
    let count = |of: Json<'_>, name: &str| of.get(name).and_then(Json::count);
    let details = usage.get("prompt_tokens_details");
    let output = usage.get("completion_tokens_details");
    Tokens {
        input: count(usage, "prompt_tokens"),
        output: count(usage, "completion_tokens"),
        cached: details
            .and_then(|details| count(details, "cached_tokens"))
            .or_else(|| count(usage, "prompt_cache_hit_tokens")),
        cache_write: details.and_then(|details| count(details, "cache_write_tokens")),
        thoughts: output.and_then(|output| count(output, "reasoning_tokens")),
    }
}
