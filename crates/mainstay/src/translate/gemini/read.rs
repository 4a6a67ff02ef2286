//! Reading a request of `generateContent`, in camelCase or snake_case.

use super::{
    config::read_config,
    schema::{camel, json_schema},
};
use crate::translate::{
    error::Refused,
    fields,
    form::{Call, Choice, Media, MediaKind, Part, Request, Role, Source, Tool, ToolResult},
    json::Json,
};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
};

/// Calls that wait for their results. However many there are, each is looked at once.
#[derive(Debug, Default)]
struct Open<'a> {
    /// Ids by the name of the tool, in the order of the calls.
    ids: HashMap<Cow<'a, str>, VecDeque<Cow<'a, str>>>,
    /// Those whose result named them: they wait no longer.
    answered: HashSet<Cow<'a, str>>,
}

impl<'a> Open<'a> {
    fn call(&mut self, id: Cow<'a, str>, name: Cow<'a, str>) {
        self.ids.entry(name).or_default().push_back(id);
    }

    /// The first call of a tool that has no answer.
    fn first(&mut self, name: &str) -> Option<Cow<'a, str>> {
        let ids = self.ids.get_mut(name)?;
        std::iter::from_fn(|| ids.pop_front()).find(|id| !self.answered.contains(id))
    }
}

pub(in crate::translate) fn read<'a>(body: Json<'a>, stream: bool) -> Result<Request<'a>, Refused> {
    let mut request = Request { stream, stop_name: "generationConfig.stopSequences", ..Request::default() };
    let mut contents = None;
    for (name, value) in body.fields() {
        if value.is_null() {
            continue;
        }
        match &*camel(&name) {
            "contents" => contents = Some(value),
            "systemInstruction" => {
                for part in parts_of(value) {
                    let text = part.get("text").unwrap_or(part);
                    request.system.push(fields::text("systemInstruction", text)?);
                }
            }
            "tools" => {
                for (at, tool) in fields::list("tools", value)?.enumerate() {
                    read_tool(&format!("tools[{at}]"), tool, &mut request)?;
                }
            }
            "toolConfig" => read_tool_config(value, &mut request)?,
            "generationConfig" => read_config(fields::object("generationConfig", value)?, &mut request)?,
            "safetySettings" if value.each().next().is_none() => {}
            "model" | "labels" => {}
            other => request.lost(other.to_owned()),
        }
    }
    let contents = contents.ok_or_else(|| Refused::wrong("contents", "is missing"))?;
    let mut open = Open::default();
    // One content, or text, does for a list of it.
    let list = contents.items();
    let lone = list.is_none().then_some(contents);
    for (at, content) in list.into_iter().flatten().chain(lone).enumerate() {
        read_content(&format!("contents[{at}]"), content, &mut open, &mut request)?;
    }
    Ok(request)
}

/// A field by its name in camelCase.
fn get<'a>(value: Json<'a>, name: &str) -> Option<Json<'a>> {
    value
        .fields()
        .filter(|(key, value)| camel(key) == name && !value.is_null())
        .last()
        .map(|(_, value)| value)
}

/// The parts of a content: a list, one, or text.
fn parts_of<'a>(content: Json<'a>) -> impl Iterator<Item = Json<'a>> {
    let parts = content.get("parts").unwrap_or(content);
    let lone = parts.items().is_none().then_some(parts);
    parts.each().chain(lone)
}

fn read_content<'a>(
    at: &str,
    content: Json<'a>,
    open: &mut Open<'a>,
    request: &mut Request<'a>,
) -> Result<(), Refused> {
    let role = match content.get("role").and_then(Json::text).as_deref() {
        Some("user" | "function" | "tool") | None => Role::User,
        Some("model" | "assistant") => Role::Assistant,
        Some(_) => return Err(Refused::wrong(format!("{at}.role"), "must be user or model")),
    };
    let mut parts = Vec::new();
    for (n, part) in parts_of(content).enumerate() {
        read_part(&format!("{at}.parts[{n}]"), part, open, &mut parts, request)?;
    }
    request.push(role, parts);
    Ok(())
}

fn read_part<'a>(
    at: &str,
    part: Json<'a>,
    open: &mut Open<'a>,
    parts: &mut Vec<Part<'a>>,
    request: &mut Request<'a>,
) -> Result<(), Refused> {
    request.room(at)?;
    if let Some(text) = part.lit() {
        parts.push(Part::Text(text));
        return Ok(());
    }
    // Thoughts are worth nothing to another provider.
    if part.get("thought").and_then(Json::as_bool) == Some(true) {
        return Ok(());
    }
    for (name, value) in fields::object(at, part)?.fields() {
        if value.is_null() {
            continue;
        }
        let name = camel(&name);
        match &*name {
            "text" => parts.push(Part::Text(fields::text(&format!("{at}.text"), value)?)),
            "inlineData" => {
                let param = format!("{at}.inlineData");
                let data = get(value, "data").ok_or_else(|| Refused::wrong(&*param, "has no data"))?;
                let data = fields::decoded(&param, data)?;
                let media = get(value, "mimeType").and_then(Json::text).unwrap_or_default();
                let kind = kind_of(&media);
                let source = Source::Data { media, data };
                let name = get(value, "displayName").and_then(Json::lit);
                parts.push(Part::Media(Media { kind, source, name, param }));
            }
            "fileData" => {
                let param = format!("{at}.fileData");
                let url = get(value, "fileUri").ok_or_else(|| Refused::wrong(&*param, "has no fileUri"))?;
                let media = get(value, "mimeType").and_then(Json::text);
                let url = fields::decoded(&param, url)?;
                // Google's own files are nobody else's.
                let own =
                    url.starts_with("gs://") || url.starts_with("https://generativelanguage.googleapis.com/");
                let kind = media.as_deref().map_or(MediaKind::Image, kind_of);
                let source = if own { Source::Foreign } else { Source::Url { url, media } };
                parts.push(Part::Media(Media { kind, source, name: None, param }));
            }
            "functionCall" => {
                let param = format!("{at}.functionCall");
                let name = get(value, "name").ok_or_else(|| Refused::wrong(&*param, "has no name"))?;
                let name = fields::decoded(&param, name)?;
                let id = get(value, "id").and_then(Json::text).filter(|id| !id.is_empty());
                let id = id.unwrap_or_else(|| Cow::Owned(format!("call_{at}").replace(['[', ']', '.'], "_")));
                let arguments = match get(value, "args") {
                    Some(args) => fields::object(&param, args)?.raw(),
                    None => "{}",
                };
                open.call(id.clone(), name.clone());
                parts.push(Part::Call(Call { id, name, arguments: Cow::Borrowed(arguments) }));
            }
            "functionResponse" => parts.push(Part::Result(read_response(at, value, open)?)),
            "thoughtSignature" | "thought" | "videoMetadata" | "mediaResolution" => {}
            other => request.lost(format!("{at}.{other}")),
        }
    }
    Ok(())
}

fn kind_of(media: &str) -> MediaKind {
    match media.split('/').next() {
        Some("image") => MediaKind::Image,
        Some("audio") => MediaKind::Audio,
        Some("video") => MediaKind::Video,
        _ => MediaKind::File,
    }
}

fn read_response<'a>(at: &str, value: Json<'a>, open: &mut Open<'a>) -> Result<ToolResult<'a>, Refused> {
    let param = format!("{at}.functionResponse");
    let name = get(value, "name").ok_or_else(|| Refused::wrong(&*param, "has no name"))?;
    let name = fields::decoded(&param, name)?;
    let id = get(value, "id").and_then(Json::text).filter(|id| !id.is_empty());
    let id = match id {
        Some(id) => {
            open.answered.insert(id.clone());
            id
        }
        // Without an id it answers the first call of that name that has no answer.
        None => open.first(&name).ok_or_else(|| Refused::wrong(&*param, "answers no call"))?,
    };
    let response = get(value, "response");
    // The words in it, where it holds nothing else.
    let mut fields = response.into_iter().flat_map(Json::fields);
    let only = fields.next().filter(|_| fields.next().is_none());
    let words = only.and_then(|(key, value)| {
        let is_error = match &*key {
            "result" | "output" => false,
            "error" => true,
            _ => return None,
        };
        Some((value.lit()?, is_error))
    });
    let (parts, object, is_error) = match words {
        Some((text, is_error)) => (vec![Part::Text(text)], None, is_error),
        None => (Vec::new(), response, false),
    };
    Ok(ToolResult { id, name: Some(name), parts, object, is_error })
}

fn read_tool<'a>(at: &str, tool: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    for (name, value) in fields::object(at, tool)?.fields() {
        match &*camel(&name) {
            _ if value.is_null() => {}
            "functionDeclarations" => {
                for (n, function) in fields::list(at, value)?.enumerate() {
                    request.room("tools")?;
                    let at = format!("{at}.functionDeclarations[{n}]");
                    let name = function.get("name").and_then(Json::lit);
                    let schema = match (get(function, "parametersJsonSchema"), get(function, "parameters")) {
                        (Some(schema), _) => Some(Cow::Borrowed(fields::object(&at, schema)?.raw())),
                        (None, Some(schema)) => Some(Cow::Owned(json_schema(fields::object(&at, schema)?))),
                        (None, None) => None,
                    };
                    request.tools.push(Tool {
                        name: name.ok_or_else(|| Refused::wrong(format!("{at}.name"), "is missing"))?,
                        description: function.get("description").and_then(Json::lit),
                        schema,
                        strict: None,
                        mark: false,
                    });
                }
            }
            other => request.lost(format!("{at}.{other}")),
        }
    }
    Ok(())
}

fn read_tool_config<'a>(config: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    for (name, value) in fields::object("toolConfig", config)?.fields() {
        match &*camel(&name) {
            _ if value.is_null() => {}
            "functionCallingConfig" => {
                let mut names = Vec::new();
                for name in get(value, "allowedFunctionNames").into_iter().flat_map(Json::each) {
                    names.push(fields::decoded(
                        "toolConfig.functionCallingConfig.allowedFunctionNames",
                        name,
                    )?);
                }
                let mode = get(value, "mode").and_then(Json::text).map(|mode| mode.to_ascii_uppercase());
                request.choice_name = "toolConfig.functionCallingConfig";
                request.choice = match (mode.as_deref(), names.len()) {
                    (Some("NONE"), _) => Some(Choice::None),
                    (Some("ANY"), 0) => Some(Choice::Any),
                    (Some("ANY"), 1) => names.pop().map(Choice::Tool),
                    (Some("ANY"), _) => Some(Choice::Among { names, must: true }),
                    (Some("VALIDATED"), 1..) => Some(Choice::Among { names, must: false }),
                    (Some("AUTO" | "VALIDATED"), _) => Some(Choice::Auto),
                    _ => None,
                };
            }
            other => request.lost(format!("toolConfig.{other}")),
        }
    }
    Ok(())
}
