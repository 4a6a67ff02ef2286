//! What is known about a provider before it is asked anything.

use super::{FinishRule, Kind, Rule};

/// What is known about a provider: where it lives, how it takes a key, what its errors mean.
///
/// All of it is data, one file a provider; a configuration overrides what it needs to.
#[derive(Debug)]
#[non_exhaustive]
pub struct Profile {
    /// Which one it is.
    pub kind: Kind,
    /// Its name, for people.
    pub name: &'static str,
    /// Where its API lives, as its SDK writes it; `None`: every customer has an address of his own.
    pub base_url: Option<&'static str>,
    /// The environment variable in which its SDK looks for the key; `None`: it asks for none.
    pub key_env: Option<&'static str>,
    /// How a request carries the key.
    pub auth: Auth,
    /// Headers that every request must have, with the values that are sent when the caller sends none.
    pub headers: &'static [(&'static str, &'static str)],
    /// Whether an `Idempotency-Key` is sent. No provider is known to refuse one, and some ignore it (Anthropic says so:
    /// anthropic-sdk-typescript#1144), but what stands before them may know it. AWS has its own way.
    pub idempotency_key: bool,
    /// The `max_tokens` to send where the API demands one and the caller gave none.
    pub default_max_tokens: Option<u32>,
    /// The API that it speaks natively.
    pub native: Native,
    /// Its own error rules, the first match wins. Where none matches, what all providers have in common decides, and
    /// then the status.
    pub rules: &'static [Rule],
    /// Its own reasons for the end of an answer that mean more than an end.
    pub finishes: &'static [FinishRule],
    /// Whether an answer with nothing in it is most likely an input that did not fit, told by nothing else. It is then
    /// not worth asking again, and no vote.
    pub empty_is_overflow: bool,
}

impl Profile {
    /// A profile with nothing out of the ordinary: bearer key, OpenAI's API, no rules of its own.
    pub(super) const fn new(kind: Kind, name: &'static str) -> Self {
        Self {
            kind,
            name,
            base_url: None,
            key_env: None,
            auth: Auth::Bearer,
            headers: &[],
            idempotency_key: true,
            default_max_tokens: None,
            native: Native::OpenAi,
            rules: &[],
            finishes: &[],
            empty_is_overflow: false,
        }
    }
}

/// How a request carries the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Auth {
    /// `Authorization: Bearer KEY` (RFC 6750 §2.1).
    Bearer,
    /// The bare key in the header of this name, which is in lower case.
    Header(&'static str),
}

impl Auth {
    /// The name of the header that carries the key, in lower case.
    pub const fn header(self) -> &'static str {
        match self {
            Auth::Bearer => "authorization",
            Auth::Header(name) => name,
        }
    }

    /// The value of that header for `key`. Mark the header as sensitive.
    pub fn value(self, key: &str) -> String {
        match self {
            Auth::Bearer => format!("Bearer {key}"),
            Auth::Header(_) => key.to_owned(),
        }
    }
}

/// The family of APIs that a provider speaks natively.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Native {
    /// OpenAI's: chat completions and what belongs to them.
    OpenAi,
    /// Anthropic's Messages.
    Anthropic,
    /// Google's `generateContent`.
    Gemini,
    /// Ollama's `/api/chat`.
    Ollama,
    /// Cohere's `/v2/chat`.
    Cohere,
    /// Bedrock's `Converse`.
    Converse,
}
