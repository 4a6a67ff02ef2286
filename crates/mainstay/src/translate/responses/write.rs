//! Writing a request for `/v1/responses`.

use crate::translate::{
    chat::{LONGEST_USER, effort_word, write_choice},
    error::{Losses, Refused},
    form::{Effort, Format, Media, MediaKind, Part, Request, Role, Source, ToolResult},
    out::Out,
    parts::{
        FOREIGN, WORDS_ONLY, calls, lose_seed_and_penalties, results, wordless, write_data_url, write_lines,
        write_numbers,
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
    lose_seed_and_penalties(request, losses)?;
    if let Some(top_k) = request.top_k {
        losses.lose(top_k.name)?;
    }
    if !request.stop.is_empty() {
        losses.lose(request.stop_name)?;
    }
    out.open('{').field_str("model", model).field_raw("store", "false");
    if !request.system.is_empty() {
        out.key("instructions");
        write_lines(request.system.iter().copied(), out);
    }
    out.key("input").open('[');
    let before = out.len();
    for turn in &request.turns {
        write_turn(turn.role, &turn.parts, target, losses, out)?;
    }
    if out.len() == before && !request.turns.is_empty() {
        return Err(wordless());
    }
    out.close(']');
    write_tools(request, out);
    if let Some(most) = request.max_tokens {
        out.field_number("max_output_tokens", most);
    }
    write_numbers([("temperature", request.temperature), ("top_p", request.top_p)], out);
    let reasoning = request.reasoning;
    let effort = reasoning.effort.or_else(|| reasoning.budget.map(Effort::of_budget)).and_then(effort_word);
    if let Some(effort) = effort {
        out.key("reasoning").open('{').field_str("effort", effort);
        if reasoning.shown {
            out.field_str("summary", "auto");
        }
        out.close('}');
    }
    if let Some(format) = &request.format {
        write_format(format, out);
    }
    if let Some(user) = request.user.filter(|user| user.inner().len() <= LONGEST_USER) {
        out.field_lit("user", user);
    }
    if request.stream {
        out.field_raw("stream", "true");
    }
    out.close('}');
    Ok(())
}

fn write_turn(
    role: Role,
    parts: &[Part<'_>],
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    for result in results(parts) {
        write_result(result, target, losses, out)?;
    }
    let own = |part: &&Part<'_>| matches!(part, Part::Text(_) | Part::Media(_));
    if parts.iter().any(|part| own(&part)) {
        let (role, text) =
            if role == Role::User { ("user", "input_text") } else { ("assistant", "output_text") };
        let before = out.len();
        out.open('{').field_str("type", "message").field_str("role", role).key("content").open('[');
        let list = out.len();
        for part in parts.iter().filter(own) {
            write_part(part, text, losses, out)?;
        }
        out.close_filled(before, list);
    }
    for call in calls(parts) {
        out.open('{').field_str("type", "function_call");
        out.field_str("call_id", &fit_id(&call.id, target.ids)).field_str("name", &call.name);
        out.field_str("arguments", &call.arguments).close('}');
    }
    Ok(())
}

fn write_result(
    result: &ToolResult<'_>,
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    out.open('{').field_str("type", "function_call_output");
    out.field_str("call_id", &fit_id(&result.id, target.ids)).key("output");
    match (result.object, result.parts.as_slice()) {
        (Some(object), _) => {
            out.str(object.raw());
        }
        (None, []) => {
            out.str("");
        }
        (None, [Part::Text(text)]) => {
            out.pieces([text.inner()]);
        }
        (None, parts) => {
            let before = out.len();
            out.open('[');
            let list = out.len();
            for part in parts {
                write_part(part, "input_text", losses, out)?;
            }
            if out.len() > list {
                out.close(']');
            } else {
                out.truncate(before);
                out.str("");
            }
        }
    }
    out.close('}');
    Ok(())
}

fn write_part(part: &Part<'_>, text_type: &str, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    match part {
        Part::Text(text) => {
            out.open('{').field_str("type", text_type).field_lit("text", *text).close('}');
        }
        Part::Media(media) if text_type == "output_text" => {
            losses.because(&*media.param, WORDS_ONLY)?;
        }
        Part::Media(media) => write_media(media, losses, out)?,
        Part::Call(_) | Part::Result(_) | Part::Mark => {}
    }
    Ok(())
}

fn write_media(media: &Media<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    match (media.kind, &media.source) {
        (MediaKind::Image, Source::Data { media: kind, data }) => {
            out.open('{').field_str("type", "input_image").field_str("detail", "auto").key("image_url");
            write_data_url(kind, data, out);
            out.close('}');
        }
        (MediaKind::Image, Source::Url { url, .. }) => {
            out.open('{').field_str("type", "input_image").field_str("detail", "auto");
            out.field_str("image_url", url).close('}');
        }
        (MediaKind::File, Source::Data { media: kind, data }) => {
            out.open('{').field_str("type", "input_file");
            match media.name {
                Some(name) => out.field_lit("filename", name),
                None => out.field_str("filename", "document.pdf"),
            };
            out.key("file_data");
            write_data_url(kind, data, out);
            out.close('}');
        }
        (MediaKind::File, Source::Url { url, .. }) => {
            out.open('{').field_str("type", "input_file").field_str("file_url", url).close('}');
        }
        (MediaKind::File, Source::Text(text)) => {
            out.open('{').field_str("type", "input_text").field_lit("text", *text).close('}');
        }
        (_, Source::Foreign) => losses.because(&*media.param, FOREIGN)?,
        _ => losses.lose(&*media.param)?,
    }
    Ok(())
}

fn write_tools(request: &Request<'_>, out: &mut Out) {
    if request.tools.is_empty() {
        return;
    }
    out.key("tools").open('[');
    for tool in &request.tools {
        out.open('{').field_str("type", "function").field_lit("name", tool.name);
        if let Some(description) = tool.description {
            out.field_lit("description", description);
        }
        out.key("parameters").raw(tool.schema.as_deref().unwrap_or(r#"{"type":"object","properties":{}}"#));
        // Here strict is the default, elsewhere it is not.
        out.field_raw("strict", if tool.strict == Some(true) { "true" } else { "false" }).close('}');
    }
    out.close(']');
    if let Some(choice) = &request.choice {
        write_choice(choice, true, out);
    }
    if request.one_tool_at_a_time.is_some() {
        out.field_raw("parallel_tool_calls", "false");
    }
}

fn write_format(format: &Format<'_>, out: &mut Out) {
    out.key("text").open('{').key("format").open('{');
    match format {
        Format::Json { .. } => {
            out.field_str("type", "json_object");
        }
        Format::Schema { name, description, schema, strict, .. } => {
            out.field_str("type", "json_schema");
            match name {
                Some(name) => out.field_lit("name", *name),
                None => out.field_str("name", "answer"),
            };
            if let Some(description) = description {
                out.field_lit("description", *description);
            }
            out.field_raw("schema", schema);
            out.field_raw("strict", if strict.unwrap_or(true) { "true" } else { "false" });
        }
    }
    out.close('}').close('}');
}
