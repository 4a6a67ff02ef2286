//! Tools: what the model may call, and what it called.

use serde::{Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Value, json};
use std::fmt;

/// A function that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool(Value);

impl Tool {
    /// A function: its name, what it is for, and the JSON Schema of its arguments.
    pub fn function(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        let (name, description) = (name.into(), description.into());
        Self(json!({
            "type": "function",
            "function": {"name": name, "description": description, "parameters": parameters},
        }))
    }

    /// Whether arguments must follow the schema to the letter, where the provider can see to that.
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        if let Some(Value::Object(function)) = self.0.get_mut("function") {
            function.insert("strict".to_owned(), strict.into());
        }
        self
    }

    /// Any other tool, as it stands on the wire.
    pub fn json(tool: Value) -> Self {
        Self(tool)
    }
}

impl Serialize for Tool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Whether the model calls tools.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// No.
    None,
    /// At least one.
    Required,
    /// The function of this name.
    Function(String),
}

impl Serialize for ToolChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ToolChoice::Auto => serializer.serialize_str("auto"),
            ToolChoice::None => serializer.serialize_str("none"),
            ToolChoice::Required => serializer.serialize_str("required"),
            ToolChoice::Function(name) => {
                json!({"type": "function", "function": {"name": name}}).serialize(serializer)
            }
        }
    }
}

/// A function that the model calls. `Debug` does not show the arguments.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// By which the result is sent back; see [`Message::tool_result`](super::Message::tool_result).
    pub id: String,
    /// The function's name.
    pub name: String,
    /// Its arguments as the model wrote them: JSON, as a rule. In a partial answer they may be cut anywhere.
    pub arguments: String,
}

impl ToolCall {
    /// A call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    /// The arguments, read. No arguments at all count as `{}`.
    ///
    /// # Errors
    /// Where the model wrote something else.
    pub fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        let text = self.arguments.trim();
        serde_json::from_str(if text.is_empty() { "{}" } else { text })
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("bytes", &self.arguments.len())
            .finish()
    }
}

impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Call<'a> {
            id: &'a str,
            r#type: &'static str,
            function: Function<'a>,
        }
        #[derive(Serialize)]
        struct Function<'a> {
            name: &'a str,
            arguments: &'a str,
        }
        let function = Function { name: &self.name, arguments: &self.arguments };
        Call { id: &self.id, r#type: "function", function }.serialize(serializer)
    }
}
