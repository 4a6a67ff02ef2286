//! What an error body says, whatever its shape.

mod repair;
mod text;
mod walk;

use http::HeaderMap;
use serde_json::Value;
use std::{borrow::Cow, time::Duration};

/// At most this much of an error body is read.
pub const MAX_ERROR_BODY: usize = 256 * 1024;

/// At most this much of a message is kept and looked into.
pub const MAX_MESSAGE: usize = 2 * 1024;

/// An error as its body tells it.
///
/// Reads every shape that is met in practice: `error` as an object, as a string, as an array's only element, or absent
/// (`{"message": ..}`, `{"detail": [..]}`, `{"object": "error"}`); codes that are strings, integers or null; JSON after
/// blank lines, inside an event of a stream, or cut off; HTML; plain text; nothing.
///
/// ```
/// use mainstay::provider::ErrorBody;
///
/// let body = ErrorBody::read(br#"[{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slow down"}}]"#);
/// assert_eq!(body.number, Some(429));
/// assert_eq!(body.code(), Some("RESOURCE_EXHAUSTED"));
/// assert_eq!(body.message.as_deref(), Some("slow down"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ErrorBody {
    /// `type`, `__type`, or the status in words of google.rpc.
    pub kind: Option<String>,
    /// `code`, if it is a word.
    pub code: Option<String>,
    /// The words for people, without markup, at most [`MAX_MESSAGE`] bytes.
    pub message: Option<String>,
    /// The field of the request that is at fault.
    pub param: Option<String>,
    /// The HTTP status that the body names, if it is a failure's.
    pub number: Option<u16>,
    /// Further words that say what it was: reasons in details and metadata.
    pub reasons: Vec<String>,
    /// The wait that the body asks for: `RetryInfo`, `availability.retry_after`.
    pub wait: Option<Duration>,
    /// Rate limit headers that the body carries.
    pub headers: HeaderMap,
    /// Whether the body was JSON (or an event that holds JSON), whole or cut.
    pub json: bool,
    /// The quotas that were exceeded, by their ids (google.rpc.QuotaFailure), and `quotaValue=0` for one of nothing.
    quotas: Vec<String>,
    /// The error of somebody further up, as text.
    inner: Option<String>,
}

/// How many further words are kept, and how long.
const MAX_REASONS: usize = 24;
const MAX_WORD: usize = 200;

impl ErrorBody {
    /// Reads the body of an error, at most its first [`MAX_ERROR_BODY`] bytes. Never fails: what cannot be read says
    /// nothing.
    pub fn read(body: &[u8]) -> Self {
        let body = text::trim(body.get(..MAX_ERROR_BODY).unwrap_or(body));
        if body.is_empty() {
            return Self::default();
        }
        // An error is not to be missed for a byte that is not UTF-8; half a character at the end is no such byte.
        let body = match std::str::from_utf8(body) {
            Err(error) if error.error_len().is_some() => {
                Cow::Owned(String::from_utf8_lossy(body).into_owned().into_bytes())
            }
            _ => Cow::Borrowed(body),
        };
        if let Some(value) = json(&body).or_else(|| framed(&body)) {
            return Self::of(&value);
        }
        Self { message: text::message(&body), ..Self::default() }
    }

    /// Reads an error that is JSON already.
    pub fn of(value: &Value) -> Self {
        let mut body = Self { json: true, ..Self::default() };
        walk::read(value, &mut body);
        body
    }

    /// The provider's own word for it: the code, else a reason, else the type.
    pub fn code(&self) -> Option<&str> {
        let generic = |word: &&str| !matches!(*word, "error" | "unknown_error" | "None" | "null" | "");
        self.code
            .as_deref()
            .or(self.reasons.first().map(String::as_str))
            .filter(generic)
            .or(self.kind.as_deref())
            .filter(generic)
    }

    /// Type, code, reasons and quotas.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        let further = self.reasons.iter().chain(&self.quotas).map(String::as_str);
        self.code.as_deref().into_iter().chain(self.kind.as_deref()).chain(further)
    }

    /// The message, and that of whoever failed further up.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.message.as_deref().into_iter().chain(self.inner.as_deref())
    }

    /// Whether nothing was found in it.
    pub fn is_empty(&self) -> bool {
        self.message.is_none() && self.number.is_none() && self.words().next().is_none()
    }

    fn reason(&mut self, word: &str) {
        if self.reasons.len() < MAX_REASONS && !word.is_empty() && !self.reasons.iter().any(|r| r == word) {
            self.reasons.push(text::clip(word, MAX_WORD).to_owned());
        }
    }
}

/// JSON, whole or cut. Only what begins as an object or an array is taken for JSON.
fn json(body: &[u8]) -> Option<Value> {
    if !matches!(body.first()?, b'{' | b'[') {
        return None;
    }
    // What follows the first value (a second event, a trailing line) is not ours.
    match serde_json::Deserializer::from_slice(body).into_iter::<Value>().next()? {
        Ok(value) => Some(value),
        Err(_) => repair::cut(body),
    }
}

/// The first event of a stream that holds JSON.
fn framed(body: &[u8]) -> Option<Value> {
    const FIELDS: [&[u8]; 5] = [b"event:", b"data:", b"id:", b"retry:", b":"];
    if !FIELDS.iter().any(|field| body.starts_with(field)) {
        return None;
    }
    let mut data = Vec::new();
    let lines = body.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    for line in lines.chain([&b""[..]]) {
        if line.is_empty() {
            if let Some(value) = json(text::trim(&data)) {
                return Some(value);
            }
            data.clear();
        } else if let Some(rest) = line.strip_prefix(b"data:") {
            data.extend_from_slice(rest);
            data.push(b'\n');
        }
    }
    None
}

pub(super) use self::text::{clip, trim};

#[cfg(test)]
mod tests;
