//! The content blocks of a request for `/v1/messages`.

use crate::translate::{
    error::{Losses, Refused},
    form::{Media, MediaKind, Part, Source, ToolResult},
    out::{Out, safe},
    parts::{FOREIGN, is_blank},
    target::{Target, fit_id},
};

/// The blocks of a turn.
pub(super) fn write_parts(
    parts: &[Part<'_>],
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    // Results must come first in the turn that follows their calls.
    for part in parts {
        if let Part::Result(result) = part {
            write_result(result, target, losses, out)?;
        }
    }
    for part in parts.iter().filter(|part| !is_blank(part)) {
        match part {
            Part::Text(text) => {
                out.open('{').field_str("type", "text").field_lit("text", *text).close('}');
            }
            Part::Media(media) => write_media(media, losses, out)?,
            Part::Call(call) => {
                out.open('{').field_str("type", "tool_use").field_str("id", &fit_id(&call.id, target.ids));
                out.field_str("name", &call.name).field_raw("input", call.arguments.trim()).close('}');
            }
            Part::Result(_) | Part::Mark => {}
        }
    }
    Ok(())
}

fn write_result(
    result: &ToolResult<'_>,
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    out.open('{').field_str("type", "tool_result");
    out.field_str("tool_use_id", &fit_id(&result.id, target.ids));
    match (result.object, result.parts.as_slice()) {
        (Some(object), _) => {
            out.field_str("content", object.raw());
        }
        (None, [Part::Text(text)]) => {
            out.field_lit("content", *text);
        }
        (None, parts) if parts.iter().all(is_blank) => {}
        (None, parts) => {
            let before = out.len();
            out.key("content").open('[');
            let list = out.len();
            write_parts(parts, target, losses, out)?;
            if out.len() > list {
                out.close(']');
            } else {
                out.truncate(before);
            }
        }
    }
    if result.is_error {
        out.field_raw("is_error", "true");
    }
    out.close('}');
    Ok(())
}

fn write_media(media: &Media<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    let block = match (media.kind, &media.source) {
        (_, Source::Foreign) => {
            return losses.because(&*media.param, FOREIGN);
        }
        (MediaKind::Image, Source::Data { .. } | Source::Url { .. }) => "image",
        (MediaKind::File, Source::Data { media, .. }) if media.starts_with("image/") => "image",
        (MediaKind::File, Source::Data { media: kind, .. }) if kind != "application/pdf" => {
            return losses.because(&*media.param, "its documents are PDF or plain text");
        }
        (MediaKind::File, _) => "document",
        _ => return losses.lose(&*media.param),
    };
    out.open('{').field_str("type", block).key("source").open('{');
    match &media.source {
        Source::Data { media, data } => {
            out.field_str("type", "base64").key("media_type").pieces([&*safe(media)]);
            out.key("data").pieces([&*safe(data)]);
        }
        Source::Url { url, .. } => {
            out.field_str("type", "url").field_str("url", url);
        }
        Source::Text(text) => {
            out.field_str("type", "text").field_str("media_type", "text/plain").field_lit("data", *text);
        }
        Source::Foreign => {}
    }
    out.close('}');
    if let (Some(name), "document") = (media.name, block) {
        out.field_lit("title", name);
    }
    out.close('}');
    Ok(())
}
