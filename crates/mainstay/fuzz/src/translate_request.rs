//! Requests, from each dialect to each other.
//!
//! First line: the letters of the caller and of the provider (see [`crate::translate`]), `l` for a lenient route, and `*` for a
//! body that is made of the bytes that follow (see [`crate::grammar`]). Otherwise the rest is the body.
//!
//! - It is written or refused; what is written is JSON, not much longer than what was read, and has no half of a character.
//! - What is written can be read as a request of its own dialect, in which at most values are out of bounds.

use crate::{grammar, input, translate};
use mainstay::translate::Untranslatable;
use std::error::Error;

/// Feeds one case.
pub fn check(data: &[u8]) {
    let Some((line, rest)) = input::split(data) else { return };
    let Some((caller, target, flags)) = translate::letters(line) else { return };
    let made = flags.contains(&b'*').then(|| grammar::request(caller, rest));
    let body = made.as_ref().map_or(rest, String::as_bytes);
    let Some(written) = written(caller, target, flags.contains(&b'l'), body) else { return };
    if caller == target {
        return;
    }
    assert!(translate::is_json(&written), "{}", String::from_utf8_lossy(&written));
    assert!(written.len() <= body.len() * 40 + 4096, "{} of {}", written.len(), body.len());
    // What only a provider speaks is read by nobody here.
    if !b"crmg".contains(&target) {
        return;
    }
    for other in b"crmg".iter().copied().filter(|other| *other != target) {
        self::written(target, other, true, &written);
    }
}

/// What is asked of the provider, unless the call is refused.
fn written(caller: u8, target: u8, lenient: bool, body: &[u8]) -> Option<Vec<u8>> {
    let (path, _) = translate::paths(caller);
    let reply = (500, "application/json", Vec::new());
    let outcome = translate::call(path, translate::kind(target), lenient, body, reply)?;
    if let Err(error) = &outcome.reply {
        if outcome.written.is_none() {
            let refused = refusal(&**error).expect("a refusal");
            assert!(
                refused.message.len() < 4096 && refused.param.as_ref().is_none_or(|param| param.len() < 1024)
            );
        }
    }
    outcome.written.map(Into::into)
}

/// The refusal in a chain of errors.
fn refusal<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Untranslatable> {
    error.downcast_ref().or_else(|| refusal(error.source()?))
}
