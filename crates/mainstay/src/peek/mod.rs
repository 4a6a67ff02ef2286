//! Reading just as much of a request as routing needs: which model, and whether a stream is asked for.
//!
//! The body is scanned once, without building a tree of it; everything else in it stays as the caller wrote it, so that
//! numbers, key order and blanks reach the provider unchanged. A body with two `model` keys is refused: parsers differ on
//! which one counts, and routing by one while the provider reads the other would be a way around every rule.
//!
//! ```
//! let body = br#"{"messages": [], "model": "gpt-9", "stream": true}"#;
//! let peeked = mainstay::peek::peek(body).unwrap();
//! assert_eq!((peeked.model.as_str(), peeked.stream), ("gpt-9", true));
//! assert_eq!(&body[peeked.model_range], b"\"gpt-9\"");
//! ```

mod call;

pub use call::{Call, percent_decoded};

use crate::json::{NotJson, Raw, Shape, Value, Visit, parse, raw, skip, string};
use serde::de::IgnoredAny;
use std::{fmt, ops::Range};

/// What a request says about where it wants to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peeked {
    /// The model's name.
    pub model: String,
    /// Where the name stands in the body, quotes included.
    pub model_range: Range<usize>,
    /// Whether a stream is asked for (`"stream": true`).
    pub stream: bool,
}

/// Why a body cannot be routed. Its words are meant for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeekError {
    /// The body is not one JSON object.
    NotJson {
        /// What the parser found, with line and column.
        what: String,
    },
    /// There is no `model`.
    NoModel,
    /// `model` or `stream` is there, but not of the type that it must have, or twice.
    BadField {
        /// Which field.
        field: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl PeekError {
    /// The field that is at fault, if it is one.
    pub fn param(&self) -> Option<&'static str> {
        match self {
            PeekError::NotJson { .. } => None,
            PeekError::NoModel => Some("model"),
            PeekError::BadField { field, .. } => Some(field),
        }
    }
}

impl fmt::Display for PeekError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeekError::NotJson { what } => write!(f, "the request body is not a JSON object: {what}"),
            PeekError::NoModel => f.write_str("the request body names no model: add \"model\": \"...\""),
            PeekError::BadField { field, what } => write!(f, "\"{field}\" {what}"),
        }
    }
}

impl std::error::Error for PeekError {}

/// The two fields, as they are written.
#[derive(Default)]
struct Fields<'de> {
    model: Option<Raw<'de>>,
    stream: Option<Raw<'de>>,
    twice: Option<&'static str>,
}

impl<'de> Visit<'de> for Fields<'de> {
    fn field(&mut self, key: &str, value: Value<'_, 'de>) -> Result<(), NotJson> {
        let (place, name) = match key {
            "model" => (&mut self.model, "model"),
            "stream" => (&mut self.stream, "stream"),
            _ => return skip(value),
        };
        if place.replace(raw(value)?).is_some() {
            self.twice = Some(name);
        }
        Ok(())
    }
}

/// Reads `model` and `stream` of a JSON request body.
///
/// # Errors
/// [`PeekError`] where the body is not a JSON object, names no model, names one twice, or has a field of a wrong type.
pub fn peek(body: &[u8]) -> Result<Peeked, PeekError> {
    let bad = |field, what| PeekError::BadField { field, what };
    let mut fields = Fields::default();
    read_object(body, &mut fields)?;
    if let Some(field) = fields.twice {
        return Err(bad(field, "stands twice in the request body"));
    }
    let raw = fields.model.filter(|raw| raw.get() != "null").ok_or(PeekError::NoModel)?;
    let model = string(raw).ok_or(bad("model", "must be a string"))?;
    if model.trim().is_empty() {
        return Err(bad("model", "must not be empty"));
    }
    let stream = match fields.stream.map(Raw::get) {
        None | Some("null" | "false") => false,
        Some("true") => true,
        Some(_) => return Err(bad("stream", "must be true or false")),
    };
    let model_range = offset(body, raw.get()).ok_or(bad("model", "cannot be found in the body"))?;
    Ok(Peeked { model: model.into_owned(), model_range, stream })
}

/// Whether a body is one JSON object, where nothing of it is needed: a call whose path names the model.
///
/// # Errors
/// [`PeekError::NotJson`] where it is not.
pub fn check_object(body: &[u8]) -> Result<(), PeekError> {
    struct Nothing;
    impl Visit<'_> for Nothing {}
    read_object(body, &mut Nothing)
}

/// Walks a body that must be one JSON object.
fn read_object<'de>(body: &'de [u8], visit: &mut impl Visit<'de>) -> Result<(), PeekError> {
    let what = match parse(body, visit) {
        Ok(Shape::Object) => return Ok(()),
        Ok(Shape::List(_)) => "it is a list".to_owned(),
        Ok(_) => "it is JSON of another type".to_owned(),
        Err(NotJson) => explain(body),
    };
    Err(PeekError::NotJson { what })
}

/// Where `part`, a slice of `body`, stands in it.
fn offset(body: &[u8], part: &str) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(body.as_ptr() as usize)?;
    let end = start.checked_add(part.len())?;
    (end <= body.len()).then_some(start..end)
}

/// What is wrong with a body that is no JSON, and where.
fn explain(body: &[u8]) -> String {
    if body.iter().all(u8::is_ascii_whitespace) {
        return "it is empty".to_owned();
    }
    match serde_json::from_slice::<IgnoredAny>(body) {
        Err(error) => error.to_string(),
        // Not for its grammar: a key or a value that is looked at is not UTF-8.
        Ok(_) => "it is not UTF-8".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found_wherever_it_stands() {
        for body in [
            r#"{"model":"m","stream":true,"x":{"model":"other"}}"#,
            r#"{ "x" : [1, {"stream": false}] , "stream" : true, "model" : "m" }"#,
            r#"{"mod\u0065l":"m","stream":true}"#,
        ] {
            let peeked = peek(body.as_bytes()).unwrap();
            assert_eq!((peeked.model.as_str(), peeked.stream), ("m", true), "{body}");
            assert_eq!(&body[peeked.model_range], "\"m\"");
        }
    }

    #[test]
    fn an_escaped_name_is_read_and_its_own_bytes_are_ranged() {
        let body = r#"{"model":"a\/b\u00e9"}"#;
        let peeked = peek(body.as_bytes()).unwrap();
        assert_eq!(peeked.model, "a/bé");
        assert_eq!(&body[peeked.model_range], r#""a\/b\u00e9""#);
    }

    #[test]
    fn two_models_are_refused_however_the_key_is_spelt() {
        for body in [r#"{"model":"a","model":"b"}"#, r#"{"model":"a","x":1,"mod\u0065l":"b"}"#] {
            assert_eq!(peek(body.as_bytes()).unwrap_err().param(), Some("model"), "{body}");
        }
    }

    #[test]
    fn what_cannot_be_routed_says_why() {
        for (body, words) in [
            ("", "empty"),
            ("{oops", "not a JSON object"),
            ("[1]", "not a JSON object"),
            (r#"["m", true]"#, "not a JSON object"),
            ("\"model\"", "not a JSON object"),
            (r#"{"model":"m"} x"#, "trailing"),
            (r#"{"messages":[]}"#, "names no model"),
            (r#"{"model":null}"#, "names no model"),
            (r#"{"model":7}"#, "must be a string"),
            (r#"{"model":" "}"#, "must not be empty"),
            (r#"{"model":"m","stream":"yes"}"#, "true or false"),
        ] {
            let error = peek(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(words), "{body}: {error}");
        }
    }

    #[test]
    fn an_object_is_all_that_a_call_with_its_model_in_the_path_must_send() {
        for body in ["{}", " {\"contents\":[], \"contents\":1}\n"] {
            assert_eq!(check_object(body.as_bytes()), Ok(()), "{body}");
        }
        for (body, words) in [
            ("", "empty"),
            ("{oops", "not a JSON object"),
            ("[]", "a list"),
            ("[1]", "a list"),
            ("null", "another type"),
            ("7", "another type"),
            ("{} x", "trailing"),
            ("{\"a\":\"\u{1}\"}", "not a JSON object"),
        ] {
            let error = check_object(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(words), "{body}: {error}");
        }
    }

    #[test]
    fn depth_is_no_danger() {
        let body = format!(r#"{{"model":"m","x":{}{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(peek(body.as_bytes()).unwrap().model, "m");
        assert_eq!(check_object(body.as_bytes()), Ok(()));
    }
}
