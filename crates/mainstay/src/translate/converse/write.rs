//! Writing a request for `Converse`.
//!
//! What its models have in common has a field; what a family of them has of its own goes into `additionalModelRequestFields`.
//! The model stands in the path, and so does the wish for a stream.

use super::{
    blocks::{is_nothing, write_blocks, write_mark},
    family::{Family, write_additional},
    media::Titles,
    tools::write_tools,
};
use crate::translate::{
    error::{Losses, Refused},
    form::{Format, Request, Role},
    messages::{Sampling, Thinking},
    out::Out,
    parts::{
        lose_one_at_a_time, lose_seed_and_penalties, path_segment, wordless, write_numbers, write_stops,
        write_up_to_one,
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
    lose_one_at_a_time(request, losses)?;
    lose_seed_and_penalties(request, losses)?;
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
