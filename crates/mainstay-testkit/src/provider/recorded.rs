//! What a provider got.

use bytes::Bytes;
use serde_json::Value;
use std::{borrow::Cow, fmt};
use tokio::time::Instant;

/// One request as it arrived. `Debug` shows no header values and no body: a test's output ends in logs.
#[derive(Clone)]
pub struct Recorded {
    /// Its place among the requests to this provider, from 0.
    pub number: usize,
    /// Which of the provider's connections it came on, from 0.
    pub connection: usize,
    /// The method.
    pub method: String,
    /// The request target as sent: path and query.
    pub path: String,
    /// The headers as sent, in order; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body without its framing.
    pub body: Bytes,
    /// When it had arrived whole.
    pub at: Instant,
}

impl Recorded {
    /// The last header of that name; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().rev().find(|(each, _)| each == name).map(|(_, value)| value.as_str())
    }

    /// The body as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The body as JSON; `None` where it is none.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The path without its query.
    pub fn route(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    /// The body's `model`.
    pub fn model(&self) -> Option<String> {
        Some(self.json()?.get("model")?.as_str()?.to_owned())
    }

    /// Whether the body says `"stream": true`.
    pub fn wants_stream(&self) -> bool {
        self.json().and_then(|body| body.get("stream")?.as_bool()).unwrap_or(false)
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded")
            .field("number", &self.number)
            .field("connection", &self.connection)
            .field("method", &self.method)
            .field("path", &self.path)
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish_non_exhaustive()
    }
}
