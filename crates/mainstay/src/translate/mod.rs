//! Any caller's dialect to any provider's: requests one way, replies, streams and errors the other.
//!
//! A [`TranslateLayer`] stands outermost in the stack of one target and knows which API its provider speaks. A call in
//! that API's own dialect passes untouched. Another one is read, written anew for the provider, and its reply is written
//! back as the caller's SDK expects it. Judge, retry and breaker below see the provider's dialect only.
//!
//! Read and written are OpenAI's chat completions and Responses, Anthropic's Messages and Gemini's `generateContent`, each to
//! each, whole and in streams. Ollama's own `/api/chat`, Cohere's `/v2/chat` and Bedrock's `Converse` are targets only: requests
//! are written for them and their answers read. A provider of OpenAI's family is asked for chat completions; those that have
//! Responses too get such calls untouched.
//!
//! Any other endpoint is one that the target does not have: [`Untranslatable`] with the code `unsupported_by_target`.
//!
//! **What cannot be carried is refused** before anything is sent, with an [`Untranslatable`] that names the caller's field
//! and the target: sampling that the target does not know, more answers than one, other providers' tools and files, fields
//! of which nothing is known here. [`lenient`](TranslateLayer::lenient), or [`Lenient`] on a call, drops it instead and lists it in the reply's
//! `x-mainstay-dropped`. Dropped in silence is only what has no bearing on the answer or no meaning elsewhere: cache marks,
//! metadata, service tiers, thoughts of earlier turns and their signatures, the sources of earlier answers. Marks of Anthropic's
//! callers for the cache reach Bedrock, whose models have the same one.
//!
//! **Sources** are carried where both dialects name web pages: `url_citation`s of chat completions and Responses, either way;
//! `groundingMetadata` of Gemini, either way, its bytes turned into characters and back; to both from the blocks of Messages and
//! Converse that are cited from the web, and from `citationMetadata` of Gemini. Of an answer there are at most 1,000, of 8 KiB each
//! and 1 MiB together; the rest is left out. What is cited lies within the text: a place beyond it is cut, and one that is
//! none (negative, the wrong way round, of a type that it must not be) is told as none. OpenAI's types demand a place; a page
//! without one has `0..0`, which marks no word. In a stream Responses tell them as they come, chat completions in one chunk
//! before the reason for the end, since SDKs that put chunks together keep one list, and Gemini in its last event.
//!
//! Not carried: sources that are no web pages but files of OpenAI's, documents of the request or results of tools, which are named
//! by what only their provider has (so all of Cohere's). And none for callers of Messages: Anthropic's type demands an
//! `encrypted_index` that only Anthropic can write, and refuses the next turn of a conversation that holds a made-up one.
//!
//! **Streams** are translated event by event, as they come. Blocks that a dialect wants one after the other are made so;
//! tool calls that grow side by side are held back as far as that takes, at most 8 MiB. A stream that is cut stays cut: no
//! block is closed and no reason given that the provider did not give. An event that is no JSON ends the stream as malformed.
//! An error event of the provider's stays a [`ReplyError::Provider`](crate::judge::ReplyError::Provider), in the caller's
//! dialect.
//!
//! **Costs.** A request is read where it lies and written once. Nesting is bounded to 128 levels; half a surrogate pair, which
//! no parser agrees on, is refused.
//!
//! Sources: the OpenAPI description of OpenAI's API, the types of Anthropic's SDKs and both makers' pages on streaming.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::{BodyExt, Full};
//! use mainstay::{body::RequestBody, peek::{Call, peek}, provider::Kind, translate::TranslateLayer};
//! use tower::{Layer, ServiceExt, service_fn};
//!
//! # tokio_test::block_on(async {
//! // A provider that speaks Anthropic's Messages.
//! let provider = service_fn(|request: Request<RequestBody>| async move {
//!     assert_eq!(request.uri().path(), "/v1/messages");
//!     let answer = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-9",
//!         "content":[{"type":"text","text":"Hello!"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}"#;
//!     Ok::<_, std::convert::Infallible>(Response::new(Full::new(Bytes::from(answer))))
//! });
//! // A caller that speaks OpenAI's chat completions.
//! let body = Bytes::from(r#"{"model":"claude-9","messages":[{"role":"user","content":"Hi"}]}"#);
//! let call = Call::new("/v1/chat/completions", peek(&body).unwrap());
//! let request = call.into_request(Request::post("/v1/chat/completions").body(()).unwrap(), body);
//!
//! let reply = TranslateLayer::new(Kind::Anthropic).layer(provider).oneshot(request).await.unwrap();
//! let reply = reply.into_body().collect().await.unwrap().to_bytes();
//! let reply: serde_json::Value = serde_json::from_slice(&reply).unwrap();
//! assert_eq!(reply["choices"][0]["message"]["content"], "Hello!");
//! assert_eq!(reply["usage"]["total_tokens"], 5);
//! # });
//! ```

mod balance;
mod body;
mod chat;
mod citation;
mod citations;
mod cohere;
mod converse;
mod error;
mod event;
mod fields;
mod form;
mod future;
mod gemini;
mod json;
mod layer;
mod measure;
mod messages;
mod ollama;
mod out;
mod parts;
mod reply;
mod request;
mod responses;
mod service;
mod stream;
mod target;
#[cfg(test)]
mod tests;

pub use self::body::TranslateBody;
pub use self::error::Untranslatable;
pub use self::future::ResponseFuture;
pub use self::layer::{Lenient, TranslateLayer};
pub use self::service::Translate;

use crate::dialect::Dialect;

/// A dialect that callers speak: its requests are read here, its answers written, and both the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Api {
    Chat,
    Messages,
    Gemini,
    Responses,
}

impl Api {
    fn of(dialect: Dialect) -> Option<Self> {
        Some(match dialect {
            Dialect::ChatCompletions => Api::Chat,
            Dialect::Messages => Api::Messages,
            Dialect::Gemini => Api::Gemini,
            Dialect::Responses => Api::Responses,
            _ => return None,
        })
    }

    fn dialect(self) -> Dialect {
        TargetApi::from(self).dialect()
    }
}

/// A dialect that a provider is asked in: its requests are written here and its answers read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetApi {
    Chat,
    Messages,
    Gemini,
    Responses,
    Ollama,
    Cohere,
    Converse,
}

impl TargetApi {
    fn dialect(self) -> Dialect {
        match self {
            TargetApi::Chat => Dialect::ChatCompletions,
            TargetApi::Messages => Dialect::Messages,
            TargetApi::Gemini => Dialect::Gemini,
            TargetApi::Responses => Dialect::Responses,
            TargetApi::Ollama => Dialect::Ollama,
            TargetApi::Cohere => Dialect::Cohere,
            TargetApi::Converse => Dialect::Converse,
        }
    }

    /// Whether it is nobody's but this provider's: no path of it is a caller's too.
    fn is_target_only(self) -> bool {
        Api::of(self.dialect()).is_none()
    }
}

impl From<Api> for TargetApi {
    fn from(api: Api) -> Self {
        match api {
            Api::Chat => TargetApi::Chat,
            Api::Messages => TargetApi::Messages,
            Api::Gemini => TargetApi::Gemini,
            Api::Responses => TargetApi::Responses,
        }
    }
}
