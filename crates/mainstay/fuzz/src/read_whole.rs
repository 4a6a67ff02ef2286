//! Replies that are no stream.
//!
//! First line: a letter for the dialect (see [`crate::input`]), and `*` for a body that is made of the bytes that
//! follow (see [`crate::grammar`]). Otherwise the rest is the body.
//!
//! - What is an error by the documentation of the API is read as one, and nothing is without a word of it in it.
//! - What is no JSON is said to be none, and JSON never is; the error that is handed back lies in the body.
//! - The provider's error with our list of tries in it is the same but for the list.

use crate::{grammar, input, slow};
use mainstay::dialect::{Attempt, Dialect, ErrorFamily, Whole, read_whole, with_attempts};
use serde_json::Value;

/// Feeds one case.
pub fn check(data: &[u8]) {
    let Some((line, body)) = input::split(data) else { return };
    let dialect = input::dialect(line.first().copied().unwrap_or_default());
    let made = (line.get(1) == Some(&b'*')).then(|| grammar::json(&mut &*body));
    let body = made.as_ref().map_or(body, String::as_bytes);
    let whole = read_whole(dialect, body);
    let json = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let utf8 = std::str::from_utf8(json).is_ok();
    let document = slow::document(json);

    match &whole {
        Whole::Error { object, .. } => {
            let inside = body.as_ptr_range();
            let range = object.as_ptr_range();
            assert!(inside.start <= range.start && range.end <= inside.end);
            if let Some(document) = &document {
                assert!(slow::hints_at_error(document), "nothing says so");
            }
        }
        Whole::NotJson => assert!(dialect != Dialect::Other && (document.is_none() || !utf8)),
        Whole::Empty | Whole::Broken => assert_ne!(dialect, Dialect::Other),
        Whole::Answer(answer) if dialect != Dialect::Other => {
            assert!(serde_json::from_slice::<serde::de::IgnoredAny>(json).is_ok());
            assert!(answer.content || answer.finish.is_some() || answer.usage.output.is_some());
        }
        Whole::Answer(_) => {}
    }
    let Some(document) = document else { return };
    if slow::is_error(dialect, None, &document) && document.trim_start().starts_with(['{', '[']) {
        let found = matches!(whole, Whole::Error { .. });
        // What is no UTF-8 fails too, if without the provider's words.
        assert!(found || !utf8 && whole == Whole::NotJson, "{whole:?} of an error by the book");
    }
    spliced(json);
}

/// Adds tries to an error, and looks for a difference.
fn spliced(json: &[u8]) {
    let attempt = Attempt {
        provider: "a".to_owned(),
        model: "m\"\u{7}".to_owned(),
        status: Some(503),
        class: "overloaded",
        message: "</p> \u{2028}".to_owned(),
        ms: 7,
    };
    let tries = [attempt];
    for family in [ErrorFamily::OpenAi, ErrorFamily::Anthropic, ErrorFamily::Gemini] {
        let Some(ours) = with_attempts(family, json, &tries) else { continue };
        let ours: Value = serde_json::from_slice(&ours).expect("JSON");
        let Ok(theirs) = serde_json::from_slice::<Value>(json.trim_ascii()) else { continue };
        let mut theirs = match theirs {
            Value::Array(mut list) if list.len() == 1 => list.remove(0),
            other => other,
        };
        let list = serde_json::to_value(&tries).expect("it can be written");
        let error = theirs.get_mut("error").and_then(Value::as_object_mut).expect("there is one");
        if family == ErrorFamily::Gemini {
            let entry =
                serde_json::json!({"@type": "type.googleapis.com/mainstay.Attempts", "attempts": list});
            match error.get_mut("details").and_then(Value::as_array_mut) {
                Some(details) => details.push(entry),
                None => drop(error.insert("details".to_owned(), Value::Array(vec![entry]))),
            }
        } else {
            error.insert("attempts".to_owned(), list);
        }
        assert_eq!(ours, theirs);
    }
}
