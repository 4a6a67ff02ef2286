//! One step of a script.

use super::{Chunk, End, HeaderValues};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};

/// What a provider does with one request.
///
/// In JSON, every field is optional and an unknown one is an error:
///
/// | field | meaning |
/// | --- | --- |
/// | `status` | 200 unless given |
/// | `headers` | name → text, a list of texts (repeated), or null (not sent). `content-type: application/json` unless given |
/// | `body` | text, or JSON |
/// | `times` | the body so many times over |
/// | `after_ms` | wait first |
/// | `date_in_s` | adds `Retry-After` as an HTTP date that far from now (negative: past) |
/// | `chunks` | a list of [`Chunk`]s instead of `body`, each sent as one HTTP chunk; with `transfer-encoding: null` as bare bytes |
/// | `loops` | the list of chunks so many times over |
/// | `end` | after the chunks: an [`End`] |
/// | `drop` | instead of a reply: close without a byte |
/// | `reset` | instead of a reply: TCP reset |
/// | `stall` | instead of a reply: silence until the client leaves |
/// | `raw` | instead of a reply: these bytes (each character is one, as in Latin-1), then close |
///
/// ```
/// use mainstay_testkit::Step;
///
/// let steps: Vec<Step> = serde_json::from_str(
///     r#"[{"status": 429, "headers": {"retry-after": "1"}, "body": {"error": {"message": "slow down"}}},
///         {"headers": {"content-type": "text/event-stream"},
///          "chunks": [{"data": "data: 1\n\n"}, {"after_ms": 50, "data": "data: 2\n\n"}], "end": "reset"},
///         {"stall": true}]"#,
/// )
/// .unwrap();
/// assert_eq!(steps.len(), 3);
/// assert!(serde_json::from_str::<Step>(r#"{"statsu": 429}"#).is_err());
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    #[serde(skip_serializing_if = "is_default")]
    pub(super) after_ms: u64,
    pub(super) status: u16,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) headers: BTreeMap<String, HeaderValues>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) date_in_s: Option<i64>,
    #[serde(skip_serializing_if = "is_empty_text")]
    pub(super) body: Value,
    #[serde(skip_serializing_if = "is_one")]
    pub(super) times: usize,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) chunks: Option<Vec<Chunk>>,
    #[serde(skip_serializing_if = "is_one")]
    pub(super) loops: usize,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) end: End,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) drop: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) reset: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) stall: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) raw: Option<String>,
}

impl Default for Step {
    /// An empty reply with status 200.
    fn default() -> Self {
        Self {
            after_ms: 0,
            status: 200,
            headers: BTreeMap::new(),
            date_in_s: None,
            body: Value::String(String::new()),
            times: 1,
            chunks: None,
            loops: 1,
            end: End::End,
            drop: false,
            reset: false,
            stall: false,
            raw: None,
        }
    }
}

impl Step {
    /// A reply of that status with a JSON body.
    pub fn json(status: u16, body: Value) -> Self {
        // A JSON string as a body is text in the JSON form of a step, so it is written out here.
        let body = if body.is_string() { Value::String(body.to_string()) } else { body };
        Self { status, body, ..Self::default() }
    }

    /// A reply of that status with a text body of that content type.
    pub fn text(status: u16, content_type: &str, body: impl Into<String>) -> Self {
        Self { status, body: Value::String(body.into()), ..Self::default() }
            .header("content-type", content_type)
    }

    /// An event stream with status 200: each item is sent as one HTTP chunk, as it is.
    pub fn sse<C: Into<Chunk>>(chunks: impl IntoIterator<Item = C>) -> Self {
        Self::chunks(chunks).header("content-type", "text/event-stream")
    }

    /// Lines of JSON with status 200, as Ollama streams: each item is sent as one HTTP chunk, as it is.
    pub fn ndjson<C: Into<Chunk>>(lines: impl IntoIterator<Item = C>) -> Self {
        Self::chunks(lines).header("content-type", "application/x-ndjson")
    }

    /// An AWS event stream with status 200: each message is sent as one HTTP chunk, as it is.
    pub fn event_stream(messages: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self::chunks(messages).header("content-type", "application/vnd.amazon.eventstream")
    }

    /// A JSON reply with status 200 whose body comes in these HTTP chunks.
    pub fn chunks<C: Into<Chunk>>(chunks: impl IntoIterator<Item = C>) -> Self {
        Self { chunks: Some(chunks.into_iter().map(Into::into).collect()), ..Self::default() }
    }

    /// No reply: the connection is closed without a byte.
    pub fn dropped() -> Self {
        Self { drop: true, ..Self::default() }
    }

    /// No reply: a TCP reset.
    pub fn reset() -> Self {
        Self { reset: true, ..Self::default() }
    }

    /// No reply: silence until the client leaves.
    pub fn stall() -> Self {
        Self { stall: true, ..Self::default() }
    }

    /// These bytes as they are, each character one byte (Latin-1), then close.
    pub fn raw(bytes: impl Into<String>) -> Self {
        Self { raw: Some(bytes.into()), ..Self::default() }
    }

    /// Waits so long before anything else; whole milliseconds.
    pub fn after(mut self, wait: Duration) -> Self {
        self.after_ms = millis(wait);
        self
    }

    /// Another status.
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Sends that header, in place of one by default or set before; `name` in lower case.
    pub fn header(mut self, name: &str, value: impl Into<HeaderValues>) -> Self {
        self.headers.insert(name.to_owned(), value.into());
        self
    }

    /// Adds `Retry-After` as an HTTP date so many seconds from now, past when negative.
    pub fn retry_after_date(mut self, seconds: i64) -> Self {
        self.date_in_s = Some(seconds);
        self
    }

    /// Sends the body so many times over.
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// Waits so long before every chunk but the first.
    pub fn pace(mut self, wait: Duration) -> Self {
        for chunk in self.chunks.iter_mut().flatten().skip(1) {
            chunk.after_ms = millis(wait);
        }
        self
    }

    /// Sends the list of chunks so many times over.
    pub fn loops(mut self, loops: usize) -> Self {
        self.loops = loops;
        self
    }

    /// How the reply ends after its chunks. Without chunks the body becomes one, so that there is an end to choose.
    pub fn ending(mut self, end: End) -> Self {
        if self.chunks.is_none() {
            self.chunks = Some(vec![Chunk { times: Some(self.times), ..Chunk::from(self.text_of_body()) }]);
        }
        self.end = end;
        self
    }

    /// Whether its own headers say that the connection ends with the reply.
    pub(super) fn closes(&self) -> bool {
        self.values("connection").is_some_and(|values| values.iter().any(|value| value == "close"))
    }

    /// Whether its chunks are sent in HTTP's chunked coding.
    pub(super) fn framed(&self) -> bool {
        self.values("transfer-encoding") != Some(&HeaderValues::None)
    }

    fn values(&self, name: &str) -> Option<&HeaderValues> {
        self.headers.iter().find(|(each, _)| each.eq_ignore_ascii_case(name)).map(|(_, values)| values)
    }

    pub(super) fn text_of_body(&self) -> String {
        match &self.body {
            Value::String(text) => text.clone(),
            json => json.to_string(),
        }
    }
}

pub(super) fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_one(value: &usize) -> bool {
    *value == 1
}

fn is_empty_text(value: &Value) -> bool {
    value.as_str() == Some("")
}
