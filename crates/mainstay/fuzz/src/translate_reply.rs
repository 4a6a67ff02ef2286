//! Replies that are no streams, from each dialect to each other.
//!
//! First line: the letters of the caller and of the provider (see [`crate::translate`]), `e` for an error, `s` for a caller that
//! asked for a stream, and `*` for a body that is made of the bytes that follow (see [`crate::grammar`]). Otherwise the rest is
//! the body.
//!
//! - It is written or an error of its own; what is written is JSON, or events of it, and not much longer than what was read.
//! - An error is always written.

use crate::{grammar, input, translate};
use bytes::Bytes;

/// Feeds one case.
pub fn check(data: &[u8]) {
    let Some((line, rest)) = input::split(data) else { return };
    let Some((caller, target, flags)) = translate::letters(line) else { return };
    let [error, stream, made] = [b'e', b's', b'*'].map(|flag| flags.contains(&flag));
    let body = if made { grammar::reply(target, rest).into_bytes() } else { rest.to_vec() };
    let read = body.len();
    let (whole, streamed) = translate::paths(caller);
    let path = if stream { streamed } else { whole };
    let reply = (if error { 429 } else { 200 }, "application/json", vec![Bytes::from(body)]);
    let asked = translate::hello(caller, stream);
    let outcome =
        translate::call(path, translate::kind(target), false, asked.as_bytes(), reply).expect("a call");
    let Ok((written, whole)) = outcome.reply else {
        assert!(!error, "an error is an error in any dialect");
        return;
    };
    if translate::passes(caller, target) {
        return;
    }
    assert!(whole);
    assert!(written.len() <= read * 60 + 8192, "{} of {read}", written.len());
    if stream && !error {
        translate::assert_events(&written);
    } else {
        assert!(translate::is_json(&written), "{}", String::from_utf8_lossy(&written));
    }
}
