//! Reading a request of `/v1/messages`.

use crate::translate::{
    error::Refused,
    fields,
    form::{
        Call, Choice, Effort, Format, Media, MediaKind, Number, Part, Request, Role, Source, Tool, ToolResult,
    },
    json::Json,
    parts,
};
use std::borrow::Cow;

/// Fields that mean nothing to another provider, or that say how its own cache and queues are used.
const DROPPED: [&str; 5] = ["model", "service_tier", "cache_control", "inference_geo", "speed"];

pub(in crate::translate) fn read<'a>(body: Json<'a>) -> Result<Request<'a>, Refused> {
    let mut request = Request { stop_name: "stop_sequences", ..Request::default() };
    let mut messages = None;
    for (name, value) in body.fields() {
        if value.is_null() {
            continue;
        }
        match &*name {
            "messages" => messages = Some(value),
            "system" => read_system("system", value, &mut request)?,
            "stream" => request.stream = fields::flag("stream", value)?,
            "max_tokens" => request.max_tokens = fields::count("max_tokens", value)?,
            "temperature" => request.temperature = Number::read("temperature", value)?,
            "top_p" => request.top_p = Number::read("top_p", value)?,
            "top_k" => request.top_k = Number::read("top_k", value)?,
            "stop_sequences" => {
                for (at, stop) in fields::list("stop_sequences", value)?.enumerate() {
                    request.stop.push(fields::text(&format!("stop_sequences[{at}]"), stop)?);
                }
            }
            "tools" => {
                for (at, tool) in fields::list("tools", value)?.enumerate() {
                    read_tool(&format!("tools[{at}]"), tool, &mut request)?;
                }
            }
            "tool_choice" => read_choice(value, &mut request)?,
            "thinking" => read_thinking(value, &mut request)?,
            "output_config" => read_output(value, &mut request)?,
            "output_format" => read_format("output_format", value, &mut request)?,
            "metadata" => request.user = value.get("user_id").and_then(Json::lit),
            "mcp_servers" | "context_management" if value.each().next().is_none() && !value.is_object() => {}
            _ if DROPPED.contains(&&*name) => {}
            _ => request.lost(name.into_owned()),
        }
    }
    let messages = messages.ok_or_else(|| Refused::wrong("messages", "is missing"))?;
    for (at, message) in fields::list("messages", messages)?.enumerate() {
        read_message(&format!("messages[{at}]"), message, &mut request)?;
    }
    Ok(request)
}

fn read_system<'a>(at: &str, system: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    if let Some(text) = system.lit() {
        request.system.push(text);
        return Ok(());
    }
    for (n, block) in fields::list(at, system)?.enumerate() {
        let text = block.get("text").or(block.lit().map(|_| block));
        let text = text.ok_or_else(|| Refused::wrong(format!("{at}[{n}].text"), "is missing"))?;
        request.system.push(fields::text(&format!("{at}[{n}].text"), text)?);
        request.system_mark |= block.get("cache_control").is_some();
    }
    Ok(())
}

fn read_message<'a>(at: &str, message: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    request.room(at)?;
    let message = fields::object(at, message)?;
    let content = message.get("content");
    let role = match message.get("role").and_then(Json::text).as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => {
            return match content {
                Some(content) => read_system(&format!("{at}.content"), content, request),
                None => Ok(()),
            };
        }
        _ => return Err(Refused::wrong(format!("{at}.role"), "must be user or assistant")),
    };
    let at = format!("{at}.content");
    let content = content.ok_or_else(|| Refused::wrong(&*at, "is missing"))?;
    let parts = read_content(&at, content, request)?;
    request.push(role, parts);
    Ok(())
}

fn read_content<'a>(
    at: &str,
    content: Json<'a>,
    request: &mut Request<'a>,
) -> Result<Vec<Part<'a>>, Refused> {
    parts::read_content(at, content, request, read_block)
}

fn read_block<'a>(
    at: String,
    block: Json<'a>,
    request: &mut Request<'a>,
    parts: &mut Vec<Part<'a>>,
) -> Result<(), Refused> {
    match block.get("type").and_then(Json::text).as_deref() {
        Some("text") => {
            parts.push(Part::Text(fields::needed_text(&at, block, "text")?));
        }
        Some(kind @ ("image" | "document")) => {
            if block
                .get("citations")
                .is_some_and(|wish| wish.get("enabled").and_then(Json::as_bool) == Some(true))
            {
                request.lost(format!("{at}.citations"));
            }
            let kind = if kind == "image" { MediaKind::Image } else { MediaKind::File };
            let context = block.get("context").and_then(Json::lit);
            parts.extend(context.filter(|context| !context.is_empty()).map(Part::Text));
            read_source(&at, kind, block, parts)?;
        }
        Some("tool_use") => {
            let arguments = match block.get("input") {
                Some(input) => fields::object(&format!("{at}.input"), input)?.raw(),
                None => "{}",
            };
            parts.push(Part::Call(Call {
                id: fields::needed_decoded(&at, block, "id")?,
                name: fields::needed_decoded(&at, block, "name")?,
                arguments: Cow::Borrowed(arguments),
            }));
        }
        Some("tool_result") => {
            let id = fields::needed_decoded(&at, block, "tool_use_id")?;
            let said = match block.get("content") {
                Some(content) => read_content(&format!("{at}.content"), content, request)?,
                None => Vec::new(),
            };
            parts.push(Part::Result(ToolResult {
                id,
                name: None,
                parts: said,
                object: None,
                is_error: block.get("is_error").and_then(Json::as_bool) == Some(true),
            }));
        }
        // Thoughts are worth nothing to another provider, and their signatures less.
        Some("thinking" | "redacted_thinking") => {}
        _ => request.lost(at),
    }
    if block.get("cache_control").is_some() {
        parts.push(Part::Mark);
    }
    Ok(())
}

fn read_source<'a>(
    at: &str,
    kind: MediaKind,
    block: Json<'a>,
    parts: &mut Vec<Part<'a>>,
) -> Result<(), Refused> {
    let param = format!("{at}.source");
    let source = fields::needed(at, block, "source")?;
    let part = |name: &str| fields::needed_decoded(&param, source, name);
    let read = match source.get("type").and_then(Json::text).as_deref() {
        Some("base64") => Source::Data { media: part("media_type")?, data: part("data")? },
        Some("url") => Source::Url { url: part("url")?, media: None },
        Some("text") => Source::Text(fields::needed_text(&param, source, "data")?),
        Some("file") => Source::Foreign,
        _ => return Err(Refused::wrong(param, "must be base64, url, text or file")),
    };
    let name = block.get("title").and_then(Json::lit);
    parts.push(Part::Media(Media { kind, source: read, name, param }));
    Ok(())
}

fn read_tool<'a>(at: &str, tool: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    request.room("tools")?;
    let tool = fields::object(at, tool)?;
    if tool.get("type").is_some_and(|kind| !kind.is("custom")) {
        request.lost(at.to_owned());
        return Ok(());
    }
    let name = tool.get("name").and_then(Json::lit);
    request.tools.push(Tool {
        name: name.ok_or_else(|| Refused::wrong(format!("{at}.name"), "is missing"))?,
        description: tool.get("description").and_then(Json::lit),
        schema: match tool.get("input_schema") {
            Some(schema) => Some(Cow::Borrowed(fields::object(&format!("{at}.input_schema"), schema)?.raw())),
            None => None,
        },
        strict: tool.get("strict").and_then(Json::as_bool),
        mark: tool.get("cache_control").is_some(),
    });
    Ok(())
}

fn read_choice<'a>(choice: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    request.choice_name = "tool_choice";
    request.choice = Some(match choice.get("type").and_then(Json::text).as_deref() {
        Some("auto") => Choice::Auto,
        Some("none") => Choice::None,
        Some("any") => Choice::Any,
        Some("tool") => Choice::Tool(fields::needed_decoded("tool_choice", choice, "name")?),
        _ => return Err(Refused::wrong("tool_choice", "must be of type auto, any, tool or none")),
    });
    if choice.get("disable_parallel_tool_use").and_then(Json::as_bool) == Some(true) {
        request.one_tool_at_a_time = Some("tool_choice.disable_parallel_tool_use");
    }
    Ok(())
}

fn read_thinking<'a>(thinking: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    let reasoning = &mut request.reasoning;
    match thinking.get("type").and_then(Json::text).as_deref() {
        Some("enabled") => {
            reasoning.shown = true;
            if let Some(budget) = thinking.get("budget_tokens") {
                reasoning.budget = fields::count("thinking.budget_tokens", budget)?;
            }
        }
        Some("adaptive") => {
            reasoning.shown = true;
            reasoning.adaptive = true;
        }
        Some("disabled") => reasoning.effort = Some(Effort::None),
        _ => return Err(Refused::wrong("thinking", "must be of type enabled, adaptive or disabled")),
    }
    if thinking.get("display").is_some_and(|display| display.is("omitted")) {
        reasoning.shown = false;
    }
    Ok(())
}

fn read_output<'a>(output: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    for (name, value) in fields::object("output_config", output)?.fields() {
        match &*name {
            _ if value.is_null() => {}
            "effort" => {
                let effort = Effort::read(&fields::decoded("output_config.effort", value)?);
                let effort = effort
                    .ok_or_else(|| Refused::wrong("output_config.effort", "is no effort that is known"))?;
                request.reasoning.effort.get_or_insert(effort);
            }
            "format" => read_format("output_config.format", value, request)?,
            _ => request.lost(format!("output_config.{name}")),
        }
    }
    Ok(())
}

fn read_format<'a>(param: &'static str, format: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    if !format.get("type").is_some_and(|kind| kind.is("json_schema")) {
        request.lost(param.to_owned());
        return Ok(());
    }
    let schema = format.get("schema").ok_or_else(|| Refused::wrong(param, "has no schema"))?;
    let schema = Cow::Borrowed(fields::object(param, schema)?.raw());
    request.format = Some(Format::Schema { param, name: None, description: None, schema, strict: None });
    Ok(())
}
