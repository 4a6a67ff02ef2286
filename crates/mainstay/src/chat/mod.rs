//! A small typed client over any stack of layers, fallback or router.
//!
//! [`Chat`] writes OpenAI's chat completions and reads what comes back: an answer, a [stream](Chat::stream) of typed
//! events, [embeddings](Chat::embed). Whatever it stands on does the rest: retries, circuits, clocks, and the
//! [translation](crate::translate) for providers that speak another API. Beside the typed fields every request
//! [takes any other](ChatRequest::with), and every answer [shows the reply as it came](ChatResponse::raw).
//!
//! It is for programs that ask models. It is not for passing requests on, which must stay byte for byte as they came; and it
//! keeps no conversation: the next request is made of the last one and [`ChatResponse::to_message`].
//!
//! One answer is read, the first, whatever `n` asks for. Replies and answers are at most 64 MiB unless
//! [set otherwise](Chat::with_max_reply), events of a stream 8 MiB.
//!
//! With the feature `client`, `stack::Provider` makes the stack, so that all of it is three lines:
//!
//! ```no_run
//! # #[cfg(feature = "client")]
//! # async fn example() -> Result<(), mainstay::BoxError> {
//! use mainstay::chat::{Chat, ChatRequest};
//!
//! let chat = Chat::openai_from_env()?;
//! let answer = chat.complete(&ChatRequest::new("gpt-5").user("What keeps a mast up?")).await?;
//! println!("{}", answer.text());
//! # Ok(()) }
//! ```
//!
//! # Over any service
//!
//! Here over a scripted one, so that it runs without a network:
//!
//! ```
//! use mainstay::chat::{Chat, ChatRequest, Finish};
//! use mainstay_testkit::{bodies, memory::{Reply, ScriptedService}};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), mainstay::BoxError> {
//! let provider = ScriptedService::new([Reply::json(200, &bodies::openai_chat("The mainstay."))]);
//! let chat = Chat::new(provider);
//!
//! let request = ChatRequest::new("gpt-5").system("Answer briefly.").user("What keeps a mast up?");
//! let answer = chat.complete(&request).await?;
//! assert_eq!(answer.text(), "The mainstay.");
//! assert_eq!(answer.finish(), Some(Finish::Stop));
//!
//! let next = request.message(answer.to_message()).user("And what keeps that up?");
//! assert_eq!(next.messages().len(), 4);
//! # Ok(()) }
//! ```
//!
//! # Streams that fail
//!
//! ```
//! use mainstay::chat::{Chat, ChatEvent, ChatRequest};
//! use mainstay_testkit::{bodies, memory::{FaultBody, Reply, ScriptedService}};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), mainstay::BoxError> {
//! // Two words, and then the connection is reset.
//! let words = bodies::openai_chunks(["The ", "main"]).into_iter().take(3);
//! let chat = Chat::new(ScriptedService::new([Reply::sse(words, FaultBody::new().fail("reset"))]));
//!
//! let mut stream = chat.stream(&ChatRequest::new("gpt-5").user("What keeps a mast up?")).await?;
//! loop {
//!     match stream.next().await {
//!         Some(Ok(ChatEvent::Text(piece))) => print!("{piece}"),
//!         Some(Ok(_)) => {}
//!         Some(Err(error)) => {
//!             assert_eq!(error.partial().unwrap().text, "The main");
//!             assert!(error.verdict().committed);
//!             break;
//!         }
//!         None => unreachable!("a stream that was cut does not just end"),
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! # Tools
//!
//! ```
//! use mainstay::chat::{Chat, ChatRequest, Tool};
//! use mainstay_testkit::{bodies, memory::{Reply, ScriptedService}};
//! use serde_json::json;
//!
//! #[derive(serde::Deserialize)]
//! struct Place { city: String }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), mainstay::BoxError> {
//! let chat = Chat::new(ScriptedService::new([
//!     Reply::json(200, &bodies::openai_tool_call("call_1", "weather", r#"{"city": "Oslo"}"#)),
//!     Reply::json(200, &bodies::openai_chat("It rains in Oslo.")),
//! ]));
//! let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
//! let mut request = ChatRequest::new("gpt-5")
//!     .tool(Tool::function("weather", "The weather in a city", schema))
//!     .user("What is the weather in Oslo?");
//!
//! let text = loop {
//!     let answer = chat.complete(&request).await?;
//!     if answer.tool_calls().is_empty() {
//!         break answer.text().to_owned();
//!     }
//!     request = request.message(answer.to_message());
//!     for call in answer.tool_calls() {
//!         let place: Place = call.parse()?;
//!         request = request.tool_result(&call.id, format!("rain in {}", place.city));
//!     }
//! };
//! assert_eq!(text, "It rains in Oslo.");
//! # Ok(()) }
//! ```

mod answer;
mod client;
mod delta;
mod embed;
mod error;
mod event;
mod message;
mod reply;
mod request;
mod stream;
mod tool;

#[cfg(test)]
mod tests;

pub use self::answer::{Answer, ChatResponse};
pub use self::client::Chat;
pub use self::embed::{EmbedRequest, Embeddings};
pub use self::error::{ChatError, ErrorReply};
pub use self::event::ChatEvent;
pub use self::message::{Message, Part, Role};
pub use self::request::ChatRequest;
pub use self::stream::ChatStream;
pub use self::tool::{Tool, ToolCall, ToolChoice};
pub use crate::dialect::{Finish, Usage};
