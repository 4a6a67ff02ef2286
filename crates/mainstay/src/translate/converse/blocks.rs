//! The content blocks of a request for `Converse`.

use crate::translate::{
    error::{Losses, Refused},
    form::{Media, MediaKind, Part, Role, Source, ToolResult, Turn},
    out::{Out, safe},
    parts::{FETCHES_NOTHING, FOREIGN, WORDS_ONLY, is_blank, results, texts},
    target::{Target, digest, fit_id, is_word},
};
use std::borrow::Cow;

/// Names are `[a-zA-Z0-9_-]`, 1 to 64 of them.
const LONGEST_NAME: usize = 64;

/// Names of documents are at most so long.
const LONGEST_TITLE: usize = 200;

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

/// The blocks of a turn. `marks`: the model has a cache. `documents` counts those of the request, since each needs a name
/// of its own.
pub(super) fn write_blocks(
    turn: &Turn<'_>,
    marks: bool,
    target: &Target,
    documents: &mut u32,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    // Results come first in the turn that follows their calls.
    for result in results(&turn.parts) {
        write_result(result, target, documents, losses, out)?;
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
            Part::Media(media) => write_media(media, documents, losses, out)?,
            Part::Call(call) => {
                out.open('{').key("toolUse").open('{');
                out.field_str("toolUseId", &fit_id(&call.id, target.ids));
                out.field_str("name", &fit_name(&call.name)).field_raw("input", call.arguments.trim());
                out.close('}').close('}');
            }
            Part::Mark if marks => write_mark(out),
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
    documents: &mut u32,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    out.open('{').key("toolResult").open('{');
    out.field_str("toolUseId", &fit_id(&result.id, target.ids)).key("content").open('[');
    match result.object {
        Some(object) if object.is_object() => {
            out.open('{').field_raw("json", object.raw()).close('}');
        }
        // A list of no blocks and a blank text are both refused.
        _ if result.parts.iter().all(is_nothing) => {
            out.open('{').key("json").open('{').close('}').close('}');
        }
        _ => {
            for part in result.parts.iter().filter(|part| !is_blank(part)) {
                match part {
                    Part::Text(text) => {
                        out.open('{').field_lit("text", *text).close('}');
                    }
                    Part::Media(media) => write_media(media, documents, losses, out)?,
                    Part::Call(_) | Part::Result(_) | Part::Mark => {}
                }
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

fn is_document(media: &Media<'_>) -> bool {
    match &media.source {
        Source::Data { media: kind, .. } => media.kind == MediaKind::File && !kind.starts_with("image/"),
        _ => media.kind == MediaKind::File,
    }
}

fn write_media(
    media: &Media<'_>,
    documents: &mut u32,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    let block = match media.kind {
        MediaKind::Image => "image",
        MediaKind::File if !is_document(media) => "image",
        MediaKind::File => "document",
        MediaKind::Video => "video",
        MediaKind::Audio => return losses.lose(&*media.param),
    };
    let kind = match &media.source {
        Source::Data { media, .. } => Some(&**media),
        Source::Text(_) => Some("text/plain"),
        Source::Url { url, .. } if !url.starts_with("s3://") => {
            return losses.because(&*media.param, FETCHES_NOTHING);
        }
        Source::Url { url, media: known } => known.as_deref().or_else(|| by_ending(url)),
        Source::Foreign => return losses.because(&*media.param, FOREIGN),
    };
    let Some(format) = kind.and_then(|kind| format(block, kind)) else {
        return losses.because(&*media.param, "it has no format of that media type");
    };
    out.open('{').key(block).open('{').field_str("format", format);
    if block == "document" {
        *documents += 1;
        out.field_str("name", &title(media, *documents));
    }
    out.key("source").open('{');
    match &media.source {
        Source::Data { data, .. } => {
            out.key("bytes").pieces([&*safe(data)]);
        }
        Source::Url { url, .. } => {
            out.key("s3Location").open('{').field_str("uri", url).close('}');
        }
        Source::Text(text) => {
            out.field_lit("text", *text);
        }
        Source::Foreign => {}
    }
    out.close('}').close('}').close('}');
    Ok(())
}

/// The word that stands for a media type.
fn format(block: &str, kind: &str) -> Option<&'static str> {
    Some(match (block, kind.split(';').next().unwrap_or_default().trim()) {
        ("image", "image/png") => "png",
        ("image", "image/jpeg" | "image/jpg") => "jpeg",
        ("image", "image/gif") => "gif",
        ("image", "image/webp") => "webp",
        ("document", "application/pdf") => "pdf",
        ("document", "text/csv") => "csv",
        ("document", "text/html") => "html",
        ("document", "text/plain") => "txt",
        ("document", "text/markdown") => "md",
        ("document", "application/msword") => "doc",
        ("document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document") => "docx",
        ("document", "application/vnd.ms-excel") => "xls",
        ("document", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet") => "xlsx",
        ("video", "video/mp4") => "mp4",
        ("video", "video/quicktime") => "mov",
        ("video", "video/x-matroska") => "mkv",
        ("video", "video/webm") => "webm",
        ("video", "video/x-flv") => "flv",
        ("video", "video/mpeg") => "mpeg",
        ("video", "video/x-ms-wmv") => "wmv",
        ("video", "video/3gpp") => "three_gp",
        _ => return None,
    })
}

/// The media type that the ending of an address stands for, where nothing else tells.
fn by_ending(url: &str) -> Option<&'static str> {
    Some(match url.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "txt" => "text/plain",
        "mp4" => "video/mp4",
        _ => return None,
    })
}

/// A document's name: letters, digits, single blanks, hyphens, brackets, and no other document's. The file's own as far as
/// it is that.
fn title(media: &Media<'_>, number: u32) -> String {
    let theirs = media.name.and_then(|name| name.decode()).unwrap_or_default();
    // The format is told beside it.
    let stem = theirs.rsplit_once('.').map_or(&*theirs, |(stem, _)| stem);
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '(' | ')' | '[' | ']');
    let spaced: String =
        stem.chars().take(4 * LONGEST_TITLE).map(|c| if allowed(c) { c } else { ' ' }).collect();
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let name: String = words.join(" ").chars().take(LONGEST_TITLE - 16).collect();
    match (name.trim(), number) {
        ("", number) => format!("document-{number}"),
        (name, 1) => name.to_owned(),
        (name, number) => format!("{name} ({number})"),
    }
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
