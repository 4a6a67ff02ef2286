//! What is particular to each provider: where it lives, how it takes a key, and what its errors mean.
//!
//! A [`Profile`] is data, one file a provider, with a table of [`Rule`]s that can be read at a glance; what all of them
//! have in common stands in one table (`common.rs`). [`ProviderClassifier`] applies them: it reads the status, the
//! headers and the body of a reply, as far as they were read for it, and gives one
//! [`Verdict`](mainstay_layers::classify::Verdict).
//!
//! It reads no sockets and no streams, and finds no errors in streams: whoever does hands the error's bytes to
//! [`ProviderClassifier::error_object`].
//!
//! # How an error is classed
//!
//! 1. The provider's own table, then the common one: type, code and reasons first, then what the message says.
//! 2. Where neither knows the error, its status (see [`HttpClassifier`](mainstay_layers::classify::HttpClassifier)): an
//!    unknown 4xx is `InvalidRequest`, an unknown 5xx `ServerError`. An error inside a 200 has the status that it names,
//!    or that its type stands for.
//! 3. `x-should-retry` overrides whether the same target is asked again.
//!
//! A bare type such as `server_error` does not outweigh a 4xx status: gateways put it on anything. A 400 is a server's
//! fault where its **code** says so, or where type and message both do.
//!
//! ```
//! use http::{HeaderMap, StatusCode};
//! use mainstay::provider::{Kind, judge_reply};
//! use mainstay_layers::classify::Class;
//!
//! let body = br#"{"error": {"type": "insufficient_quota", "code": null, "message": "You exceeded your current quota"}}"#;
//! let verdict = judge_reply(Kind::OpenAi, StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new(), body);
//! assert_eq!(verdict.class, Class::QuotaExhausted);
//! assert!(!verdict.is_retryable());
//! ```

mod classifier;
mod common;
mod error_body;
mod finish;
mod kind;
mod profile;
mod reply;
mod rules;

mod anthropic;
mod azure_openai;
mod bedrock;
mod bedrock_converse;
mod cohere;
mod cohere_v2;
mod deepseek;
mod fireworks;
mod gemini;
mod groq;
mod llama_cpp;
mod lm_studio;
mod mistral;
mod ollama;
mod ollama_native;
mod openai;
mod openai_responses;
mod openrouter;
mod together;
mod vllm;
mod xai;

pub use self::anthropic::VERSION as ANTHROPIC_VERSION;
pub use self::classifier::{ProviderClassifier, judge_error, judge_reply};
pub use self::error_body::{ErrorBody, MAX_ERROR_BODY, MAX_MESSAGE};
pub use self::finish::{Finish, FinishRule, blocked, finish};
pub use self::kind::{Kind, UnknownKind};
pub use self::profile::{Auth, Native, Profile};
pub use self::rules::Rule;

#[cfg(test)]
mod tests;
