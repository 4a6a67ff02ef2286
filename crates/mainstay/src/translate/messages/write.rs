//! Writing a request for `/v1/messages`.

use super::{
    blocks::write_parts,
    thinking::{Sampling, Thinking},
};
use crate::translate::{
    error::{Losses, Refused},
    form::{Choice, Format, Part, Request, Role},
    json::Lit,
    out::Out,
    parts::{
        is_blank, lose_seed_and_penalties, wordless, write_lines, write_numbers, write_object_schema,
        write_up_to_one,
    },
    target::Target,
};

pub(in crate::translate) fn write(
    request: &Request<'_>,
    model: &str,
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    lose_seed_and_penalties(request, losses)?;
    let max_tokens = request.max_tokens.unwrap_or_else(|| target.default_max_tokens.into());
    out.open('{').field_str("model", model).field_number("max_tokens", max_tokens);
    let mut system = request.system.iter().copied().filter(|text| !text.is_blank()).peekable();
    if system.peek().is_some() {
        out.key("system");
        write_lines(system, out);
    }
    out.key("messages").open('[');
    let mut written = false;
    for turn in &request.turns {
        let role = if turn.role == Role::User { "user" } else { "assistant" };
        // A turn of nothing but blanks is refused, and means nothing.
        if turn.parts.iter().all(is_blank) {
            continue;
        }
        let before = out.len();
        out.open('{').field_str("role", role);
        match turn.parts.as_slice() {
            [Part::Text(text)] => {
                out.field_lit("content", *text).close('}');
                written = true;
            }
            parts => {
                out.key("content").open('[');
                let list = out.len();
                write_parts(parts, target, losses, out)?;
                written |= out.close_filled(before, list);
            }
        }
    }
    out.close(']');
    if !written {
        return Err(wordless());
    }
    write_tools(request, losses, out)?;
    let thinking = Thinking::of(request, model, max_tokens);
    write_sampling(request, thinking, losses, out)?;
    write_output(request, thinking, losses, out)?;
    if let Some(user) = request.user {
        out.key("metadata").open('{').field_lit("user_id", user).close('}');
    }
    if request.stream {
        out.field_raw("stream", "true");
    }
    out.close('}');
    Ok(())
}

fn write_tools(request: &Request<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    if request.tools.is_empty() {
        return Ok(());
    }
    out.key("tools").open('[');
    for tool in &request.tools {
        out.open('{').field_lit("name", tool.name);
        if let Some(description) = tool.description.filter(|description| !description.is_empty()) {
            out.field_lit("description", description);
        }
        write_object_schema("input_schema", tool.schema.as_deref(), out);
        if tool.strict == Some(true) {
            out.field_raw("strict", "true");
        }
        out.close('}');
    }
    out.close(']');
    let serial = request.one_tool_at_a_time.is_some();
    let (kind, name) = match &request.choice {
        None if serial => ("auto", None),
        None => return Ok(()),
        Some(Choice::Auto) => ("auto", None),
        Some(Choice::None) => ("none", None),
        Some(Choice::Any) => ("any", None),
        Some(Choice::Tool(name)) => ("tool", Some(name)),
        Some(Choice::Among { names, must }) => match (names.as_slice(), must) {
            ([name], true) => ("tool", Some(name)),
            _ => {
                losses.because(request.choice_name, "it lets choose among all tools, or names one")?;
                (if *must { "any" } else { "auto" }, None)
            }
        },
    };
    out.key("tool_choice").open('{').field_str("type", kind);
    if let Some(name) = name {
        out.field_str("name", name);
    }
    if serial && kind != "none" {
        out.field_raw("disable_parallel_tool_use", "true");
    }
    out.close('}');
    Ok(())
}

fn write_sampling(
    request: &Request<'_>,
    thinking: Thinking,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    let Sampling { temperature, top_p, top_k } = Sampling::beside(thinking, request, losses)?;
    write_up_to_one("temperature", temperature, losses, out)?;
    write_numbers([("top_p", top_p), ("top_k", top_k)], out);
    let (stops, blank): (Vec<Lit<'_>>, Vec<Lit<'_>>) = request.stop.iter().partition(|stop| !stop.is_blank());
    if !blank.is_empty() {
        losses.because(request.stop_name, "a stop sequence must be more than blanks")?;
    }
    if !stops.is_empty() {
        out.key("stop_sequences").open('[');
        for stop in stops {
            out.pieces([stop.inner()]);
        }
        out.close(']');
    }
    Ok(())
}

fn write_output(
    request: &Request<'_>,
    thinking: Thinking,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    thinking.write(out);
    let schema = match &request.format {
        None => None,
        Some(Format::Json { param }) => {
            losses.because(*param, "it gives JSON by a schema only")?;
            None
        }
        Some(Format::Schema { schema, .. }) => Some(schema),
    };
    let effort = thinking.effort();
    if schema.is_some() || effort.is_some() {
        out.key("output_config").open('{');
        if let Some(effort) = effort {
            out.field_str("effort", effort);
        }
        if let Some(schema) = schema {
            out.key("format")
                .open('{')
                .field_str("type", "json_schema")
                .field_raw("schema", schema)
                .close('}');
        }
        out.close('}');
    }
    Ok(())
}
