//! Writing a request for `/v1/chat/completions`.

use crate::translate::{
    error::{Losses, Refused},
    form::{Choice, Effort, Format, Media, MediaKind, Part, Request, Role, Source, ToolResult},
    json::Lit,
    out::{Out, safe},
    target::{Target, fit_id},
};

/// OpenAI refuses longer ids of end users, where other providers' own may be longer.
pub(in crate::translate) const LONGEST_USER: usize = 64;

pub(in crate::translate) fn write(
    request: &Request<'_>,
    model: &str,
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    for param in &request.rest {
        losses.lose(&**param)?;
    }
    out.open('{').field_str("model", model);
    out.key("messages").open('[');
    if !request.system.is_empty() {
        out.open('{').field_str("role", "system").key("content");
        join(out, &request.system);
        out.close('}');
    }
    for turn in &request.turns {
        match turn.role {
            Role::User => write_user(&turn.parts, target, losses, out)?,
            Role::Assistant => write_assistant(&turn.parts, target, losses, out)?,
        }
    }
    out.close(']');
    write_tools(request, out);
    if let Some(most) = request.max_tokens {
        out.field_number(
            if target.max_completion_tokens { "max_completion_tokens" } else { "max_tokens" },
            most,
        );
    }
    let numbers = [
        ("temperature", request.temperature),
        ("top_p", request.top_p),
        ("seed", request.seed),
        ("frequency_penalty", request.frequency_penalty),
        ("presence_penalty", request.presence_penalty),
        ("n", request.n),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            out.field_raw(name, number.digits);
        }
    }
    if let Some(top_k) = request.top_k {
        losses.lose(top_k.name)?;
    }
    write_stop(request, losses, out)?;
    if let Some(format) = &request.format {
        write_format(format, out);
    }
    let reasoning = request.reasoning;
    let effort = reasoning.effort.or_else(|| reasoning.budget.map(Effort::of_budget));
    // Models that do not reason refuse the field: who asks for none is best served without it.
    if let Some(word) = effort.and_then(effort_word) {
        out.field_str("reasoning_effort", word);
    }
    if let Some(user) = request.user.filter(|user| user.inner().len() <= LONGEST_USER) {
        out.field_lit("user", user);
    }
    if request.stream {
        out.field_raw("stream", "true");
        if target.stream_options {
            out.key("stream_options").open('{').field_raw("include_usage", "true").close('}');
        }
    }
    out.close('}');
    Ok(())
}

pub(in crate::translate) fn effort_word(effort: Effort) -> Option<&'static str> {
    Some(match effort {
        Effort::None => return None,
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::XHigh | Effort::Max => "xhigh",
    })
}

/// Several texts as one, a line each.
pub(in crate::translate) fn join(out: &mut Out, texts: &[Lit<'_>]) {
    let pieces =
        texts.iter().enumerate().flat_map(|(at, text)| [if at == 0 { "" } else { "\\n" }, text.inner()]);
    out.pieces(pieces);
}

fn write_user(
    parts: &[Part<'_>],
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    // The tools' words first, a message each; what they showed follows with the user's own.
    for part in parts {
        if let Part::Result(result) = part {
            write_result(result, target, losses, out)?;
        }
    }
    let shown = parts.iter().flat_map(|part| match part {
        Part::Result(result) => result.parts.as_slice(),
        other => std::slice::from_ref(other),
    });
    let from_tool = |part: &Part<'_>| matches!(part, Part::Media(_));
    let own = parts.iter().filter(|part| !matches!(part, Part::Result(_)));
    let lone = match (own.clone().next(), own.clone().count()) {
        (Some(Part::Text(text)), 1) if !shown.clone().any(from_tool) => Some(*text),
        (None, _) if !shown.clone().any(from_tool) => return Ok(()),
        _ => None,
    };
    out.open('{').field_str("role", "user");
    if let Some(text) = lone {
        out.field_lit("content", text);
    } else {
        out.key("content").open('[');
        for part in parts {
            match part {
                Part::Result(result) => {
                    for media in result.parts.iter().filter(|part| from_tool(part)) {
                        write_part(media, losses, out)?;
                    }
                }
                part => write_part(part, losses, out)?,
            }
        }
        out.close(']');
    }
    out.close('}');
    Ok(())
}

fn write_result(
    result: &ToolResult<'_>,
    target: &Target,
    _losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    out.open('{').field_str("role", "tool");
    out.field_str("tool_call_id", &fit_id(&result.id, target.ids));
    let texts: Vec<Lit<'_>> = result
        .parts
        .iter()
        .filter_map(|part| if let Part::Text(text) = part { Some(*text) } else { None })
        .collect();
    match result.object {
        Some(object) => {
            out.field_str("content", object.raw());
        }
        None => {
            out.key("content");
            join(out, &texts);
        }
    }
    out.close('}');
    Ok(())
}

fn write_part(part: &Part<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    match part {
        Part::Text(text) => {
            out.open('{').field_str("type", "text").field_lit("text", *text).close('}');
        }
        Part::Media(media) => write_media(media, losses, out)?,
        Part::Call(_) | Part::Result(_) => {}
    }
    Ok(())
}

fn write_media(media: &Media<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    match (media.kind, &media.source) {
        (MediaKind::Image, Source::Data { media: kind, data }) => {
            out.open('{').field_str("type", "image_url").key("image_url").open('{');
            out.key("url").pieces(["data:", &safe(kind), ";base64,", &safe(data)]);
            out.close('}').close('}');
        }
        (MediaKind::Image, Source::Url { url, .. }) => {
            out.open('{').field_str("type", "image_url").key("image_url").open('{');
            out.field_str("url", url).close('}').close('}');
        }
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
            out.key("file_data").pieces(["data:", &safe(kind), ";base64,", &safe(data)]);
            out.close('}').close('}');
        }
        (MediaKind::File, Source::Text(text)) => {
            out.open('{').field_str("type", "text").field_lit("text", *text).close('}');
        }
        (_, Source::Url { .. }) => {
            losses.because(&*media.param, "it is taken as data only, not by its address")?
        }
        (_, Source::Foreign) => {
            losses.because(&*media.param, "it names something that only the other provider has")?;
        }
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
    out.open('{').field_str("role", "assistant");
    let texts =
        parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(text.inner()) } else { None });
    if texts.clone().next().is_some() {
        out.key("content").pieces(texts);
    } else {
        out.field_raw("content", "null");
    }
    for part in parts {
        if let Part::Media(media) = part {
            losses.because(&*media.param, "the assistant's turns hold text and tool calls only")?;
        }
    }
    let mut calls = parts
        .iter()
        .filter_map(|part| if let Part::Call(call) = part { Some(call) } else { None })
        .peekable();
    if calls.peek().is_some() {
        out.key("tool_calls").open('[');
        for call in calls {
            out.open('{').field_str("id", &fit_id(&call.id, target.ids)).field_str("type", "function");
            out.key("function")
                .open('{')
                .field_str("name", &call.name)
                .field_str("arguments", &call.arguments);
            out.close('}').close('}');
        }
        out.close(']');
    }
    out.close('}');
    Ok(())
}

fn write_tools(request: &Request<'_>, out: &mut Out) {
    if request.tools.is_empty() {
        return;
    }
    out.key("tools").open('[');
    for tool in &request.tools {
        out.open('{').field_str("type", "function").key("function").open('{');
        out.field_lit("name", tool.name);
        if let Some(description) = tool.description {
            out.field_lit("description", description);
        }
        if let Some(schema) = &tool.schema {
            out.field_raw("parameters", schema);
        }
        if tool.strict == Some(true) {
            out.field_raw("strict", "true");
        }
        out.close('}').close('}');
    }
    out.close(']');
    if let Some(choice) = &request.choice {
        write_choice(choice, false, out);
    }
    if request.one_tool_at_a_time.is_some() {
        out.field_raw("parallel_tool_calls", "false");
    }
}

/// `tool_choice`. Responses name a tool `flat`, without a `function` around the name.
pub(in crate::translate) fn write_choice(choice: &Choice<'_>, flat: bool, out: &mut Out) {
    let tool = |name: &str, out: &mut Out| {
        out.field_str("type", "function");
        if flat {
            out.field_str("name", name);
        } else {
            out.key("function").open('{').field_str("name", name).close('}');
        }
    };
    out.key("tool_choice");
    match choice {
        Choice::Auto => {
            out.str("auto");
        }
        Choice::None => {
            out.str("none");
        }
        Choice::Any => {
            out.str("required");
        }
        Choice::Tool(name) => {
            out.open('{');
            tool(name, out);
            out.close('}');
        }
        Choice::Among { names, must } => {
            out.open('{').field_str("type", "allowed_tools");
            if !flat {
                out.key("allowed_tools").open('{');
            }
            out.field_str("mode", if *must { "required" } else { "auto" }).key("tools").open('[');
            for name in names {
                out.open('{');
                tool(name, out);
                out.close('}');
            }
            out.close(']').close('}');
            if !flat {
                out.close('}');
            }
        }
    }
}

fn write_stop(request: &Request<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    const MOST: usize = 4;
    if request.stop.len() > MOST {
        losses.because(request.stop_name, "it takes 4 at most")?;
    }
    if !request.stop.is_empty() {
        out.key("stop").open('[');
        for stop in request.stop.iter().take(MOST) {
            out.pieces([stop.inner()]);
        }
        out.close(']');
    }
    Ok(())
}

fn write_format(format: &Format<'_>, out: &mut Out) {
    out.key("response_format").open('{');
    match format {
        Format::Json { .. } => {
            out.field_str("type", "json_object");
        }
        Format::Schema { name, description, schema, strict } => {
            out.field_str("type", "json_schema").key("json_schema").open('{');
            match name {
                Some(name) => out.field_lit("name", *name),
                None => out.field_str("name", "answer"),
            };
            if let Some(description) = description {
                out.field_lit("description", *description);
            }
            out.field_raw("schema", schema);
            out.field_raw("strict", if strict.unwrap_or(true) { "true" } else { "false" });
            out.close('}');
        }
    }
    out.close('}');
}
