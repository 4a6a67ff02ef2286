//! Writing a request for `Converse`.
//!
//! What its models have in common has a field; what a family of them has of its own goes into `additionalModelRequestFields`.
//! The model stands in the path, and so does the wish for a stream.

use super::{
    blocks::{fit_name, is_fit_name, is_nothing, write_blocks, write_mark},
    media::Titles,
};
use crate::translate::{
    error::{Losses, Refused},
    form::{Choice, Effort, Format, Request, Role},
    json::Lit,
    messages::{Sampling, Thinking},
    out::Out,
    parts::{
        calls, lose_one_at_a_time, lose_rest, lose_several, path_segment, wordless, write_numbers,
        write_object_schema, write_stops, write_up_to_one,
    },
    target::Target,
};

/// The path of a call to `model`, which may be the ARN of a profile.
pub(in crate::translate) fn path(model: &str, stream: bool) -> String {
    let model = path_segment(model);
    if stream { format!("/model/{model}/converse-stream") } else { format!("/model/{model}/converse") }
}

pub(in crate::translate) fn write(
    request: &Request<'_>,
    model: &str,
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    lose_rest(request, losses)?;
    lose_several(request, losses)?;
    lose_one_at_a_time(request, losses)?;
    let lost = [
        request.seed,
        request.frequency_penalty.filter(|penalty| !penalty.is_zero()),
        request.presence_penalty.filter(|penalty| !penalty.is_zero()),
    ];
    lost.into_iter().flatten().try_for_each(|number| losses.lose(number.name))?;
    out.open('{');
    let family = Family::of(model);
    write_messages(request, family, target, losses, out)?;
    let mut system = request.system.iter().filter(|text| !text.is_blank()).peekable();
    if system.peek().is_some() {
        out.key("system").open('[');
        for text in system {
            out.open('{').field_lit("text", *text).close('}');
        }
        if request.system_mark && family.has_cache() {
            write_mark(out);
        }
        out.close(']');
    }
    let most = request.max_tokens.unwrap_or_else(|| target.default_max_tokens.into());
    let thinking = match family {
        Family::Anthropic => Thinking::of(request, model, most),
        _ => Thinking::Silent,
    };
    let sampling = Sampling::beside(thinking, request, losses)?;
    write_inference(request, sampling, losses, out)?;
    write_tools(request, family, losses, out)?;
    write_format(request, losses, out)?;
    write_additional(request, family, thinking, sampling, losses, out)?;
    out.close('}');
    Ok(())
}

fn write_messages(
    request: &Request<'_>,
    family: Family,
    target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    let mut titles = Titles::default();
    let mut last = None;
    out.key("messages").open('[');
    // A message of nothing but blanks is refused, and means nothing.
    for turn in request.turns.iter().filter(|turn| !turn.parts.iter().all(is_nothing)) {
        let before = out.len();
        // Roles must alternate: where nothing is left of the turn between them, two of one role are one message.
        let goes_on = last == Some(turn.role);
        if goes_on {
            out.truncate(before.saturating_sub("]}".len()));
        } else {
            out.open('{').field_str("role", if turn.role == Role::User { "user" } else { "assistant" });
            out.key("content").open('[');
        }
        let list = out.len();
        write_blocks(turn, family.has_cache(), target, &mut titles, losses, out)?;
        if goes_on {
            out.close(']').close('}');
        } else if out.close_filled(before, list) {
            last = Some(turn.role);
        }
    }
    out.close(']');
    if last.is_some() { Ok(()) } else { Err(wordless()) }
}

fn write_inference(
    request: &Request<'_>,
    sampling: Sampling<'_>,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    let none = request.max_tokens.is_none() && request.stop.is_empty();
    if none && sampling.temperature.is_none() && sampling.top_p.is_none() {
        return Ok(());
    }
    out.key("inferenceConfig").open('{');
    if let Some(most) = request.max_tokens {
        out.field_number("maxTokens", most);
    }
    write_up_to_one("temperature", sampling.temperature, losses, out)?;
    write_numbers([("topP", sampling.top_p)], out);
    write_stops(request, "stopSequences", usize::MAX, "", losses, out)?;
    out.close('}');
    Ok(())
}

fn write_tools(
    request: &Request<'_>,
    family: Family,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    let mut called: Vec<&str> =
        request.turns.iter().flat_map(|turn| calls(&turn.parts)).map(|call| &*call.name).collect();
    called.sort_unstable();
    called.dedup();
    let forbidden = matches!(request.choice, Some(Choice::None));
    // Where none may be called, the tools need not be told, unless earlier turns called some: then they must be.
    if called.is_empty() && (forbidden || request.tools.is_empty()) {
        return Ok(());
    }
    if forbidden {
        losses.because(request.choice_name, "it cannot forbid tools in a conversation that called some")?;
    }
    out.key("toolConfig").open('{').key("tools").open('[');
    for (at, tool) in request.tools.iter().enumerate() {
        let name = tool.name.decode().unwrap_or_default();
        if !is_fit_name(&name) {
            losses
                .because(format!("tools[{at}]"), "a tool's name is up to 64 letters, digits, `_` and `-`")?;
        }
        write_tool(&name, tool.description.filter(|text| !text.is_blank()), tool.schema.as_deref(), out);
        // Nova's cache keeps no tools.
        if tool.mark && family == Family::Anthropic {
            write_mark(out);
        }
    }
    if request.tools.is_empty() {
        for name in called {
            write_tool(name, None, None, out);
        }
    }
    out.close(']');
    write_choice(request, losses, out)?;
    out.close('}');
    Ok(())
}

fn write_tool(name: &str, description: Option<Lit<'_>>, schema: Option<&str>, out: &mut Out) {
    out.open('{').key("toolSpec").open('{').field_str("name", &fit_name(name));
    if let Some(description) = description {
        out.field_lit("description", description);
    }
    out.key("inputSchema").open('{');
    write_object_schema("json", schema, out);
    out.close('}').close('}').close('}');
}

fn write_choice(request: &Request<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    let one = match &request.choice {
        _ if request.tools.is_empty() => return Ok(()),
        None | Some(Choice::None) => return Ok(()),
        Some(Choice::Auto) => Err("auto"),
        Some(Choice::Any) => Err("any"),
        Some(Choice::Tool(name)) => Ok(name),
        Some(Choice::Among { names, must }) => match (names.as_slice(), must) {
            ([name], true) => Ok(name),
            _ => {
                losses.because(request.choice_name, "it lets choose among all tools, or names one")?;
                Err(if *must { "any" } else { "auto" })
            }
        },
    };
    out.key("toolChoice").open('{');
    match one {
        Ok(name) => out.key("tool").open('{').field_str("name", &fit_name(name)).close('}'),
        Err(word) => out.key(word).open('{').close('}'),
    };
    out.close('}');
    Ok(())
}

fn write_format(request: &Request<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    match &request.format {
        None => {}
        Some(Format::Json { param }) => losses.because(*param, "it gives JSON by a schema only")?,
        Some(Format::Schema { name, description, schema, .. }) => {
            out.key("outputConfig").open('{').key("textFormat").open('{').field_str("type", "json_schema");
            // The schema is told as text.
            out.key("structure").open('{').key("jsonSchema").open('{').field_str("schema", schema);
            if let Some(name) = name {
                out.field_lit("name", *name);
            }
            if let Some(description) = description {
                out.field_lit("description", *description);
            }
            out.close('}').close('}').close('}').close('}');
        }
    }
    Ok(())
}

/// Whose model it is, as far as its name tells. That of an application's own profile does not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Anthropic,
    OpenAi,
    Nova,
    Other,
}

impl Family {
    fn of(model: &str) -> Self {
        match model {
            _ if model.contains("anthropic.") || model.contains("claude") => Family::Anthropic,
            _ if model.contains("openai.") || model.contains("gpt-oss") => Family::OpenAi,
            _ if model.contains("amazon.nova") => Family::Nova,
            _ => Family::Other,
        }
    }

    /// Whether its models take marks for a cache; others refuse them.
    fn has_cache(self) -> bool {
        matches!(self, Family::Anthropic | Family::Nova)
    }
}

/// What only one family of models knows, by its own names.
fn write_additional(
    request: &Request<'_>,
    family: Family,
    thinking: Thinking,
    sampling: Sampling<'_>,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    if let Some(top_k) = sampling.top_k.filter(|_| matches!(family, Family::OpenAi | Family::Other)) {
        losses.lose(top_k.name)?;
    }
    let top_k = sampling.top_k.filter(|_| matches!(family, Family::Anthropic | Family::Nova));
    let effort = request.reasoning.effort.or(request.reasoning.budget.map(Effort::of_budget));
    let word = effort.and_then(|effort| match effort {
        Effort::None => None,
        Effort::Minimal | Effort::Low => Some("low"),
        Effort::Medium => Some("medium"),
        Effort::High | Effort::XHigh | Effort::Max => Some("high"),
    });
    let word = word.filter(|_| matches!(family, Family::OpenAi | Family::Nova));
    if top_k.is_none() && thinking == Thinking::Silent && word.is_none() {
        return Ok(());
    }
    out.key("additionalModelRequestFields").open('{');
    match family {
        Family::Anthropic => {
            write_numbers([("top_k", top_k)], out);
            thinking.write(out);
            if let Some(effort) = thinking.effort() {
                out.key("output_config").open('{').field_str("effort", effort).close('}');
            }
        }
        Family::Nova => {
            if let Some(top_k) = top_k {
                out.key("inferenceConfig").open('{').field_raw("topK", top_k.digits).close('}');
            }
            if let Some(word) = word {
                out.key("reasoningConfig").open('{').field_str("type", "enabled");
                out.field_str("maxReasoningEffort", word).close('}');
            }
        }
        Family::OpenAi | Family::Other => {
            if let Some(word) = word {
                out.field_str("reasoning_effort", word);
            }
        }
    }
    out.close('}');
    Ok(())
}
