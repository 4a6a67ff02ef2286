//! Fields of the request body that a target sets for itself.
//!
//! A target may demand what its callers do not know of: a temperature, a limit on the answer, an effort of reasoning.
//! [`ParametersLayer`] *sets* fields, whatever the caller wrote, or fills them in as *defaults* where the caller wrote
//! nothing. Everything else of the body stays the bytes that came, and numbers stay as they were written.
//!
//! - It stands below [`TranslateLayer`](crate::translate::TranslateLayer): fields have the names of the target's own API.
//! - Objects are merged key by key, at every depth (Gemini's `generationConfig`); all other values are replaced whole. A
//!   default also fills in for `null`.
//! - Only calls that ask for an answer are changed: chat completions, completions, Responses, Messages, Gemini, and what is
//!   written for Ollama, Cohere and Bedrock. Embeddings, counted tokens and what else there is pass untouched, and so does a
//!   body that is no JSON object.
//! - OpenAI's three names for the longest answer are one field: `max_tokens`, `max_completion_tokens` and, which is how
//!   Responses call it, `max_output_tokens`. A request with two of them is refused there.
//!
//! ```
//! use mainstay::{dialect::Dialect, parameters::Parameters};
//! use serde_json::json;
//!
//! let parameters = Parameters::new().with_set("temperature", json!(0)).with_default("top_p", json!(0.9));
//! let body = br#"{"model":"m", "temperature": 1.0}"#;
//! let merged = parameters.apply(Dialect::ChatCompletions, body).unwrap();
//! assert_eq!(merged, r#"{"model":"m", "temperature": 0,"top_p":0.9}"#);
//! ```

mod layer;
mod merge;

pub use self::layer::{ParametersLayer, ParametersService};

use crate::dialect::Dialect;
use bytes::Bytes;
use serde_json::{Map, Value};

/// OpenAI's names for the most tokens that an answer may have.
const LIMITS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/// Fields to set and to fill in. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    set: Map<String, Value>,
    default: Map<String, Value>,
}

impl Parameters {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a field, whatever the caller wrote there.
    #[must_use]
    pub fn with_set(mut self, key: impl Into<String>, value: Value) -> Self {
        self.set.insert(key.into(), value);
        self
    }

    /// Fills a field in where the caller wrote nothing, or `null`.
    #[must_use]
    pub fn with_default(mut self, key: impl Into<String>, value: Value) -> Self {
        self.default.insert(key.into(), value);
        self
    }

    /// The fields that are set.
    pub fn set(&self) -> &Map<String, Value> {
        &self.set
    }

    /// The fields that are filled in.
    pub fn defaults(&self) -> &Map<String, Value> {
        &self.default
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.default.is_empty()
    }

    /// The body with the fields in it; `None` where it stays as it is.
    pub fn apply(&self, dialect: Dialect, body: &[u8]) -> Option<Bytes> {
        if self.is_empty() || !asks_for_an_answer(dialect) {
            return None;
        }
        merge::merge(self, dialect, body).map(Bytes::from)
    }
}

/// Calls of other kinds have other fields.
fn asks_for_an_answer(dialect: Dialect) -> bool {
    match dialect {
        Dialect::ChatCompletions
        | Dialect::Completions
        | Dialect::Responses
        | Dialect::Messages
        | Dialect::Gemini
        | Dialect::Cohere
        | Dialect::Ollama
        | Dialect::Converse => true,
        Dialect::Embeddings | Dialect::Other => false,
    }
}

/// The name of a field in a dialect.
fn spelled(key: &str, dialect: Dialect) -> &str {
    if dialect == Dialect::Responses && LIMITS.contains(&key) { "max_output_tokens" } else { key }
}

/// Whether two names mean the same field.
fn same(a: &str, b: &str) -> bool {
    a == b || (LIMITS.contains(&a) && LIMITS.contains(&b))
}
