//! Answers of `generateContent`, whole.

use super::{
    events::Events,
    sources::{PartStart, write_grounding},
};
use crate::{
    dialect::Finish,
    translate::{
        event::{Answer, Event, Piece, Tokens},
        form::Wishes,
        json::Json,
        measure::Measure,
        messages::{is_input, write_input},
        out::Out,
    },
};

/// Reads a `GenerateContentResponse`, or a list of them, which is a stream that was not asked for as events.
pub(in crate::translate) fn read_answer<'a>(
    body: Json<'a>,
    events: &mut Vec<Event<'a>>,
) -> Result<(), &'static str> {
    let mut reader = match body.items() {
        Some(items) => {
            let mut reader = Events::default();
            items.into_iter().try_for_each(|item| reader.read(item, events))?;
            reader
        }
        None => {
            let mut reader = Events::of_whole();
            reader.read(body, events)?;
            reader
        }
    };
    reader.end(events);
    Ok(())
}

pub(in crate::translate) fn write_answer(
    answer: &Answer<'_>,
    wishes: Wishes,
    out: &mut Out,
) -> Result<(), &'static str> {
    out.open('{').key("candidates").open('[').open('{').key("content").open('{').key("parts").open('[');
    let (mut starts, mut told) = (Vec::new(), Measure::default());
    let mut part = 0;
    for piece in &answer.pieces {
        match piece {
            Piece::Text(text) => {
                if !answer.citations.is_empty() {
                    starts.push(PartStart { part, start: told.length().bytes });
                    told.read(text);
                }
                out.open('{').key("text").pieces([&**text]).close('}');
            }
            Piece::Refusal(text) => {
                out.open('{').key("text").pieces([&**text]).close('}');
            }
            Piece::Thought(text) if wishes.thoughts => {
                out.open('{').key("text").pieces([&**text]).field_raw("thought", "true").close('}');
            }
            Piece::Thought(_) => continue,
            // There was no room for the rest of it, and half an object is none.
            Piece::Call { arguments, .. } if answer.reason() == Finish::Length && !is_input(arguments) => {
                continue;
            }
            Piece::Call { id, name, arguments, .. } => write_call(id, name, arguments, out)?,
        }
        part += 1;
    }
    out.close(']').field_str("role", "model").close('}');
    out.field_str("finishReason", reason(answer.reason())).field_number("index", 0);
    write_grounding(&answer.citations, &starts, told.length().bytes, out);
    out.close('}').close(']').key("usageMetadata");
    write_tokens(&answer.tokens, out);
    write_names(answer.id.as_deref(), answer.model.as_deref(), out);
    out.close('}');
    Ok(())
}

pub(super) fn write_call(id: &str, name: &str, arguments: &str, out: &mut Out) -> Result<(), &'static str> {
    out.open('{').key("functionCall").open('{').field_str("id", id).field_str("name", name).key("args");
    write_input(arguments, out)?;
    out.close('}').close('}');
    Ok(())
}

pub(super) fn write_names(id: Option<&str>, model: Option<&str>, out: &mut Out) {
    if let Some(model) = model {
        out.field_str("modelVersion", model);
    }
    if let Some(id) = id {
        out.field_str("responseId", id);
    }
}

pub(super) fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Length => "MAX_TOKENS",
        Finish::ContentFilter => "SAFETY",
        _ => "STOP",
    }
}

pub(super) fn write_tokens(tokens: &Tokens, out: &mut Out) {
    let thoughts = tokens.thoughts.unwrap_or(0);
    out.open('{').field_number("promptTokenCount", tokens.input.unwrap_or(0));
    out.field_number("candidatesTokenCount", tokens.output.unwrap_or(0).saturating_sub(thoughts));
    out.field_number("totalTokenCount", tokens.total());
    if let Some(cached) = tokens.cached.filter(|cached| *cached > 0) {
        out.field_number("cachedContentTokenCount", cached);
    }
    if thoughts > 0 {
        out.field_number("thoughtsTokenCount", thoughts);
    }
    out.close('}');
}

pub(super) fn read_tokens(usage: Json<'_>) -> Tokens {
    const NAMES: [&str; 5] = [
        "promptTokenCount",
        "toolUsePromptTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "cachedContentTokenCount",
    ];
    let [prompt, tools, candidates, thoughts, cached] = usage.pick(NAMES).map(|count| count?.count());
    let sum = |a: Option<u64>, b: Option<u64>| [a, b].into_iter().flatten().reduce(u64::saturating_add);
    Tokens {
        input: sum(prompt, tools),
        output: sum(candidates, thoughts),
        cached,
        cache_write: None,
        thoughts,
    }
}
