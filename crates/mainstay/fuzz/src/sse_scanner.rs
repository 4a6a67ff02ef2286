//! Server-sent events.
//!
//! First line: the limit (see [`crate::input`]), then the lengths of the pieces. The rest is the stream.
//!
//! - The blocks' bytes in order are the stream; no block is empty or over the limit.
//! - Wherever it is cut, the events are those that the standard's algorithm gives, written down here line by line.
//! - What passes in one piece passes in any; an error stays.
//! - [`EventStream`] gives the same events, and an event that is written is read back.

use crate::input;
use bytes::Bytes;
use futures_util::{FutureExt, stream};
use http_body_util::StreamBody;
use mainstay::sse::{Block, Event, EventStream, Scanner, encode};
use std::convert::Infallible;

/// Feeds one case.
pub fn check(data: &[u8]) {
    let Some((line, text)) = input::split(data) else { return };
    let limit = input::limit(line.first());
    let pieces = input::pieces(text, line.get(1..).unwrap_or_default());

    let expected = standard(text);
    let (whole, error) = read(&[Bytes::copy_from_slice(text)], usize::MAX);
    assert!(!error);
    assert_eq!(events(&whole), expected);
    let (cut, error) = read(&pieces, usize::MAX);
    assert!(!error);
    assert_eq!(events(&cut), expected);
    assert_eq!(raw(&whole), text);
    assert_eq!(raw(&cut), text);
    // Only the rest at the end is not complete.
    for blocks in [&whole, &cut] {
        assert!(blocks.iter().rev().skip(1).all(|block| block.complete));
    }

    let (bounded, error) = read(&pieces, limit);
    assert!(bounded.iter().all(|block| block.raw.len() <= limit));
    assert!(text.starts_with(&raw(&bounded)) && (error || raw(&bounded) == text));
    let found = events(&bounded);
    assert!(if error { expected.starts_with(&found) } else { found == expected });
    assert!(
        !error || whole.iter().any(|block| block.raw.len() > limit),
        "what passes whole passes in pieces"
    );

    let mut streamed = Vec::new();
    let mut body = EventStream::new(StreamBody::new(stream::iter(
        pieces.into_iter().map(|piece| Ok::<_, Infallible>(http_body::Frame::data(piece))),
    )));
    while let Some(Ok(event)) = body.next().now_or_never().expect("nothing to wait for") {
        streamed.push(said(&event));
    }
    assert_eq!(streamed, expected);

    for event in whole.iter().filter_map(|block| block.event.as_ref()) {
        let name = Some(event.name()).filter(|name| *name != "message");
        let (read, _) = read(&[encode(name, event.data())], usize::MAX);
        let [Block { event: Some(again), complete: true, .. }] = &read[..] else {
            panic!("not one event: {read:?}")
        };
        assert_eq!((again.name(), again.data()), (event.name(), event.data()));
    }
}

/// What an event says.
type Said = (Vec<u8>, Vec<u8>, Option<Vec<u8>>, Option<u64>);

fn said(event: &Event) -> Said {
    let retry = event.retry().map(|wait| u64::try_from(wait.as_millis()).expect("it was one"));
    (event.name_bytes().to_vec(), event.data().to_vec(), event.id().map(<[u8]>::to_vec), retry)
}

fn events(blocks: &[Block]) -> Vec<Said> {
    blocks.iter().filter_map(|block| block.event.as_ref()).map(said).collect()
}

fn raw(blocks: &[Block]) -> Vec<u8> {
    blocks.iter().flat_map(|block| block.raw.iter().copied()).collect()
}

/// The blocks, and whether there was an error.
fn read(pieces: &[Bytes], limit: usize) -> (Vec<Block>, bool) {
    let mut scanner = Scanner::new().with_max_event(limit);
    let mut blocks = Vec::new();
    for piece in pieces.iter().map(Some).chain([None]) {
        if let Some(piece) = piece {
            scanner.push(piece.clone());
        }
        loop {
            match if piece.is_some() { scanner.next_block() } else { scanner.finish() } {
                Ok(Some(block)) => {
                    assert!(!block.raw.is_empty() && (block.complete || piece.is_none()));
                    if let Some(json) = block.bare_json() {
                        assert!(block.event.is_none() && json.len() <= block.raw.len());
                    }
                    blocks.push(block);
                }
                Ok(None) => break,
                Err(error) => {
                    scanner.push(Bytes::from_static(b"\n\n"));
                    assert_eq!(scanner.next_block(), Err(error.clone()));
                    assert_eq!(scanner.finish(), Err(error));
                    assert!(!scanner.has_partial());
                    return (blocks, true);
                }
            }
        }
    }
    assert!(!scanner.has_partial());
    (blocks, false)
}

/// WHATWG HTML §9.2.5 and §9.2.6 on the whole text, and the two rules for the end of the file that are ours.
fn standard(text: &[u8]) -> Vec<Said> {
    let mut text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut events = Vec::new();
    let mut draft = Draft::default();
    while let Some(end) = text.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        let (line, rest) = text.split_at(end);
        text = rest.strip_prefix(b"\r\n").unwrap_or(&rest[1..]);
        match line {
            [] => events.extend(std::mem::take(&mut draft).dispatch()),
            line => draft.line(line),
        }
    }
    if text.starts_with(b"data") {
        draft.line(text);
    }
    events.extend(draft.dispatch().filter(|(_, data, ..)| {
        let json = matches!(data.trim_ascii_start().first(), Some(b'{' | b'['));
        data.trim_ascii() == b"[DONE]"
            || json && serde_json::from_slice::<serde::de::IgnoredAny>(data).is_ok()
    }));
    events
}

#[derive(Default)]
struct Draft {
    name: Vec<u8>,
    data: Vec<u8>,
    any: bool,
    id: Option<Vec<u8>>,
    retry: Option<u64>,
}

impl Draft {
    fn line(&mut self, line: &[u8]) {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let field = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = value.to_vec(),
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
                self.any = true;
            }
            b"id" if !value.contains(&0) => self.id = Some(value.to_vec()),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                // A number that does not fit says nothing.
                self.retry = String::from_utf8_lossy(value).parse().ok().or(self.retry);
            }
            _ => {}
        }
    }

    fn dispatch(mut self) -> Option<Said> {
        self.data.pop();
        self.any.then_some((self.name, self.data, self.id, self.retry))
    }
}
