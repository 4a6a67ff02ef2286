//! Ready-made answers, streams and errors, as the providers send them.
//!
//! What ends in `_chunks` or `_events` is a stream: one server-sent event an item, to hand to
//! [`Step::sse`](crate::Step::sse); `_lines` are lines of JSON for [`Step::ndjson`](crate::Step::ndjson), `_messages` an AWS
//! event stream for [`Step::event_stream`](crate::Step::event_stream). The rest is a JSON body, to hand to [`Step::json`](crate::Step::json). Ids and
//! times are fixed, so that two runs compare equal. The official SDKs read all of them without complaint.
//!
//! ```
//! use mainstay_testkit::bodies;
//!
//! assert_eq!(bodies::openai_chat("hello")["choices"][0]["message"]["content"], "hello");
//! assert_eq!(bodies::openai_chunks(["hel", "lo"]).last().unwrap(), "data: [DONE]\n\n");
//! ```

mod anthropic;
mod cohere;
mod converse;
mod ollama;
mod openai;
mod responses;

pub use anthropic::{
    anthropic_error, anthropic_events, anthropic_events_as, anthropic_message, anthropic_message_as,
    anthropic_models, anthropic_tool_events, anthropic_tool_use,
};
pub use cohere::{cohere_chat, cohere_error, cohere_events, cohere_tool_call, cohere_tool_events};
pub use converse::{
    aws_message, converse, converse_exception, converse_messages, converse_tool_messages, converse_tool_use,
};
pub use ollama::{ollama_chat, ollama_error, ollama_lines, ollama_tool_call};
pub use openai::{
    openai_chat, openai_chat_as, openai_chunks, openai_chunks_as, openai_completion,
    openai_completion_chunks, openai_embeddings, openai_embeddings_base64, openai_error, openai_models,
    openai_tool_call, openai_tool_chunks,
};
pub use responses::{openai_response, openai_response_as, openai_response_events, openai_response_events_as};

use serde_json::Value;

/// The model that bodies name where the caller gave none.
pub const MODEL: &str = "scripted-1";

/// When everything here was made: 2026-01-01T00:00:00Z, in seconds since 1970.
pub const CREATED: u64 = 1_767_225_600;

/// One server-sent event without a name: `data: ...` and an empty line.
pub fn event(data: impl std::fmt::Display) -> String {
    format!("data: {data}\n\n")
}

/// One server-sent event with a name, as Anthropic and the Responses API send them.
pub fn named_event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// Words instead of tokens: near enough for a usage that is never billed.
fn tokens(text: &str) -> usize {
    text.split_whitespace().count().max(1)
}
