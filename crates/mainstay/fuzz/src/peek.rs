//! Reading `model` and `stream` of a request.
//!
//! The case is the body, or `*` and the bytes of which one is made (see [`crate::grammar`]). What is accepted is what a tree of the body says, the range holds the name and nothing else,
//! and a body with another name in its place is the same but for that name. What a tree shows to be in order is
//! accepted.

use crate::{grammar, slow};
use bytes::Bytes;
use mainstay::{
    body::RequestBody,
    peek::{Call, peek},
};
use serde_json::Value;

/// Feeds one case.
pub fn check(body: &[u8]) {
    let made = body.strip_prefix(b"*").map(|mut bytes| grammar::json(&mut bytes));
    let body = made.as_ref().map_or(body, String::as_bytes);
    let Some(text) = slow::document(body) else {
        // A tree cannot be made of it; then it is accepted only for what a tree has no room for.
        if let Ok(peeked) = peek(body) {
            let literal = &body[peeked.model_range];
            assert_eq!(serde_json::from_slice::<String>(literal).ok(), Some(peeked.model));
        }
        return;
    };
    let models = slow::all(&text, "model");
    let streams = slow::all(&text, "stream");
    let name = match &models[..] {
        [model] => serde_json::from_str::<String>(model).ok().filter(|name| !name.trim().is_empty()),
        _ => None,
    };
    let stream = match &streams[..] {
        [] | ["null" | "false"] => Some(false),
        ["true"] => Some(true),
        _ => None,
    };
    let peeked = match peek(body) {
        Ok(peeked) => peeked,
        Err(error) => {
            // Bytes that are no UTF-8 may stand in what is read.
            let good = std::str::from_utf8(body).is_ok() && name.is_some() && stream.is_some();
            assert!(!good, "refused: {error}");
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert_eq!((Some(&peeked.model), Some(peeked.stream)), (name.as_ref(), stream));
    let literal = &body[peeked.model_range.clone()];
    assert_eq!(literal, models[0].as_bytes(), "the literal itself");

    for model in ["m", "a \"quoted\" name/\u{1F30D}\n"] {
        let call = Call::new("/v1/chat/completions", peeked.clone());
        let renamed = call.rename(&RequestBody::from(Bytes::copy_from_slice(body)), model);
        let renamed = bytes_of(renamed);
        let again = peek(&renamed).expect("it was in order");
        assert_eq!((again.model.as_str(), again.stream), (model, peeked.stream));
        let mut expected: Value = serde_json::from_str(&text).expect("it was read before");
        expected["model"] = model.into();
        let found: Value = serde_json::from_str(&String::from_utf8_lossy(&renamed)).expect("JSON");
        assert_eq!(found, expected);
    }
}

fn bytes_of(body: RequestBody) -> Bytes {
    use futures_util::FutureExt;
    use http_body_util::BodyExt;
    let collected = body.collect().now_or_never().expect("it is in memory");
    collected.unwrap_or_else(|never| match never {}).to_bytes()
}
