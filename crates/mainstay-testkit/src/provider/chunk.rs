//! The pieces of a step's body, and how it ends.

use super::step::{is_default, millis};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One HTTP chunk of a step.
///
/// In JSON: `{"after_ms": wait first, "data": text | "latin1": one byte a character, "times": so many times over}`.
/// Neither `data` nor `latin1`: only the wait.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chunk {
    #[serde(skip_serializing_if = "is_default")]
    pub(super) after_ms: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) data: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) latin1: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) times: Option<usize>,
}

/// How a reply ends after its chunks.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// As HTTP demands; the connection can be used again.
    #[default]
    End,
    /// The connection is closed without the last chunk: cut short.
    Close,
    /// A TCP reset.
    Reset,
    /// Silence until the client leaves.
    Hang,
}

impl Chunk {
    /// Text, sent as UTF-8.
    pub fn new(data: impl Into<String>) -> Self {
        Self { data: Some(data.into()), ..Self::default() }
    }

    /// Bytes, each character one (Latin-1).
    pub fn latin1(data: impl Into<String>) -> Self {
        Self { latin1: Some(data.into()), ..Self::default() }
    }

    /// Nothing but a wait.
    pub fn wait(wait: Duration) -> Self {
        Self { after_ms: millis(wait), ..Self::default() }
    }

    /// Waits so long first; whole milliseconds.
    pub fn after(mut self, wait: Duration) -> Self {
        self.after_ms = millis(wait);
        self
    }

    /// Sends its data so many times over, in one HTTP chunk.
    pub fn times(mut self, times: usize) -> Self {
        self.times = Some(times);
        self
    }

    /// Its bytes, `None` when it is only a wait.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let once = match (&self.data, &self.latin1) {
            (Some(data), _) => data.as_bytes().to_vec(),
            (None, Some(latin1)) => super::wire::latin1(latin1),
            (None, None) => return None,
        };
        Some(once.repeat(self.times.unwrap_or(1)))
    }
}

impl From<String> for Chunk {
    fn from(data: String) -> Self {
        Self::new(data)
    }
}

impl From<&str> for Chunk {
    fn from(data: &str) -> Self {
        Self::new(data)
    }
}

impl From<Vec<u8>> for Chunk {
    fn from(bytes: Vec<u8>) -> Self {
        Self::latin1(bytes.into_iter().map(char::from).collect::<String>())
    }
}
