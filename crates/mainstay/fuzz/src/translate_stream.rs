//! Streams, from each dialect to each other.
//!
//! First line: the letters of the caller and of the provider (see [`crate::translate`]), `*` for a stream that is made of the bytes
//! that follow (see [`crate::grammar`]) or any other byte, and lengths of pieces. Otherwise the rest is the stream. It is one of
//! server-sent events, whatever the provider's own framing is: Ollama gets a line for an event, Bedrock a message.
//!
//! - Every event that is written holds JSON, and all of them are not much longer than what was read.
//! - They are the same wherever the stream is cut.

use crate::{grammar, input, translate};
use bytes::Bytes;
use mainstay::sse::{Scanner, framing::eventstream::Message};

/// Feeds one case.
pub fn check(data: &[u8]) {
    let Some((line, rest)) = input::split(data) else { return };
    let Some((caller, target, how)) = translate::letters(line) else { return };
    if translate::passes(caller, target) {
        return;
    }
    let made = how.first() == Some(&b'*');
    let stream = if made { grammar::stream(rest).into_bytes() } else { rest.to_vec() };
    let stream = framed(target, stream);
    let (written, whole) = translated(caller, target, vec![Bytes::copy_from_slice(&stream)]);
    translate::assert_events(&written);
    // The last event of Responses repeats all that was said.
    assert!(written.len() <= stream.len() * 60 + 8192, "{} of {}", written.len(), stream.len());
    let pieces = input::pieces(&stream, how.get(1..).unwrap_or_default());
    let (again, still_whole) = translated(caller, target, pieces);
    assert_eq!(whole, still_whole);
    let (written, again) = (timeless(&written), timeless(&again));
    // An answer that breaks off has said as much as had come whole, in pieces as in one.
    assert_eq!(written, again);
}

/// The events as the provider frames them.
fn framed(target: u8, stream: Vec<u8>) -> Vec<u8> {
    if !matches!(target, b'o' | b'b') {
        return stream;
    }
    let mut scanner = Scanner::new();
    scanner.push(stream.into());
    let mut framed = Vec::new();
    while let Ok(Some(block)) = scanner.finish() {
        let Some(event) = &block.event else { continue };
        if target == b'b' {
            let headers = [(":message-type", "event"), (":event-type", event.name())];
            framed.extend_from_slice(&Message::encode(&headers, event.data()));
        } else {
            framed.extend(event.data().iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }));
            framed.push(b'\n');
        }
    }
    framed
}

fn translated(caller: u8, target: u8, pieces: Vec<Bytes>) -> (Bytes, bool) {
    // Ids that the provider does not give are drawn: the same ones both times.
    fastrand::seed(7);
    let (_, path) = translate::paths(caller);
    let asked = translate::hello(caller, true);
    let kind = match target {
        b'o' => "application/x-ndjson",
        b'b' => "application/vnd.amazon.eventstream",
        _ => "text/event-stream",
    };
    let reply = (200, kind, pieces);
    let outcome =
        translate::call(path, translate::kind(target), false, asked.as_bytes(), reply).expect("a call");
    outcome.reply.expect("a stream is handed on at its head")
}

/// Without the times, which are those of the clock where the provider gives none.
fn timeless(stream: &[u8]) -> String {
    let text = String::from_utf8_lossy(stream);
    let mut parts = text.split("\"created");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        all + part.trim_start_matches(|c: char| c.is_ascii_digit() || "_at\":".contains(c))
    })
}
