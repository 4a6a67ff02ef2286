//! Writing a request for `generateContent`.

use crate::translate::{
    error::{Losses, Refused},
    form::{Choice, Effort, Format, Media, Part, Reasoning, Request, Role, Source, ToolResult},
    out::{Out, safe},
    parts::{
        FETCHES_NOTHING, FOREIGN, Names, lose_one_at_a_time, texts, wordless, write_lines, write_numbers,
        write_stops,
    },
    target::Target,
};

pub(in crate::translate) fn write(
    request: &Request<'_>,
    model: &str,
    _target: &Target,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    lose_one_at_a_time(request, losses)?;
    out.open('{');
    let mut system = request.system.iter().filter(|text| !text.is_empty()).peekable();
    if system.peek().is_some() {
        out.key("systemInstruction").open('{').key("parts").open('[');
        for text in system {
            out.open('{').field_lit("text", *text).close('}');
        }
        out.close(']').close('}');
    }
    write_contents(request, model, losses, out)?;
    write_tools(request, out);
    write_config(request, model, losses, out)?;
    out.close('}');
    Ok(())
}

fn write_contents(
    request: &Request<'_>,
    model: &str,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    let mut names = Names::default();
    let mut written = false;
    out.key("contents").open('[');
    for turn in &request.turns {
        if turn.parts.iter().all(is_nothing) {
            continue;
        }
        let before = out.len();
        out.open('{').field_str("role", if turn.role == Role::User { "user" } else { "model" });
        out.key("parts").open('[');
        let list = out.len();
        let mut first_call = true;
        for part in turn.parts.iter().filter(|part| !is_nothing(part)) {
            match part {
                Part::Text(text) => {
                    out.open('{').field_lit("text", *text).close('}');
                }
                Part::Media(media) => write_media(media, losses, out)?,
                Part::Call(call) => {
                    names.learn(call);
                    out.open('{').key("functionCall").open('{').field_str("id", &call.id);
                    out.field_str("name", &call.name).field_raw("args", call.arguments.trim()).close('}');
                    // The signature of the thought behind the call did not survive the caller's dialect; newer models
                    // refuse the first call of a turn without one. This word stands for it, says Google's page on them.
                    if std::mem::take(&mut first_call) && wants_signature(model) {
                        out.field_str("thoughtSignature", "skip_thought_signature_validator");
                    }
                    out.close('}');
                }
                Part::Result(result) => write_result(result, &names, losses, out)?,
                Part::Mark => {}
            }
        }
        written |= out.close_filled(before, list);
    }
    out.close(']');
    if written { Ok(()) } else { Err(wordless()) }
}

fn is_nothing(part: &Part<'_>) -> bool {
    matches!(part, Part::Text(text) if text.is_empty())
}

/// Up to version 2 models were told how much to think by a number, and their calls had no signatures.
fn is_old(model: &str) -> bool {
    model.contains("gemini-1") || model.contains("gemini-2")
}

fn wants_signature(model: &str) -> bool {
    !is_old(model)
}

fn write_result(
    result: &ToolResult<'_>,
    names: &Names<'_>,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    out.open('{').key("functionResponse").open('{').field_str("id", &result.id);
    out.field_str("name", names.of(result)?);
    out.key("response");
    match result.object {
        Some(object) if object.is_object() => {
            out.raw(object.raw());
        }
        _ => {
            out.open('{').key(if result.is_error { "error" } else { "result" });
            write_lines(texts(&result.parts), out);
            out.close('}');
        }
    }
    out.close('}').close('}');
    // What a tool shows stands beside what it says.
    for part in &result.parts {
        if let Part::Media(media) = part {
            write_media(media, losses, out)?;
        }
    }
    Ok(())
}

fn write_media(media: &Media<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    match &media.source {
        Source::Data { media, data } => {
            out.open('{').key("inlineData").open('{').key("mimeType").pieces([&*safe(media)]);
            out.key("data").pieces([&*safe(data)]).close('}').close('}');
        }
        Source::Url { url, media } if is_googles(url) => {
            out.open('{').key("fileData").open('{').field_str("fileUri", url);
            if let Some(media) = media {
                out.field_str("mimeType", media);
            }
            out.close('}').close('}');
        }
        Source::Url { .. } => losses.because(&*media.param, FETCHES_NOTHING)?,
        Source::Text(text) => {
            out.open('{').field_lit("text", *text).close('}');
        }
        Source::Foreign => losses.because(&*media.param, FOREIGN)?,
    }
    Ok(())
}

/// Whether Google finds it: its buckets, its Files API, its videos.
fn is_googles(url: &str) -> bool {
    const PLACES: [&str; 4] = [
        "gs://",
        "https://generativelanguage.googleapis.com/",
        "https://www.youtube.com/",
        "https://youtu.be/",
    ];
    PLACES.iter().any(|place| url.starts_with(place))
}

fn write_tools(request: &Request<'_>, out: &mut Out) {
    if request.tools.is_empty() {
        return;
    }
    out.key("tools").open('[').open('{').key("functionDeclarations").open('[');
    for tool in &request.tools {
        out.open('{').field_lit("name", tool.name);
        if let Some(description) = tool.description {
            out.field_lit("description", description);
        }
        if let Some(schema) = &tool.schema {
            out.field_raw("parametersJsonSchema", schema);
        }
        out.close('}');
    }
    out.close(']').close('}').close(']');
    let (mode, names): (_, &[_]) = match &request.choice {
        None => return,
        Some(Choice::Auto) => ("AUTO", &[]),
        Some(Choice::None) => ("NONE", &[]),
        Some(Choice::Any) => ("ANY", &[]),
        Some(Choice::Tool(name)) => ("ANY", std::slice::from_ref(name)),
        Some(Choice::Among { names, must }) => (if *must { "ANY" } else { "VALIDATED" }, names),
    };
    out.key("toolConfig").open('{').key("functionCallingConfig").open('{').field_str("mode", mode);
    if !names.is_empty() {
        out.key("allowedFunctionNames").open('[');
        for name in names {
            out.str(name);
        }
        out.close(']');
    }
    out.close('}').close('}');
}

fn write_config(
    request: &Request<'_>,
    model: &str,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    out.key("generationConfig").open('{');
    if let Some(most) = request.max_tokens {
        out.field_number("maxOutputTokens", most);
    }
    write_numbers(
        [
            ("temperature", request.temperature),
            ("topP", request.top_p),
            ("topK", request.top_k),
            ("seed", request.seed),
            ("frequencyPenalty", request.frequency_penalty),
            ("presencePenalty", request.presence_penalty),
        ],
        out,
    );
    write_stops(request, "stopSequences", 5, "it takes 5 at most", losses, out)?;
    match &request.format {
        None => {}
        Some(Format::Json { .. }) => {
            out.field_str("responseMimeType", "application/json");
        }
        Some(Format::Schema { schema, .. }) => {
            out.field_str("responseMimeType", "application/json").field_raw("responseJsonSchema", schema);
        }
    }
    write_thinking(request.reasoning, model, out);
    out.close('}');
    Ok(())
}

fn write_thinking(reasoning: Reasoning, model: &str, out: &mut Out) {
    let Reasoning { effort, budget, adaptive, shown } = reasoning;
    if effort.is_none() && budget.is_none() && !adaptive {
        return;
    }
    out.key("thinkingConfig").open('{');
    if is_old(model) {
        match budget.or(effort.map(Effort::budget)) {
            // What the largest of them takes.
            Some(budget) => out.field_number("thinkingBudget", budget.min(24576)),
            None => out.field_raw("thinkingBudget", "-1"),
        };
    } else if let Some(effort) = effort.or(budget.map(Effort::of_budget)) {
        out.field_str(
            "thinkingLevel",
            match effort {
                Effort::None | Effort::Minimal => "MINIMAL",
                Effort::Low => "LOW",
                Effort::Medium => "MEDIUM",
                Effort::High | Effort::XHigh | Effort::Max => "HIGH",
            },
        );
    }
    if shown && effort != Some(Effort::None) {
        out.field_raw("includeThoughts", "true");
    }
    out.close('}');
}
