//! Reading a request of `/v1/chat/completions`.

use super::tools::{function_call, function_tool, read_call, read_choice, read_tool};
use crate::translate::{
    error::Refused,
    fields,
    form::{Effort, Format, Media, MediaKind, Number, Part, Reasoning, Request, Role, Source, ToolResult},
    json::Json,
    parts,
};
use std::borrow::Cow;

/// Fields without a bearing on the answer, or that mean nothing to another provider.
const DROPPED: [&str; 10] = [
    "model",
    "metadata",
    "store",
    "service_tier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "prompt_cache_options",
    "moderation",
    "stream_options",
    "include_reasoning",
];

pub(in crate::translate) fn read<'a>(body: Json<'a>) -> Result<Request<'a>, Refused> {
    let mut request = Request { stop_name: "stop", ..Request::default() };
    // Chat callers see what thoughts there are: it is a field that those who don't know it pass by.
    request.reasoning.shown = true;
    let mut messages = None;
    let mut max_tokens = [None, None];
    for (name, value) in body.fields() {
        match &*name {
            "messages" => messages = Some(value),
            "stream" => request.stream = fields::flag("stream", value)?,
            "tools" if !value.is_null() => {
                for (at, tool) in fields::list("tools", value)?.enumerate() {
                    read_tool(&format!("tools[{at}]"), tool, &mut request)?;
                }
            }
            "functions" if !value.is_null() => {
                for (at, function) in fields::list("functions", value)?.enumerate() {
                    request.room("functions")?;
                    request.tools.push(function_tool(&format!("functions[{at}]"), function)?);
                }
            }
            "tool_choice" | "function_call" if !value.is_null() => {
                read_choice(
                    if name == "tool_choice" { "tool_choice" } else { "function_call" },
                    value,
                    &mut request,
                )?;
            }
            "parallel_tool_calls" if !value.is_null() => {
                if !fields::flag("parallel_tool_calls", value)? {
                    request.one_tool_at_a_time = Some("parallel_tool_calls");
                }
            }
            "max_completion_tokens" => max_tokens[0] = fields::count("max_completion_tokens", value)?,
            "max_tokens" => max_tokens[1] = fields::count("max_tokens", value)?,
            "temperature" => request.temperature = Number::read("temperature", value)?,
            "top_p" => request.top_p = Number::read("top_p", value)?,
            "top_k" => request.top_k = Number::read("top_k", value)?,
            "seed" => request.seed = Number::read("seed", value)?,
            "frequency_penalty" => request.frequency_penalty = Number::read("frequency_penalty", value)?,
            "presence_penalty" => request.presence_penalty = Number::read("presence_penalty", value)?,
            "n" => request.n = Number::read("n", value)?.filter(|n| n.value() != 1.0),
            "stop" if !value.is_null() => match value.lit() {
                Some(stop) => request.stop.push(stop),
                None => {
                    for (at, stop) in fields::list("stop", value)?.enumerate() {
                        request.stop.push(fields::text(&format!("stop[{at}]"), stop)?);
                    }
                }
            },
            "response_format" if !value.is_null() => read_format(value, &mut request)?,
            "reasoning_effort" if !value.is_null() => {
                let word = fields::decoded("reasoning_effort", value)?;
                let effort = Effort::read(&word)
                    .ok_or_else(|| Refused::wrong("reasoning_effort", "is no effort that is known"))?;
                request.reasoning = Reasoning { effort: Some(effort), ..request.reasoning };
            }
            "user" | "safety_identifier" if !value.is_null() => request.user = value.lit().or(request.user),
            "modalities" if value.each().all(|modality| modality.is("text")) => {}
            "verbosity" if value.is("medium") => {}
            "logprobs" if value.as_bool() == Some(false) => {}
            "top_logprobs" if value.count() == Some(0) => {}
            "logit_bias" if value.is_object() && value.fields().next().is_none() => {}
            _ if value.is_null() || DROPPED.contains(&&*name) => {}
            _ => request.lost(name.clone().into_owned()),
        }
        if name == "stream_options" {
            request.include_usage =
                value.get("include_usage").is_some_and(|asked| asked.as_bool() == Some(true));
        }
    }
    request.max_tokens = max_tokens[0].or(max_tokens[1]);
    let messages = messages.ok_or_else(|| Refused::wrong("messages", "is missing"))?;
    let mut legacy = 0;
    for (at, message) in fields::list("messages", messages)?.enumerate() {
        read_message(&format!("messages[{at}]"), message, &mut legacy, &mut request)?;
    }
    Ok(request)
}

fn read_message<'a>(
    at: &str,
    message: Json<'a>,
    legacy: &mut usize,
    request: &mut Request<'a>,
) -> Result<(), Refused> {
    request.room(at)?;
    let message = fields::object(at, message)?;
    let [role, content] = message.pick(["role", "content"]);
    let role = role.and_then(Json::text);
    match role.as_deref() {
        Some("system" | "developer") => {
            for part in read_content(at, content, request)? {
                match part {
                    Part::Text(text) => request.system.push(text),
                    _ => return Err(Refused::wrong(format!("{at}.content"), "must be text")),
                }
            }
        }
        Some("user") => {
            let parts = read_content(at, content, request)?;
            request.push(Role::User, parts);
        }
        Some("assistant") => {
            let mut parts = read_content(at, content, request)?;
            if let Some(refusal) = message.get("refusal").and_then(Json::lit) {
                parts.push(Part::Text(refusal));
            }
            if message.get("audio").is_some() {
                request.lost(format!("{at}.audio"));
            }
            if let Some(calls) = message.get("tool_calls") {
                for (n, call) in fields::list(&format!("{at}.tool_calls"), calls)?.enumerate() {
                    if let Some(call) = read_call(&format!("{at}.tool_calls[{n}]"), call, request)? {
                        parts.push(Part::Call(call));
                    }
                }
            }
            if let Some(call) = message.get("function_call") {
                *legacy += 1;
                let at = format!("{at}.function_call");
                parts.push(Part::Call(function_call(&at, Cow::Owned(format!("call_{legacy}")), call)?));
            }
            request.push(Role::Assistant, parts);
        }
        Some("tool" | "function") => {
            let id = match message.get("tool_call_id") {
                Some(id) => fields::decoded(&format!("{at}.tool_call_id"), id)?,
                // Of a time when there was one call at most.
                None if role.as_deref() == Some("function") => Cow::Owned(format!("call_{legacy}")),
                None => return Err(Refused::wrong(format!("{at}.tool_call_id"), "is missing")),
            };
            let parts = read_content(at, content, request)?;
            let name = message.get("name").and_then(Json::text);
            let result = ToolResult { id, name, parts, object: None, is_error: false };
            request.push(Role::User, [Part::Result(result)]);
        }
        _ => {
            let what = "must be system, developer, user, assistant or tool";
            return Err(Refused::wrong(format!("{at}.role"), what));
        }
    }
    Ok(())
}

fn read_content<'a>(
    at: &str,
    content: Option<Json<'a>>,
    request: &mut Request<'a>,
) -> Result<Vec<Part<'a>>, Refused> {
    match content {
        Some(content) => parts::read_content(&format!("{at}.content"), content, request, read_part),
        None => Ok(Vec::new()),
    }
}

fn read_part<'a>(
    at: String,
    part: Json<'a>,
    request: &mut Request<'a>,
    parts: &mut Vec<Part<'a>>,
) -> Result<(), Refused> {
    if let Some(text) = part.lit() {
        parts.push(Part::Text(text));
        return Ok(());
    }
    let kind = part.get("type").and_then(Json::text);
    match kind.as_deref() {
        Some(kind @ ("text" | "refusal")) => {
            parts.push(Part::Text(fields::needed_text(&at, part, kind)?));
        }
        Some(kind @ ("image_url" | "video_url")) => {
            let param = format!("{at}.{kind}");
            let url = part.get(kind).map(|image| image.get("url").unwrap_or(image));
            let url = url.ok_or_else(|| Refused::wrong(&*param, "is missing"))?;
            let source = Source::of_url(fields::decoded(&param, url)?).ok_or_else(|| {
                Refused::wrong(
                    &*param,
                    "is no address and no data in base64 with its media type (data:image/png;base64,...)",
                )
            })?;
            let kind = if kind == "image_url" { MediaKind::Image } else { MediaKind::Video };
            parts.push(Part::Media(Media { kind, source, name: None, param }));
        }
        Some("file") => parts.push(Part::Media(read_file(&at, part)?)),
        Some("input_audio") => {
            let param = format!("{at}.input_audio");
            let audio = part.get("input_audio").unwrap_or(part);
            let data = audio.get("data").ok_or_else(|| Refused::wrong(&*param, "has no data"))?;
            let data = fields::decoded(&param, data)?;
            let format = audio.get("format").and_then(Json::text).unwrap_or(Cow::Borrowed("wav"));
            let source = Source::Data { media: Cow::Owned(format!("audio/{format}")), data };
            parts.push(Part::Media(Media { kind: MediaKind::Audio, source, name: None, param }));
        }
        _ => request.lost(at),
    }
    Ok(())
}

fn read_file<'a>(at: &str, part: Json<'a>) -> Result<Media<'a>, Refused> {
    let file = part.get("file").unwrap_or(part);
    let name = file.get("filename").and_then(Json::lit);
    if let Some(data) = file.get("file_data") {
        let param = format!("{at}.file.file_data");
        let source = fields::file_data(&param, data)?;
        return Ok(Media { kind: MediaKind::File, source, name, param });
    }
    let param = format!("{at}.file.file_id");
    Ok(Media { kind: MediaKind::File, source: Source::Foreign, name, param })
}

fn read_format<'a>(format: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    const NAME: &str = "response_format";
    request.format = match format.get("type").and_then(Json::text).as_deref() {
        Some("text") => None,
        Some("json_object") => Some(Format::Json { param: NAME }),
        Some("json_schema") => Some(schema_format(NAME, format.get("json_schema").unwrap_or(format))?),
        _ => {
            request.lost(NAME.to_owned());
            None
        }
    };
    Ok(())
}

pub(in crate::translate) fn schema_format<'a>(
    param: &'static str,
    named: Json<'a>,
) -> Result<Format<'a>, Refused> {
    let schema = named.get("schema").ok_or_else(|| Refused::wrong(param, "has no schema"))?;
    Ok(Format::Schema {
        param,
        name: named.get("name").and_then(Json::lit),
        description: named.get("description").and_then(Json::lit),
        schema: Cow::Borrowed(fields::object(param, schema)?.raw()),
        strict: named.get("strict").and_then(Json::as_bool),
    })
}
