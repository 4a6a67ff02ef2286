//! Writing a request for `/v1/chat/completions`.

use super::messages::write_messages;
use crate::translate::{
    error::{Losses, Refused},
    form::{Choice, Effort, Format, Request},
    out::Out,
    parts::{write_numbers, write_stops},
    target::Target,
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
    out.open('{').field_str("model", model);
    write_messages(request, target, losses, out)?;
    write_tools(request, out);
    if let Some(most) = request.max_tokens {
        out.field_number(
            if target.max_completion_tokens { "max_completion_tokens" } else { "max_tokens" },
            most,
        );
    }
    write_numbers(
        [
            ("temperature", request.temperature),
            ("top_p", request.top_p),
            ("seed", request.seed),
            ("frequency_penalty", request.frequency_penalty),
            ("presence_penalty", request.presence_penalty),
            ("n", request.n),
        ],
        out,
    );
    if let Some(top_k) = request.top_k {
        losses.lose(top_k.name)?;
    }
    write_stops(request, "stop", 4, "it takes 4 at most", losses, out)?;
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

fn write_format(format: &Format<'_>, out: &mut Out) {
    out.key("response_format").open('{');
    match format {
        Format::Json { .. } => {
            out.field_str("type", "json_object");
        }
        Format::Schema { name, description, schema, strict, .. } => {
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
