//! What a call asks of a model, read from its body.

use super::{
    super::fields::{Fields, is_filled},
    tokens,
};
use crate::{body::RequestBody, dialect::Dialect, peek::Call};

/// What a call asks of a model; for each the field that asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Needs {
    pub(super) tools: Option<&'static str>,
    pub(super) vision: Option<&'static str>,
    pub(super) json_schema: Option<&'static str>,
    pub(super) prefill: Option<&'static str>,
    /// At least so many tokens, in this field for the most part.
    pub(super) tokens: Option<(u64, &'static str)>,
}

impl Needs {
    /// Reads them. A body that cannot be read asks for nothing: what is wrong with it others will say.
    pub(in super::super) fn of(call: &Call, body: &RequestBody) -> Self {
        let body = body.to_bytes();
        let Some(fields) = Fields::parse(&body) else { return Self::default() };
        match call.dialect {
            Dialect::ChatCompletions => chat(&fields),
            Dialect::Messages => messages(&fields),
            Dialect::Responses => responses(&fields),
            Dialect::Gemini => gemini(&fields),
            // Embeddings and old completions take several texts at once, of which each may be as long as the context.
            _ => Self::default(),
        }
    }
}

fn chat(fields: &Fields<'_>) -> Needs {
    let schema = fields.object("response_format").is_some_and(|format| format.text("type") == "json_schema");
    let all = list(fields, "messages");
    Needs {
        tools: first_filled(fields, &["tools", "functions"]),
        vision: all.iter().any(has_image).then_some("messages"),
        json_schema: schema.then_some("response_format"),
        prefill: ends_with(&all, "assistant").then_some("messages"),
        tokens: length(fields, &["messages", "tools", "functions"]),
    }
}

fn messages(fields: &Fields<'_>) -> Needs {
    let config = fields.object("output_config");
    let config = config.is_some_and(|config| config.raw("format").is_some_and(is_filled));
    let all = list(fields, "messages");
    Needs {
        tools: first_filled(fields, &["tools"]),
        vision: all.iter().any(has_image).then_some("messages"),
        json_schema: config.then_some("output_config").or(first_filled(fields, &["output_format"])),
        prefill: ends_with(&all, "assistant").then_some("messages"),
        tokens: length(fields, &["messages", "system", "tools"]),
    }
}

fn responses(fields: &Fields<'_>) -> Needs {
    let text = fields.object("text");
    let format = text.as_ref().and_then(|text| text.object("format"));
    let schema = format.is_some_and(|format| format.text("type") == "json_schema");
    let all = list(fields, "input");
    Needs {
        tools: first_filled(fields, &["tools"]),
        vision: all.iter().any(has_image).then_some("input"),
        json_schema: schema.then_some("text"),
        prefill: ends_with(&all, "assistant").then_some("input"),
        tokens: length(fields, &["input", "instructions", "tools"]),
    }
}

/// Its SDKs mix snake_case into camelCase.
fn gemini(fields: &Fields<'_>) -> Needs {
    const SCHEMAS: [&str; 4] =
        ["responseSchema", "response_schema", "responseJsonSchema", "response_json_schema"];
    let config = fields.object("generationConfig").or_else(|| fields.object("generation_config"));
    let schema = config.is_some_and(|config| first_filled(&config, &SCHEMAS).is_some());
    let all = list(fields, "contents");
    let image = |part: &Fields<'_>| {
        let data = ["inlineData", "inline_data", "fileData", "file_data"];
        let data = data.into_iter().find_map(|key| part.object(key));
        data.is_some_and(|data| {
            [data.text("mimeType"), data.text("mime_type")].iter().any(|kind| kind.starts_with("image/"))
        })
    };
    Needs {
        tools: first_filled(fields, &["tools"]),
        vision: all.iter().any(|content| list(content, "parts").iter().any(image)).then_some("contents"),
        json_schema: schema.then_some("generationConfig"),
        prefill: ends_with(&all, "model").then_some("contents"),
        tokens: length(fields, &["contents", "systemInstruction", "system_instruction", "tools"]),
    }
}

/// The objects behind `key`; none where it is no list of such.
fn list<'f>(fields: &'f Fields<'_>, key: &str) -> Vec<Fields<'f>> {
    fields.read(key).unwrap_or_default()
}

fn first_filled(fields: &Fields<'_>, keys: &[&'static str]) -> Option<&'static str> {
    keys.iter().copied().find(|key| fields.raw(key).is_some_and(is_filled))
}

/// Whether a message has a picture among its parts, or among those of a tool's result.
fn has_image(message: &Fields<'_>) -> bool {
    let is_image = |part: &Fields<'_>| matches!(&*part.text("type"), "image_url" | "input_image" | "image");
    ["content", "output"].into_iter().any(|key| {
        let parts = list(message, key);
        parts.iter().any(|part| is_image(part) || list(part, "content").iter().any(is_image))
    })
}

fn ends_with(messages: &[Fields<'_>], role: &str) -> bool {
    messages.last().is_some_and(|last| last.text("role") == role)
}

/// The tokens of these fields, which name the first of them; `None` where the provider is asked to shorten what is too long.
fn length(fields: &Fields<'_>, keys: &[&'static str]) -> Option<(u64, &'static str)> {
    let shortened = fields.raw("transforms").is_some_and(is_filled)
        || fields.raw("truncation").is_some_and(|how| is_filled(how) && how != "\"disabled\"");
    if shortened {
        return None;
    }
    let all = keys.iter().filter_map(|key| fields.raw(key)).map(tokens::at_least).sum();
    Some((all, keys.first().copied()?))
}
