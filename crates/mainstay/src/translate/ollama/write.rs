//! Writing a request for `/api/chat`.

use crate::translate::{
    chat::lose_media,
    error::{Losses, Refused},
    form::{Choice, Effort, Format, Media, MediaKind, Part, Reasoning, Request, Role, Source},
    out::{Out, safe},
    parts::{
        FETCHES_NOTHING, FOREIGN, Names, calls, lose_one_at_a_time, results, shown, texts, wordless,
        write_lines, write_numbers, write_object_schema, write_said, write_stops,
    },
    target::{Target, fit_id},
};

pub(in crate::translate) fn write(
    request: &Request<'_>,
    model: &str,
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    lose_one_at_a_time(request, losses)?;
    out.open('{').field_str("model", model);
    write_messages(request, target, losses, out)?;
    write_tools(request, losses, out)?;
    match &request.format {
        None => {}
        Some(Format::Json { .. }) => {
            out.field_str("format", "json");
        }
        Some(Format::Schema { schema, .. }) => {
            out.field_raw("format", schema);
        }
    }
    write_think(request.reasoning, out);
    write_options(request, losses, out)?;
    // It streams unless it is told not to.
    out.field_raw("stream", if request.stream { "true" } else { "false" }).close('}');
    Ok(())
}

fn write_messages(
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
    let mut names = Names::default();
    for turn in &request.turns {
        match turn.role {
            Role::User => write_user(&turn.parts, &names, target, losses, out)?,
            Role::Assistant => {
                write_assistant(&turn.parts, target, losses, out)?;
                calls(&turn.parts).for_each(|call| names.learn(call));
            }
        }
    }
    let written = out.len() > before;
    out.close(']');
    if written { Ok(()) } else { Err(wordless()) }
}

fn write_user(
    parts: &[Part<'_>],
    names: &Names<'_>,
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    // The tools' words first, a message each; what they showed follows with the user's own.
    for result in results(parts) {
        out.open('{').field_str("role", "tool").field_str("tool_name", names.of(result)?);
        out.field_str("tool_call_id", &fit_id(&result.id, target.ids)).key("content");
        write_said(result, out);
        out.close('}');
    }
    let mut images = Vec::new();
    for part in shown(parts) {
        if let Part::Media(media) = part {
            images.extend(image(media, losses)?);
        }
    }
    let words = || {
        shown(parts).filter_map(|part| match part {
            Part::Text(text) => Some(*text),
            Part::Media(Media { kind: MediaKind::File, source: Source::Text(text), .. }) => Some(*text),
            _ => None,
        })
    };
    if images.is_empty() && words().next().is_none() {
        return Ok(());
    }
    // A message has one text, and its pictures beside it.
    out.open('{').field_str("role", "user").key("content");
    write_lines(words(), out);
    if !images.is_empty() {
        out.key("images").open('[');
        for data in images {
            out.pieces([&*safe(data)]);
        }
        out.close(']');
    }
    out.close('}');
    Ok(())
}

/// A picture's data; `None` for what stands in the text, or is left out.
fn image<'p>(
    media: &'p Media<'_>,
    losses: &mut Losses,
) -> Result<Option<&'p std::borrow::Cow<'p, str>>, Refused> {
    match (media.kind, &media.source) {
        (MediaKind::Image, Source::Data { data, .. }) => return Ok(Some(data)),
        (MediaKind::File, Source::Data { media, data }) if media.starts_with("image/") => {
            return Ok(Some(data));
        }
        (MediaKind::File, Source::Text(_)) => {}
        (_, Source::Foreign) => losses.because(&*media.param, FOREIGN)?,
        (MediaKind::Image, Source::Url { .. }) => losses.because(&*media.param, FETCHES_NOTHING)?,
        _ => losses.because(&*media.param, "it takes text and images only")?,
    }
    Ok(None)
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
    out.open('{').field_str("role", "assistant").key("content");
    out.pieces(texts(parts).map(|text| text.inner()));
    if calls(parts).next().is_some() {
        out.key("tool_calls").open('[');
        for call in calls(parts) {
            out.open('{').field_str("id", &fit_id(&call.id, target.ids)).key("function").open('{');
            out.field_str("name", &call.name).field_raw("arguments", call.arguments.trim());
            out.close('}').close('}');
        }
        out.close(']');
    }
    out.close('}');
    Ok(())
}

fn write_tools(request: &Request<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    match &request.choice {
        _ if request.tools.is_empty() => return Ok(()),
        // There is no word for it, and none is needed.
        Some(Choice::None) => return Ok(()),
        None | Some(Choice::Auto) => {}
        Some(_) => {
            losses.because(request.choice_name, "whether it calls a tool, and which, is its own choice")?
        }
    }
    out.key("tools").open('[');
    for tool in &request.tools {
        out.open('{').field_str("type", "function").key("function").open('{').field_lit("name", tool.name);
        if let Some(description) = tool.description {
            out.field_lit("description", description);
        }
        write_object_schema("parameters", tool.schema.as_deref(), out);
        out.close('}').close('}');
    }
    out.close(']');
    Ok(())
}

/// Models that do not think refuse to be asked for it, so nothing is said unless the caller does.
fn write_think(reasoning: Reasoning, out: &mut Out) {
    let Reasoning { effort, budget, adaptive, .. } = reasoning;
    match effort.or(budget.map(Effort::of_budget)) {
        Some(Effort::None) => out.field_raw("think", "false"),
        Some(Effort::Minimal | Effort::Low) => out.field_str("think", "low"),
        Some(Effort::Medium) => out.field_str("think", "medium"),
        Some(Effort::High | Effort::XHigh) => out.field_str("think", "high"),
        Some(Effort::Max) => out.field_str("think", "max"),
        None if adaptive => out.field_raw("think", "true"),
        None => return,
    };
}

fn write_options(request: &Request<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    let numbers = [
        ("temperature", request.temperature),
        ("top_p", request.top_p),
        ("top_k", request.top_k),
        ("seed", request.seed),
        ("frequency_penalty", request.frequency_penalty),
        ("presence_penalty", request.presence_penalty),
    ];
    let none = request.max_tokens.is_none() && request.stop.is_empty();
    if none && numbers.iter().all(|(_, number)| number.is_none()) {
        return Ok(());
    }
    out.key("options").open('{');
    if let Some(most) = request.max_tokens {
        out.field_number("num_predict", most);
    }
    write_numbers(numbers, out);
    write_stops(request, "stop", usize::MAX, "", losses, out)?;
    out.close('}');
    Ok(())
}
