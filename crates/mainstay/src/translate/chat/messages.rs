//! The messages of a request for chat completions, and for those who took their shape over.

use crate::translate::{
    error::{Losses, Refused},
    form::{Media, MediaKind, Part, Request, Role, Source},
    out::{Out, safe},
    parts::{
        FOREIGN, WORDS_ONLY, calls, results, shown, texts, wordless, write_data_url, write_lines, write_said,
    },
    target::{Target, fit_id},
};

pub(super) fn write_messages(
    request: &Request<'_>,
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    out.key("messages").open('[');
    if !request.system.is_empty() {
        out.open('{').field_str("role", "system").key("content");
        write_lines(request.system.iter().copied(), out);
        out.close('}');
    }
    let before = out.len();
    for turn in &request.turns {
        match turn.role {
            Role::User => write_user(&turn.parts, target, losses, out)?,
            Role::Assistant => write_assistant(&turn.parts, target, losses, out)?,
        }
    }
    let lost = out.len() == before && !request.turns.is_empty();
    out.close(']');
    if lost { Err(wordless()) } else { Ok(()) }
}

fn write_user(
    parts: &[Part<'_>],
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    write_results(parts, target, out);
    let lone = match (shown(parts).next(), shown(parts).count()) {
        (None, _) => return Ok(()),
        (Some(Part::Text(text)), 1) => Some(*text),
        _ => None,
    };
    let before = out.len();
    out.open('{').field_str("role", "user");
    if let Some(text) = lone {
        out.field_lit("content", text).close('}');
        return Ok(());
    }
    out.key("content").open('[');
    let list = out.len();
    for part in shown(parts) {
        write_part(part, losses, out)?;
    }
    out.close_filled(before, list);
    Ok(())
}

/// The tools' words, a message each. What they showed follows with the user's own.
pub(in crate::translate) fn write_results(parts: &[Part<'_>], target: &Target, out: &mut Out) {
    for result in results(parts) {
        out.open('{').field_str("role", "tool");
        out.field_str("tool_call_id", &fit_id(&result.id, target.ids)).key("content");
        write_said(result, out);
        out.close('}');
    }
}

fn write_part(part: &Part<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    match part {
        Part::Text(text) => {
            out.open('{').field_str("type", "text").field_lit("text", *text).close('}');
        }
        Part::Media(media) => write_media(media, losses, out)?,
        Part::Call(_) | Part::Result(_) | Part::Mark => {}
    }
    Ok(())
}

/// A picture as a part of a message; `false` for what is none.
pub(in crate::translate) fn write_image(media: &Media<'_>, out: &mut Out) -> bool {
    if media.kind != MediaKind::Image || !matches!(media.source, Source::Data { .. } | Source::Url { .. }) {
        return false;
    }
    out.open('{').field_str("type", "image_url").key("image_url").open('{').key("url");
    match &media.source {
        Source::Data { media, data } => write_data_url(media, data, out),
        Source::Url { url, .. } => {
            out.str(url);
        }
        Source::Text(_) | Source::Foreign => {}
    }
    out.close('}').close('}');
    true
}

fn write_media(media: &Media<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    if write_image(media, out) {
        return Ok(());
    }
    match (media.kind, &media.source) {
        (MediaKind::Audio, Source::Data { media: kind, data }) => {
            let format = kind.rsplit('/').next().unwrap_or("wav");
            out.open('{').field_str("type", "input_audio").key("input_audio").open('{');
            out.field_str("format", if format == "mpeg" { "mp3" } else { format });
            out.key("data").pieces([&*safe(data)]).close('}').close('}');
        }
        (MediaKind::File, Source::Data { media: kind, data }) => {
            out.open('{').field_str("type", "file").key("file").open('{');
            match media.name {
                Some(name) => out.field_lit("filename", name),
                // Without a name the file is refused.
                None => out.field_str("filename", "document.pdf"),
            };
            out.key("file_data");
            write_data_url(kind, data, out);
            out.close('}').close('}');
        }
        (MediaKind::File, Source::Text(text)) => {
            out.open('{').field_str("type", "text").field_lit("text", *text).close('}');
        }
        (_, Source::Url { .. }) => {
            losses.because(&*media.param, "it is taken as data only, not by its address")?
        }
        (_, Source::Foreign) => losses.because(&*media.param, FOREIGN)?,
        _ => losses.lose(&*media.param)?,
    }
    Ok(())
}

fn write_assistant(
    parts: &[Part<'_>],
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    lose_media(parts, losses)?;
    if texts(parts).next().is_none() && calls(parts).next().is_none() {
        return Ok(());
    }
    out.open('{').field_str("role", "assistant");
    if texts(parts).next().is_some() {
        out.key("content").pieces(texts(parts).map(|text| text.inner()));
    } else {
        out.field_raw("content", "null");
    }
    write_calls(parts, target, out);
    out.close('}');
    Ok(())
}

/// Gives up what an assistant shows.
pub(in crate::translate) fn lose_media(parts: &[Part<'_>], losses: &mut Losses) -> Result<(), Refused> {
    for part in parts {
        if let Part::Media(media) = part {
            losses.because(&*media.param, WORDS_ONLY)?;
        }
    }
    Ok(())
}

/// The `tool_calls` of an assistant's message, if it makes any.
pub(in crate::translate) fn write_calls(parts: &[Part<'_>], target: &Target, out: &mut Out) {
    if calls(parts).next().is_none() {
        return;
    }
    out.key("tool_calls").open('[');
    for call in calls(parts) {
        out.open('{').field_str("id", &fit_id(&call.id, target.ids)).field_str("type", "function");
        out.key("function").open('{').field_str("name", &call.name);
        out.field_str("arguments", &call.arguments).close('}').close('}');
    }
    out.close(']');
}
