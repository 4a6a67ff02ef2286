//! Writing a request for `/v1/messages`.

use crate::translate::{
    error::{Losses, Refused},
    form::{
        Choice, Effort, Format, Media, MediaKind, Number, Part, Reasoning, Request, Role, Source, ToolResult,
        Turn,
    },
    json::Lit,
    out::{Out, safe},
    parts::{
        FOREIGN, is_blank, lose_rest, lose_several, wordless, write_lines, write_numbers,
        write_object_schema, write_up_to_one,
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
    lose_rest(request, losses)?;
    lose_several(request, losses)?;
    let lost = [
        request.seed,
        request.frequency_penalty.filter(|penalty| !penalty.is_zero()),
        request.presence_penalty.filter(|penalty| !penalty.is_zero()),
    ];
    for number in lost.into_iter().flatten() {
        losses.lose(number.name)?;
    }
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

fn write_parts(
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

/// What a request says of sampling, as far as it can stand beside its thinking.
#[derive(Clone, Copy, Debug)]
pub(in crate::translate) struct Sampling<'a> {
    pub(in crate::translate) temperature: Option<Number<'a>>,
    pub(in crate::translate) top_p: Option<Number<'a>>,
    pub(in crate::translate) top_k: Option<Number<'a>>,
}

impl<'a> Sampling<'a> {
    /// Gives up what cannot. Anthropic's page on thinking: no temperature, no top_k, and a top_p of 0.95 at least.
    pub(in crate::translate) fn beside(
        thinking: Thinking,
        request: &Request<'a>,
        losses: &mut Losses,
    ) -> Result<Self, Refused> {
        let Request { temperature, top_p, top_k, .. } = *request;
        if thinking == Thinking::Silent {
            return Ok(Self { temperature, top_p, top_k });
        }
        if let Some(temperature) = temperature.filter(|temperature| temperature.value() != 1.0) {
            losses.because(temperature.name, "it takes none but 1 where it is to think")?;
        }
        if let Some(top_p) = top_p.filter(|top_p| top_p.value() < 0.95) {
            losses.because(top_p.name, "it takes 0.95 at least where it is to think")?;
        }
        if let Some(top_k) = top_k {
            losses.because(top_k.name, "it takes none where it is to think")?;
        }
        Ok(Self {
            temperature: temperature.filter(|temperature| temperature.value() == 1.0),
            top_p: top_p.filter(|top_p| top_p.value() >= 0.95),
            top_k: None,
        })
    }
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

/// How a wish to think is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::translate) enum Thinking {
    Silent,
    Budget(u64),
    Effort(Option<&'static str>),
}

impl Thinking {
    /// The field `thinking`.
    pub(in crate::translate) fn write(self, out: &mut Out) {
        match self {
            Thinking::Silent => {}
            Thinking::Budget(budget) => {
                out.key("thinking").open('{').field_str("type", "enabled");
                out.field_number("budget_tokens", budget).close('}');
            }
            Thinking::Effort(_) => {
                out.key("thinking").open('{').field_str("type", "adaptive").close('}');
            }
        }
    }

    /// The word that goes into `output_config.effort`.
    pub(in crate::translate) fn effort(self) -> Option<&'static str> {
        if let Thinking::Effort(effort) = self { effort } else { None }
    }

    /// What a request comes to for `model`, whose answer may have `max_tokens`.
    pub(in crate::translate) fn of(request: &Request<'_>, model: &str, max_tokens: u64) -> Self {
        // A tool that must be called is called without a thought: the two are refused together.
        let forced = matches!(
            request.choice,
            Some(Choice::Any | Choice::Tool(_) | Choice::Among { must: true, .. }) if !request.tools.is_empty()
        );
        if forced {
            return Thinking::Silent;
        }
        let reasoning: Reasoning = request.reasoning;
        let effort = match (reasoning.effort, reasoning.budget) {
            (Some(Effort::None), _) | (None, Some(0)) => return Thinking::Silent,
            (None, None) if reasoning.adaptive => None,
            (None, None) => return Thinking::Silent,
            (Some(effort), _) => Some(effort),
            (None, Some(budget)) => Some(Effort::of_budget(budget)),
        };
        if by_budget(model) && awaits_thought(&request.turns) {
            return Thinking::Silent;
        }
        if by_budget(model) {
            // At least 1024, and less than what the whole answer may have; half of that must be left for words.
            let wish = reasoning.budget.or(effort.map(Effort::budget)).unwrap_or(8192);
            return match wish.min(max_tokens / 2) {
                budget @ 1024.. => Thinking::Budget(budget),
                _ if max_tokens > 1024 => Thinking::Budget(1024),
                _ => Thinking::Silent,
            };
        }
        Thinking::Effort(effort.map(|effort| match effort {
            Effort::None | Effort::Minimal | Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::XHigh => "xhigh",
            Effort::Max => "max",
        }))
    }
}

/// Whether the last turn holds results of calls that were made after thoughts, if after any: those did not survive the
/// caller's dialect. Models that are told a budget refuse such a call when it begins with no thinking block.
fn awaits_thought(turns: &[Turn<'_>]) -> bool {
    turns.last().is_some_and(|turn| turn.parts.iter().any(|part| matches!(part, Part::Result(_))))
}

/// Whether the model is of those that are told a budget of tokens and know no effort: up to Claude 4.5.
fn by_budget(model: &str) -> bool {
    let model = model.rsplit('/').next().unwrap_or(model);
    let old = ["-4-0", "-4-1", "-4-5", "-4-2025", "-4.0", "-4.1", "-4.5", "-3-7", "-3.7"];
    model.contains("claude-3") || old.iter().any(|version| model.contains(version))
}
