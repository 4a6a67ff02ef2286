//! The content blocks of a request for `Converse`.

use super::media::{Titles, is_document, write_media};
use crate::translate::{
    error::{Losses, Refused},
    form::{Part, Role, ToolResult, Turn},
    out::Out,
    parts::{WORDS_ONLY, is_blank, results, texts},
    target::{Target, digest, fit_id, is_word},
};
use std::borrow::Cow;

/// Names are `[a-zA-Z0-9_-]`, 1 to 64 of them.
const LONGEST_NAME: usize = 64;

pub(super) fn is_fit_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_word)
}

/// A tool's name as it is taken. One that a model made up stands in a conversation for ever, and would have each later
/// call refused. The same name always becomes the same.
pub(super) fn fit_name(name: &str) -> Cow<'_, str> {
    if is_fit_name(name) {
        return Cow::Borrowed(name);
    }
    let word: String = name.chars().map(|c| if c.is_ascii() && is_word(c as u8) { c } else { '_' }).collect();
    if is_fit_name(&word) {
        return Cow::Owned(word);
    }
    let head: String = word.chars().take(LONGEST_NAME - 17).collect();
    Cow::Owned(format!("{head}_{:016x}", digest(name)))
}

/// A part of which no block would be left.
pub(super) fn is_nothing(part: &Part<'_>) -> bool {
    is_blank(part) || matches!(part, Part::Mark)
}

/// The blocks of a turn. `marks`: the model has a cache. `titles` are those of the request's documents.
pub(super) fn write_blocks(
    turn: &Turn<'_>,
    marks: bool,
    target: &Target,
    titles: &mut Titles,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    let before = out.len();
    // Results come first in the turn that follows their calls.
    for result in results(&turn.parts) {
        write_result(result, target, titles, losses, out)?;
    }
    let speaks = texts(&turn.parts).any(|text| !text.is_blank());
    for part in turn.parts.iter().filter(|part| !is_blank(part)) {
        match part {
            Part::Text(text) => {
                out.open('{').field_lit("text", *text).close('}');
            }
            Part::Media(media) if turn.role == Role::Assistant => {
                losses.because(&*media.param, WORDS_ONLY)?;
            }
            Part::Media(media) if !speaks && is_document(media) => {
                losses.because(&*media.param, "a document must have text beside it in its message")?;
            }
            Part::Media(media) => write_media(media, titles, losses, out)?,
            Part::Call(call) => {
                out.open('{').key("toolUse").open('{');
                out.field_str("toolUseId", &fit_id(&call.id, target.ids));
                out.field_str("name", &fit_name(&call.name)).field_raw("input", call.arguments.trim());
                out.close('}').close('}');
            }
            // A mark alone is no message.
            Part::Mark if marks && out.len() > before => write_mark(out),
            Part::Result(_) | Part::Mark => {}
        }
    }
    Ok(())
}

/// What was told up to here is to be kept in the cache.
pub(super) fn write_mark(out: &mut Out) {
    out.open('{').key("cachePoint").open('{').field_str("type", "default").close('}').close('}');
}

fn write_result(
    result: &ToolResult<'_>,
    target: &Target,
    titles: &mut Titles,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    out.open('{').key("toolResult").open('{');
    out.field_str("toolUseId", &fit_id(&result.id, target.ids)).key("content").open('[');
    match result.object {
        Some(object) if object.is_object() => {
            out.open('{').field_raw("json", object.raw()).close('}');
        }
        _ => {
            let list = out.len();
            for part in result.parts.iter().filter(|part| !is_blank(part)) {
                match part {
                    Part::Text(text) => {
                        out.open('{').field_lit("text", *text).close('}');
                    }
                    Part::Media(media) => write_media(media, titles, losses, out)?,
                    Part::Call(_) | Part::Result(_) | Part::Mark => {}
                }
            }
            // A list of no blocks and a blank text are both refused.
            if out.len() == list {
                out.open('{').key("json").open('{').close('}').close('}');
            }
        }
    }
    out.close(']');
    if result.is_error {
        out.field_str("status", "error");
    }
    out.close('}').close('}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_stay_where_they_fit_already() {
        assert_eq!(fit_name("get_weather-2"), "get_weather-2");
        assert_eq!(fit_name("browser.tabs.open"), "browser_tabs_open");
        let (long, other) = ("x".repeat(65), "x".repeat(66));
        for name in [&*long, &*other, "", "\u{1f600}"] {
            assert!(is_fit_name(&fit_name(name)), "{name}");
        }
        assert_ne!(fit_name(&long), fit_name(&other));
    }
}
