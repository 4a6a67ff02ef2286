//! What is asked.

use super::{Message, Tool, ToolChoice};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, json};
use std::{fmt, time::Duration};

/// A question to a model. What is not set is not sent, and is the provider's default.
///
/// `Debug` shows how much there is and not what: requests end up in logs.
///
/// ```
/// use mainstay::chat::ChatRequest;
///
/// let request = ChatRequest::new("gpt-5")
///     .system("Answer in one word.")
///     .user("Which city is the capital of France?")
///     .with_max_tokens(100)
///     .with("reasoning_effort", "low");
/// assert_eq!(request.model(), "gpt-5");
/// ```
#[derive(Clone, PartialEq)]
pub struct ChatRequest {
    model: String,
    messages: Vec<Message>,
    tools: Vec<Tool>,
    tool_choice: Option<ToolChoice>,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    stop: Vec<String>,
    format: Option<Value>,
    extra: Map<String, Value>,
    pub(super) within: Option<Duration>,
}

impl ChatRequest {
    /// A question to `model`: a provider's name for it, or what a router's routes know.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            messages: Vec::new(),
            tools: Vec::new(),
            tool_choice: None,
            max_tokens: None,
            temperature: None,
            stop: Vec::new(),
            format: None,
            extra: Map::new(),
            within: None,
        }
    }

    /// Adds instructions.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        self.message(Message::system(text))
    }

    /// Adds what the person says.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Message::user(text))
    }

    /// Adds what the model said before.
    #[must_use]
    pub fn assistant(self, text: impl Into<String>) -> Self {
        self.message(Message::assistant(text))
    }

    /// Adds what a tool gave back; `call` is the id of its [`ToolCall`](super::ToolCall).
    #[must_use]
    pub fn tool_result(self, call: impl Into<String>, result: impl Into<String>) -> Self {
        self.message(Message::tool_result(call, result))
    }

    /// Adds a message.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }

    /// Adds messages.
    #[must_use]
    pub fn with_messages(mut self, messages: impl IntoIterator<Item = Message>) -> Self {
        self.messages.extend(messages);
        self
    }

    /// Adds a tool that the model may call.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Whether the model calls tools.
    #[must_use]
    pub fn with_tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    /// The longest answer, in tokens, reasoning included.
    #[must_use]
    pub fn with_max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// How much chance there is in the answer: 0 is the least.
    #[must_use]
    pub fn with_temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Ends the answer before any of these.
    #[must_use]
    pub fn with_stop<T: Into<String>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.stop.extend(words.into_iter().map(Into::into));
        self
    }

    /// An answer of JSON that follows a JSON Schema to the letter; [`ChatResponse::parse`](super::ChatResponse::parse)
    /// reads it. `name` is for the model to see.
    #[must_use]
    pub fn with_json_schema(self, name: impl Into<String>, schema: Value) -> Self {
        let schema = json!({"name": name.into(), "strict": true, "schema": schema});
        self.with_response_format(json!({"type": "json_schema", "json_schema": schema}))
    }

    /// An answer of JSON, whatever is in it.
    #[must_use]
    pub fn with_json_object(self) -> Self {
        self.with_response_format(json!({"type": "json_object"}))
    }

    /// The form of the answer, as it stands on the wire.
    #[must_use]
    pub fn with_response_format(mut self, format: Value) -> Self {
        self.format = Some(format);
        self
    }

    /// Adds a field of which nothing is known here, or replaces one that is. `model`, `messages`, `stream` and
    /// `stream_options` are written here alone.
    #[must_use]
    pub fn with(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(field.into(), value.into());
        self
    }

    /// Adds fields as [`with`](Self::with) does.
    #[must_use]
    pub fn with_extra(mut self, fields: Map<String, Value>) -> Self {
        self.extra.extend(fields);
        self
    }

    /// By when the whole call must be over, the answer included: all layers below know it, and no try begins for which
    /// there is no time.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// The model that is asked.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// What was said so far.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }
}

impl fmt::Debug for ChatRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatRequest")
            .field("model", &self.model)
            .field("messages", &self.messages.len())
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}

/// How requests are written for a kind of provider.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// The limit goes by its new name, `max_completion_tokens`.
    pub(super) completion_tokens: bool,
    /// A stream is asked for its tokens.
    pub(super) stream_usage: bool,
}

/// A request as it goes out.
pub(super) struct Wire<'a> {
    pub(super) request: &'a ChatRequest,
    pub(super) stream: bool,
    pub(super) style: Style,
}

/// Fields that are never the caller's own.
const RESERVED: [&str; 4] = ["model", "messages", "stream", "stream_options"];

impl Serialize for Wire<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.request;
        let own = |field: &str| !request.extra.contains_key(field);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &request.model)?;
        map.serialize_entry("messages", &request.messages)?;
        if !request.tools.is_empty() && own("tools") {
            map.serialize_entry("tools", &request.tools)?;
        }
        if let (Some(choice), true) = (&request.tool_choice, own("tool_choice")) {
            map.serialize_entry("tool_choice", choice)?;
        }
        let limit = if self.style.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
        if let (Some(tokens), true) = (request.max_tokens, own(limit)) {
            map.serialize_entry(limit, &tokens)?;
        }
        if let (Some(temperature), true) = (request.temperature, own("temperature")) {
            map.serialize_entry("temperature", &temperature)?;
        }
        if !request.stop.is_empty() && own("stop") {
            map.serialize_entry("stop", &request.stop)?;
        }
        if let (Some(format), true) = (&request.format, own("response_format")) {
            map.serialize_entry("response_format", format)?;
        }
        for (field, value) in request.extra.iter().filter(|(field, _)| !RESERVED.contains(&field.as_str())) {
            map.serialize_entry(field, value)?;
        }
        if self.stream {
            map.serialize_entry("stream", &true)?;
            if self.style.stream_usage {
                map.serialize_entry("stream_options", &json!({"include_usage": true}))?;
            }
        }
        map.end()
    }
}
