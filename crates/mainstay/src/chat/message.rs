//! What was said so far.

use super::ToolCall;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, json};
use std::fmt;

/// Who says a [`Message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// Whoever runs the conversation.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool that the model called.
    Tool,
}

impl Role {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// One message of a conversation. `Debug` shows who says it and how much, not what: requests end up in logs.
#[derive(Clone, PartialEq)]
pub struct Message {
    role: Role,
    content: Content,
    tool_calls: Vec<ToolCall>,
    tool_call_id: Option<String>,
    extra: Map<String, Value>,
}

#[derive(Clone, PartialEq)]
enum Content {
    None,
    Text(String),
    Parts(Vec<Part>),
}

impl Message {
    /// Instructions.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, Content::Text(text.into()))
    }

    /// What the person says.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, Content::Text(text.into()))
    }

    /// What the person says and shows.
    pub fn user_parts(parts: impl IntoIterator<Item = Part>) -> Self {
        Self::new(Role::User, Content::Parts(parts.into_iter().collect()))
    }

    /// What the model said before. [`ChatResponse::to_message`](super::ChatResponse::to_message) gives it ready-made.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, Content::Text(text.into()))
    }

    /// The tools that the model called, after an answer that ended with [`Finish::ToolCalls`](super::Finish::ToolCalls).
    pub fn tool_calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self { tool_calls: calls.into_iter().collect(), ..Self::new(Role::Assistant, Content::None) }
    }

    /// What a tool gave back; `call` is the id of its [`ToolCall`].
    pub fn tool_result(call: impl Into<String>, result: impl Into<String>) -> Self {
        let message = Self::new(Role::Tool, Content::Text(result.into()));
        Self { tool_call_id: Some(call.into()), ..message }
    }

    fn new(role: Role, content: Content) -> Self {
        Self { role, content, tool_calls: Vec::new(), tool_call_id: None, extra: Map::new() }
    }

    /// Adds tool calls.
    #[must_use]
    pub fn with_tool_calls(mut self, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        self.tool_calls.extend(calls);
        self
    }

    /// Adds a field of which nothing is known here, such as `name` or `cache_control`.
    #[must_use]
    pub fn with(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(field.into(), value.into());
        self
    }

    /// Who says it.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Its text, where it is text alone.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            Content::None | Content::Parts(_) => None,
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Message");
        shown.field("role", &self.role);
        match &self.content {
            Content::None => &mut shown,
            Content::Text(text) => shown.field("bytes", &text.len()),
            Content::Parts(parts) => shown.field("parts", &parts.len()),
        };
        shown.field("tool_calls", &self.tool_calls.len()).finish_non_exhaustive()
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let own = |field: &str| !self.extra.contains_key(field);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", self.role.as_str())?;
        match &self.content {
            _ if !own("content") => {}
            Content::None => map.serialize_entry("content", &())?,
            Content::Text(text) => map.serialize_entry("content", text)?,
            Content::Parts(parts) => map.serialize_entry("content", parts)?,
        }
        if !self.tool_calls.is_empty() && own("tool_calls") {
            map.serialize_entry("tool_calls", &self.tool_calls)?;
        }
        if let (Some(id), true) = (&self.tool_call_id, own("tool_call_id")) {
            map.serialize_entry("tool_call_id", id)?;
        }
        for (field, value) in self.extra.iter().filter(|(field, _)| *field != "role") {
            map.serialize_entry(field, value)?;
        }
        map.end()
    }
}

/// A part of a message that is more than text. `Debug` shows its type alone.
#[derive(Clone, PartialEq)]
pub struct Part(Value);

impl Part {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self(json!({"type": "text", "text": text.into()}))
    }

    /// An image: where it is, or itself as `data:image/png;base64,...`.
    pub fn image_url(url: impl Into<String>) -> Self {
        Self(json!({"type": "image_url", "image_url": {"url": url.into()}}))
    }

    /// Any other part, as it stands on the wire.
    pub fn json(part: Value) -> Self {
        Self(part)
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.0.get("type").and_then(Value::as_str).unwrap_or("?");
        f.debug_tuple("Part").field(&kind).finish()
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}
