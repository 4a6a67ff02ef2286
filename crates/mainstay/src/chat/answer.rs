//! What the model said: a whole answer, or what there is of one.

use super::{Finish, Message, ToolCall, Usage};
use crate::route::{AttemptLog, Served};
use http::Extensions;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;

/// What has been said of an answer. While its stream goes on, and after that was cut, it may end anywhere, tool calls
/// included. `Debug` shows how much there is, not what.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The provider's id for it.
    pub id: Option<String>,
    /// The model that answers, as the provider names it.
    pub model: Option<String>,
    /// The text.
    pub text: String,
    /// What the model thought, where the provider shows that.
    pub reasoning: String,
    /// Why the model does not answer, where it says so apart from the text.
    pub refusal: String,
    /// The tools that it calls.
    pub tool_calls: Vec<ToolCall>,
    /// The tokens, as far as they were told.
    pub usage: Usage,
}

impl Answer {
    /// Whether nothing has been said.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
            && self.reasoning.is_empty()
            && self.refusal.is_empty()
            && self.tool_calls.is_empty()
    }

    /// It as a message, for the next request of the conversation.
    pub fn to_message(&self) -> Message {
        if self.text.is_empty() && !self.tool_calls.is_empty() {
            return Message::tool_calls(self.tool_calls.iter().cloned());
        }
        Message::assistant(self.text.clone()).with_tool_calls(self.tool_calls.iter().cloned())
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("model", &self.model)
            .field("text_bytes", &self.text.len())
            .field("reasoning_bytes", &self.reasoning.len())
            .field("tool_calls", &self.tool_calls.len())
            .field("usage", &self.usage)
            .finish_non_exhaustive()
    }
}

/// A whole answer.
#[derive(Clone)]
pub struct ChatResponse {
    pub(super) answer: Answer,
    pub(super) finish: Option<Finish>,
    pub(super) raw: Value,
    pub(super) origin: Origin,
}

/// Who answered, as far as the layers tell.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    served: Option<Served>,
    log: AttemptLog,
}

impl Origin {
    pub(super) fn new(log: AttemptLog, reply: &Extensions) -> Self {
        Self { served: reply.get::<Served>().cloned(), log }
    }

    pub(super) fn log(&self) -> &AttemptLog {
        &self.log
    }
}

impl ChatResponse {
    /// The text.
    pub fn text(&self) -> &str {
        &self.answer.text
    }

    /// What the model thought, where the provider shows that; else empty.
    pub fn reasoning(&self) -> &str {
        &self.answer.reasoning
    }

    /// The tools that the model calls.
    pub fn tool_calls(&self) -> &[ToolCall] {
        &self.answer.tool_calls
    }

    /// Why the answer ended, if that was said. [`Finish::Length`] is a text that was cut by a limit of tokens.
    pub fn finish(&self) -> Option<Finish> {
        self.finish
    }

    /// The tokens.
    pub fn usage(&self) -> Usage {
        self.answer.usage
    }

    /// All of it.
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// All of it.
    pub fn into_answer(self) -> Answer {
        self.answer
    }

    /// It as a message, for the next request of the conversation.
    pub fn to_message(&self) -> Message {
        self.answer.to_message()
    }

    /// The text as JSON, read; see [`ChatRequest::with_json_schema`](super::ChatRequest::with_json_schema).
    ///
    /// # Errors
    /// Where it is something else, such as JSON that was cut by the limit of tokens.
    pub fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(&self.answer.text)
    }

    /// The reply as it came, in the form of OpenAI's chat completions; null if it came as a stream.
    pub fn raw(&self) -> &Value {
        &self.raw
    }

    /// Who answered, where a router or a fallback chose.
    pub fn served(&self) -> Option<&Served> {
        self.origin.served.as_ref()
    }

    /// How many tries it took, where an [`AttemptLayer`](crate::route::AttemptLayer) below counted them.
    pub fn tries(&self) -> Option<u32> {
        let counted =
            self.origin.served.as_ref().map_or_else(|| self.origin.log.tries(), |served| served.tries);
        (counted > 0).then_some(counted)
    }
}

impl fmt::Debug for ChatResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatResponse")
            .field("answer", &self.answer)
            .field("finish", &self.finish)
            .finish_non_exhaustive()
    }
}
