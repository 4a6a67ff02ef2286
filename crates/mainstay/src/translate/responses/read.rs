//! Reading a request of `/v1/responses`.

use crate::translate::{
    chat::{function_tool, read_arguments, read_choice, schema_format},
    error::Refused,
    fields,
    form::{Call, Effort, Format, Media, MediaKind, Number, Part, Request, Role, Source, ToolResult},
    json::Json,
    parts,
};

/// Fields without a bearing on the answer, or that mean nothing to another provider.
const DROPPED: [&str; 12] = [
    "model",
    "metadata",
    "store",
    "service_tier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "prompt_cache_options",
    "stream_options",
    "include",
    "truncation",
    "client_metadata",
    "moderation",
];

pub(in crate::translate) fn read<'a>(body: Json<'a>) -> Result<Request<'a>, Refused> {
    let mut request = Request { stop_name: "stop", ..Request::default() };
    let mut input = None;
    for (name, value) in body.fields() {
        if value.is_null() {
            continue;
        }
        match &*name {
            "input" => input = Some(value),
            // They stand before whatever the input says.
            "instructions" => request.system.insert(0, fields::text("instructions", value)?),
            "stream" => request.stream = fields::flag("stream", value)?,
            "tools" => {
                for (at, tool) in fields::list("tools", value)?.enumerate() {
                    request.room("tools")?;
                    let at = format!("tools[{at}]");
                    match tool.get("type").and_then(Json::text).as_deref() {
                        Some("function") | None => request.tools.push(function_tool(&at, tool)?),
                        Some(_) => request.lost(at),
                    }
                }
            }
            "tool_choice" => read_choice("tool_choice", value, &mut request)?,
            "parallel_tool_calls" => {
                if !fields::flag("parallel_tool_calls", value)? {
                    request.one_tool_at_a_time = Some("parallel_tool_calls");
                }
            }
            "max_output_tokens" => request.max_tokens = fields::count("max_output_tokens", value)?,
            "temperature" => request.temperature = Number::read("temperature", value)?,
            "top_p" => request.top_p = Number::read("top_p", value)?,
            "reasoning" => read_reasoning(value, &mut request)?,
            "text" => read_text(value, &mut request)?,
            "user" | "safety_identifier" => request.user = value.lit().or(request.user),
            "background" if value.as_bool() == Some(false) => {}
            "top_logprobs" if value.count() == Some(0) => {}
            _ if DROPPED.contains(&&*name) => {}
            _ => request.lost(name.into_owned()),
        }
    }
    let input = input.ok_or_else(|| Refused::wrong("input", "is missing"))?;
    if let Some(text) = input.lit() {
        request.push(Role::User, [Part::Text(text)]);
        return Ok(request);
    }
    for (at, item) in fields::list("input", input)?.enumerate() {
        read_item(&format!("input[{at}]"), item, &mut request)?;
    }
    Ok(request)
}

fn read_item<'a>(at: &str, item: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    request.room(at)?;
    let item = fields::object(at, item)?;
    let field = |name: &str| fields::needed_decoded(at, item, name);
    match item.get("type").and_then(Json::text).as_deref() {
        Some("message") | None => read_message(at, item, request),
        Some("function_call") => {
            let arguments = read_arguments(&format!("{at}.arguments"), item.get("arguments"))?;
            let call = Call { id: field("call_id")?, name: field("name")?, arguments };
            request.push(Role::Assistant, [Part::Call(call)]);
            Ok(())
        }
        Some("function_call_output") => {
            let id = field("call_id")?;
            let parts = match item.get("output") {
                Some(output) => read_content(&format!("{at}.output"), output, request)?,
                None => Vec::new(),
            };
            let result = ToolResult { id, name: None, parts, object: None, is_error: false };
            request.push(Role::User, [Part::Result(result)]);
            Ok(())
        }
        // Thoughts are worth nothing to another provider.
        Some("reasoning") => Ok(()),
        Some(_) => {
            request.lost(at.to_owned());
            Ok(())
        }
    }
}

fn read_message<'a>(at: &str, message: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    let role = match message.get("role").and_then(Json::text).as_deref() {
        Some("user") => Some(Role::User),
        Some("assistant") => Some(Role::Assistant),
        Some("system" | "developer") => None,
        _ => {
            let what = "must be system, developer, user or assistant";
            return Err(Refused::wrong(format!("{at}.role"), what));
        }
    };
    let at = format!("{at}.content");
    let content = message.get("content").ok_or_else(|| Refused::wrong(&*at, "is missing"))?;
    let parts = read_content(&at, content, request)?;
    match role {
        Some(role) => request.push(role, parts),
        None => {
            for part in parts {
                match part {
                    Part::Text(text) => request.system.push(text),
                    _ => return Err(Refused::wrong(at, "must be text")),
                }
            }
        }
    }
    Ok(())
}

fn read_content<'a>(
    at: &str,
    content: Json<'a>,
    request: &mut Request<'a>,
) -> Result<Vec<Part<'a>>, Refused> {
    parts::read_content(at, content, request, read_part)
}

fn read_part<'a>(
    at: String,
    part: Json<'a>,
    request: &mut Request<'a>,
    parts: &mut Vec<Part<'a>>,
) -> Result<(), Refused> {
    match part.get("type").and_then(Json::text).as_deref() {
        Some("input_text" | "output_text" | "text") => {
            parts.push(Part::Text(fields::needed_text(&at, part, "text")?));
        }
        Some("refusal") => parts.extend(part.get("refusal").and_then(Json::lit).map(Part::Text)),
        Some("input_image") => {
            let param = format!("{at}.image_url");
            let source = match part.get("image_url") {
                Some(url) => Source::of_url(fields::decoded(&param, url)?).ok_or_else(|| {
                    Refused::wrong(
                        &*param,
                        "is no address and no data in base64 with its media type (data:image/png;base64,...)",
                    )
                })?,
                None => Source::Foreign,
            };
            let param = if matches!(source, Source::Foreign) { format!("{at}.file_id") } else { param };
            parts.push(Part::Media(Media { kind: MediaKind::Image, source, name: None, param }));
        }
        Some("input_file") => parts.push(Part::Media(read_file(&at, part)?)),
        _ => request.lost(at),
    }
    Ok(())
}

fn read_file<'a>(at: &str, part: Json<'a>) -> Result<Media<'a>, Refused> {
    let name = part.get("filename").and_then(Json::lit);
    let (source, param) = match (part.get("file_data"), part.get("file_url")) {
        (Some(data), _) => {
            let param = format!("{at}.file_data");
            (fields::file_data(&param, data)?, param)
        }
        (None, Some(url)) => {
            let param = format!("{at}.file_url");
            (Source::Url { url: fields::decoded(&param, url)?, media: None }, param)
        }
        (None, None) => (Source::Foreign, format!("{at}.file_id")),
    };
    Ok(Media { kind: MediaKind::File, source, name, param })
}

fn read_reasoning<'a>(reasoning: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    for (name, value) in fields::object("reasoning", reasoning)?.fields() {
        match &*name {
            _ if value.is_null() => {}
            "effort" => {
                let effort = Effort::read(&fields::decoded("reasoning.effort", value)?);
                let effort =
                    effort.ok_or_else(|| Refused::wrong("reasoning.effort", "is no effort that is known"))?;
                request.reasoning.effort = Some(effort);
            }
            "summary" | "generate_summary" => request.reasoning.shown = true,
            _ => request.lost(format!("reasoning.{name}")),
        }
    }
    Ok(())
}

fn read_text<'a>(text: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    for (name, value) in fields::object("text", text)?.fields() {
        match &*name {
            _ if value.is_null() => {}
            "format" => {
                request.format = match value.get("type").and_then(Json::text).as_deref() {
                    Some("text") | None => None,
                    Some("json_object") => Some(Format::Json { param: "text.format" }),
                    Some("json_schema") => Some(schema_format("text.format", value)?),
                    Some(_) => {
                        request.lost("text.format".to_owned());
                        None
                    }
                };
            }
            "verbosity" if value.is("medium") => {}
            _ => request.lost(format!("text.{name}")),
        }
    }
    Ok(())
}
