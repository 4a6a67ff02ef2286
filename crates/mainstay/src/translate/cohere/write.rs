//! Writing a request for `/v2/chat`.
//!
//! Its messages have the shape of chat completions, but for one thing: what an assistant says before it calls tools is its
//! `tool_plan`.

use crate::translate::{
    chat::{lose_media, write_calls, write_image, write_results},
    error::{Losses, Refused},
    form::{Choice, Effort, Format, Media, MediaKind, Number, Part, Reasoning, Request, Role, Source, Tool},
    json::Json,
    out::Out,
    parts::{
        FOREIGN, calls, is_blank, lose_one_at_a_time, shown, texts, wordless, write_lines, write_numbers,
        write_object_schema, write_stops,
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
    lose_one_at_a_time(request, losses)?;
    out.open('{').field_str("model", model);
    write_messages(request, target, losses, out)?;
    write_tools(request, out);
    write_format(request, losses, out)?;
    if let Some(most) = request.max_tokens {
        out.field_number("max_tokens", most);
    }
    write_sampling(request, losses, out)?;
    write_thinking(request.reasoning, out);
    if request.stream {
        out.field_raw("stream", "true");
    }
    out.close('}');
    Ok(())
}

fn write_messages(
    request: &Request<'_>,
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    out.key("messages").open('[');
    let mut system = request.system.iter().copied().filter(|text| !text.is_blank()).peekable();
    if system.peek().is_some() {
        out.open('{').field_str("role", "system").key("content");
        write_lines(system, out);
        out.close('}');
    }
    let before = out.len();
    // A message of nothing but blanks is refused, and means nothing.
    for turn in request.turns.iter().filter(|turn| !turn.parts.iter().all(is_blank)) {
        match turn.role {
            Role::User => {
                write_results(&turn.parts, target, out);
                write_user(&turn.parts, losses, out)?;
            }
            Role::Assistant => write_assistant(&turn.parts, target, losses, out)?,
        }
    }
    let written = out.len() > before;
    out.close(']');
    if written { Ok(()) } else { Err(wordless()) }
}

fn write_user(parts: &[Part<'_>], losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    let own = || shown(parts).filter(|part| !is_blank(part));
    if own().next().is_none() {
        return Ok(());
    }
    let before = out.len();
    out.open('{').field_str("role", "user").key("content").open('[');
    let list = out.len();
    for part in own() {
        match part {
            Part::Text(text) => {
                out.open('{').field_str("type", "text").field_lit("text", *text).close('}');
            }
            Part::Media(media) => write_media(media, losses, out)?,
            Part::Call(_) | Part::Result(_) | Part::Mark => {}
        }
    }
    out.close_filled(before, list);
    Ok(())
}

fn write_media(media: &Media<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    if write_image(media, out) {
        return Ok(());
    }
    match (media.kind, &media.source) {
        (MediaKind::File, Source::Text(text)) => {
            out.open('{').field_str("type", "text").field_lit("text", *text).close('}');
            Ok(())
        }
        (_, Source::Foreign) => losses.because(&*media.param, FOREIGN),
        _ => losses.because(&*media.param, "it takes text and images only"),
    }
}

fn write_assistant(
    parts: &[Part<'_>],
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    lose_media(parts, losses)?;
    if texts(parts).all(|text| text.is_blank()) && calls(parts).next().is_none() {
        return Ok(());
    }
    out.open('{').field_str("role", "assistant");
    if texts(parts).any(|text| !text.is_blank()) {
        let acts = calls(parts).next().is_some();
        out.key(if acts { "tool_plan" } else { "content" }).pieces(texts(parts).map(|text| text.inner()));
    }
    write_calls(parts, target, out);
    out.close('}');
    Ok(())
}

/// Whether it is told of tools. Where none may be called and none was, they make way for a format of the answer.
fn tells_tools(request: &Request<'_>) -> bool {
    let idle = || {
        matches!(request.choice, Some(Choice::None))
            && request.turns.iter().all(|turn| calls(&turn.parts).next().is_none())
    };
    !request.tools.is_empty() && (request.format.is_none() || !idle())
}

fn write_tools(request: &Request<'_>, out: &mut Out) {
    if !tells_tools(request) {
        return;
    }
    // There is no way to name a tool that must be called. To be offered no other comes to the same.
    let (word, only): (_, &[_]) = match &request.choice {
        None | Some(Choice::Auto) => (None, &[]),
        Some(Choice::None) => (Some("NONE"), &[]),
        Some(Choice::Any) => (Some("REQUIRED"), &[]),
        Some(Choice::Tool(name)) => (Some("REQUIRED"), std::slice::from_ref(name)),
        Some(Choice::Among { names, must }) => (must.then_some("REQUIRED"), names),
    };
    let is_offered = |tool: &&Tool<'_>| {
        only.is_empty() || tool.name.decode().is_some_and(|name| only.iter().any(|one| **one == *name))
    };
    let offered = || request.tools.iter().filter(is_offered);
    out.key("tools").open('[');
    for tool in offered() {
        out.open('{').field_str("type", "function").key("function").open('{').field_lit("name", tool.name);
        if let Some(description) = tool.description {
            out.field_lit("description", description);
        }
        write_object_schema("parameters", tool.schema.as_deref(), out);
        out.close('}').close('}');
    }
    out.close(']');
    // It holds for all tools or for none, and a tool that demands no argument cannot have it.
    if offered().all(|tool| tool.strict == Some(true) && demands_something(tool)) {
        out.field_raw("strict_tools", "true");
    }
    if let Some(word) = word {
        out.field_str("tool_choice", word);
    }
}

/// Its API reference: a format is not supported beside tools.
fn write_format(request: &Request<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    let Some(format) = &request.format else { return Ok(()) };
    if tells_tools(request) {
        return losses.because(format.param(), "it takes no format of the answer beside tools");
    }
    out.key("response_format").open('{').field_str("type", "json_object");
    if let Format::Schema { schema, .. } = format {
        out.field_raw("json_schema", schema);
    }
    out.close('}');
    Ok(())
}

fn demands_something(tool: &Tool<'_>) -> bool {
    let required = tool.schema.as_deref().and_then(|schema| Json::trusted(schema).get("required"));
    required.is_some_and(|required| required.each().next().is_some())
}

fn write_sampling(request: &Request<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    if let Some(top_p) = request.top_p {
        // Its scale ends just short of the two ends that others have.
        match top_p.value() {
            value if value > 0.99 => out.field_raw("p", "0.99"),
            value if value < 0.01 => out.field_raw("p", "0.01"),
            _ => out.field_raw("p", top_p.digits),
        };
    }
    let numbers = [("temperature", request.temperature), ("k", request.top_k), ("seed", request.seed)];
    write_numbers(numbers, out);
    let penalties =
        [("frequency_penalty", request.frequency_penalty), ("presence_penalty", request.presence_penalty)];
    for (name, penalty) in penalties {
        write_penalty(name, penalty, losses, out)?;
    }
    write_stops(request, "stop_sequences", 5, "it takes 5 at most", losses, out)
}

fn write_penalty(
    name: &'static str,
    penalty: Option<Number<'_>>,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    let Some(penalty) = penalty else { return Ok(()) };
    if (0.0..=1.0).contains(&penalty.value()) {
        out.field_raw(name, penalty.digits);
        return Ok(());
    }
    losses.because(penalty.name, "its scale is from 0 to 1")?;
    out.field_raw(name, if penalty.value() > 1.0 { "1" } else { "0" });
    Ok(())
}

fn write_thinking(reasoning: Reasoning, out: &mut Out) {
    let Reasoning { effort, budget, adaptive, .. } = reasoning;
    if effort.is_none() && budget.is_none() && !adaptive {
        return;
    }
    out.key("thinking").open('{');
    match budget.or(effort.map(Effort::budget)) {
        Some(0) => {
            out.field_str("type", "disabled");
        }
        Some(budget) => {
            out.field_str("type", "enabled").field_number("token_budget", budget);
        }
        None => {
            out.field_str("type", "enabled");
        }
    }
    out.close('}');
}
