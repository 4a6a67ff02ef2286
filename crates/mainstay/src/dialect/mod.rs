//! What the bytes of a reply mean, in each of the dialects that LLM APIs speak.
//!
//! [`Dialect`] is the API that a path belongs to. [`StreamReader`] reads a stream event by event: what is content, what
//! is an error, and whether the answer is whole. [`read_whole`] does the same for a reply that is no stream.
//! [`render_error`] and its sisters write errors as the callers of each dialect expect them.
//!
//! Nothing here decides what to do about a reply; that is the judge's. Nothing is translated from one dialect to
//! another. JSON is read where it lies: no tree is built, and nesting of any depth is skipped without recursion.
//!
//! The shapes are those of the providers' own documentation and SDKs: OpenAI's `chat.completion.chunk` and Responses
//! events, Anthropic's Messages events, Gemini's `GenerateContentResponse`, and what OpenAI-compatible servers
//! (OpenRouter, DeepSeek, Groq, vLLM, llama.cpp, ...) make of the first.
//!
//! ```
//! use mainstay::dialect::{Dialect, Meaning, StreamReader};
//! use mainstay::sse::Event;
//!
//! let mut reader = StreamReader::new(Dialect::of_path("/v1/chat/completions"));
//! let mut read = |data: &'static str| reader.read(&Event::new("", data));
//! assert_eq!(read(r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#), Meaning::Preamble);
//! assert_eq!(read(r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#), Meaning::Content);
//! assert_eq!(read(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#), Meaning::Finish { content: false });
//! assert!(reader.is_complete());
//! ```

mod alike;
mod chat;
mod failure;
mod finish;
mod gemini;
mod messages;
mod others;
mod path;
mod reader;
mod render;
mod responses;
mod seen;
mod splice;
mod usage;
mod whole;

#[cfg(test)]
mod tests;

pub use self::failure::Failure;
pub use self::finish::Finish;
pub(crate) use self::messages::type_of;
pub use self::path::{Dialect, ErrorFamily};
pub use self::reader::{Meaning, StreamReader};
pub use self::render::{Attempt, ErrorBody, keepalive, render_error, render_stream_error, stream_end};
pub use self::splice::with_attempts;
pub use self::usage::Usage;
pub use self::whole::{Answer, Whole, read_whole};
