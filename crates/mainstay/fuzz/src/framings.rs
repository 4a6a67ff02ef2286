//! Lines of JSON and AWS event streams.
//!
//! First line: `n` for lines, `e` for an event stream as it stands, anything else for one whose checksums are made
//! right first (a fuzzer does not guess them); the limit; the lengths of the pieces. The rest is the stream.
//!
//! - What is handed back is what another reading of the format gives, up to the same error.
//! - The units' bytes in order are the stream as far as it was good; none is over the limit; an error stays.
//! - Wherever it is cut, the same.
//! - A message that is written is read back.

use crate::input;
use bytes::Bytes;
use mainstay::sse::framing::{
    eventstream::{Decoder, FramingError, Message},
    ndjson,
};

/// Feeds one case.
pub fn check(data: &[u8]) {
    let Some((line, bytes)) = input::split(data) else { return };
    let limit = input::limit(line.get(1));
    let lengths = line.get(2..).unwrap_or_default();
    match line.first() {
        Some(b'n') => lines(bytes, lengths, limit),
        Some(b'e') => messages(bytes, lengths, limit),
        _ => messages(&mended(bytes), lengths, limit),
    }
}

fn lines(bytes: &[u8], lengths: &[u8], limit: usize) {
    let mut expected = Vec::new();
    let mut too_large = false;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        too_large = line.len() > limit;
        if too_large {
            break;
        }
        expected.push((line.to_vec(), line.trim_ascii().to_vec(), line.ends_with(b"\n")));
    }

    let mut scanner = ndjson::Scanner::new().with_max_line(limit);
    let mut found = Vec::new();
    let mut error = None;
    'all: for piece in input::pieces(bytes, lengths).into_iter().map(Some).chain([None]) {
        let last = piece.is_none();
        if let Some(piece) = piece {
            scanner.push(piece);
        }
        loop {
            match if last { scanner.finish() } else { scanner.next_line() } {
                Ok(Some(line)) => found.push((line.raw.to_vec(), line.data.to_vec(), line.complete)),
                Ok(None) => break,
                Err(too_large) => {
                    error = Some(too_large);
                    break 'all;
                }
            }
        }
    }
    assert_eq!(found, expected);
    assert_eq!(error.is_some(), too_large);
    assert!(!scanner.has_partial());
    if error.is_some() {
        scanner.push(Bytes::from_static(b"{}\n"));
        assert_eq!(scanner.next_line().err(), error);
        assert_eq!(scanner.finish().err(), error);
    }
}

fn messages(bytes: &[u8], lengths: &[u8], limit: usize) {
    let (expected, end) = format(bytes, limit);

    let mut decoder = Decoder::new().with_max_message(limit);
    let mut found = Vec::new();
    let mut error = None;
    'all: for piece in input::pieces(bytes, lengths).into_iter().map(Some).chain([None]) {
        let last = piece.is_none();
        if let Some(piece) = piece {
            decoder.push(piece);
        }
        loop {
            match if last { decoder.finish() } else { decoder.next_message() } {
                Ok(Some(message)) => found.push(message),
                Ok(None) => break,
                Err(wrong) => {
                    error = Some(wrong);
                    break 'all;
                }
            }
        }
    }
    assert_eq!(error, end);
    match &error {
        None => assert!(!decoder.has_partial()),
        Some(FramingError::Truncated) => assert!(decoder.has_partial()),
        Some(_) => {
            decoder.push(bytes.to_vec().into());
            assert_eq!(
                (decoder.next_message(), decoder.finish()),
                (Err(end.clone().unwrap()), Err(end.unwrap()))
            );
            assert!(!decoder.has_partial());
        }
    }
    assert_eq!(found.len(), expected.len());
    for (message, read) in found.iter().zip(&expected) {
        assert!(message.raw.len() <= limit);
        assert_eq!((&message.raw[..], &message.payload[..]), (read.raw, read.payload));
        for (name, value) in &read.headers {
            let Ok(name) = std::str::from_utf8(name) else { continue };
            // Of two with the same name the first counts.
            let first =
                read.headers.iter().find(|header| header.0 == name.as_bytes()).and_then(|header| header.1);
            assert_eq!(message.header(name), first);
            assert!(
                value.is_none() || message.header_str(name).is_none_or(|text| Some(text.as_bytes()) == first)
            );
        }
        written(message);
    }
}

/// Writes a message with the same payload, and reads it.
fn written(message: &Message) {
    let kind = message.header_str(":event-type").unwrap_or_default();
    let headers = [(":message-type", "event"), (":event-type", kind)];
    let mut decoder = Decoder::new();
    decoder.push(Message::encode(&headers, &message.payload));
    let again = decoder.next_message().expect("it is well-formed").expect("it is whole");
    assert_eq!(again.payload, message.payload);
    for (name, value) in headers {
        assert_eq!(again.header_str(name), Some(value));
    }
    assert_eq!(decoder.finish(), Ok(None));
}

/// A header's name, and its value if that is text or bytes.
type Field<'a> = (&'a [u8], Option<&'a [u8]>);

struct Read<'a> {
    raw: &'a [u8],
    headers: Vec<Field<'a>>,
    payload: &'a [u8],
}

const PRELUDE: usize = 12;
const SUM: usize = 4;
const MAX_HEADERS: usize = 128 * 1024;

/// The format as its specification has it (Smithy, `application/vnd.amazon.eventstream`), and why it ends early.
fn format(mut bytes: &[u8], limit: usize) -> (Vec<Read<'_>>, Option<FramingError>) {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let Some(prelude) = bytes.get(..PRELUDE) else { return (all, Some(FramingError::Truncated)) };
        let (total, headers) = (number(&prelude[..4]), number(&prelude[4..8]));
        if crc32(&prelude[..8]) as usize != number(&prelude[8..]) {
            return (all, Some(FramingError::Checksum));
        }
        if total > limit {
            return (all, Some(FramingError::TooLarge { limit }));
        }
        if headers > MAX_HEADERS {
            return (all, Some(FramingError::TooLarge { limit: MAX_HEADERS }));
        }
        if total < PRELUDE + headers + SUM {
            return (all, Some(FramingError::Malformed));
        }
        let Some(raw) = bytes.get(..total) else { return (all, Some(FramingError::Truncated)) };
        if crc32(&raw[..total - SUM]) as usize != number(&raw[total - SUM..]) {
            return (all, Some(FramingError::Checksum));
        }
        let Some(fields) = fields(&raw[PRELUDE..PRELUDE + headers]) else {
            return (all, Some(FramingError::Malformed));
        };
        all.push(Read { raw, headers: fields, payload: &raw[PRELUDE + headers..total - SUM] });
        bytes = &bytes[total..];
    }
    (all, None)
}

fn fields(mut bytes: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut fields = Vec::new();
    while let Some((&length, rest)) = bytes.split_first() {
        let (name, rest) = rest.split_at_checked(length.into())?;
        let (&kind, rest) = rest.split_first()?;
        let (length, rest) = match kind {
            6 | 7 => (number(rest.get(..2)?), &rest[2..]),
            _ => (*[0, 0, 1, 2, 4, 8, 0, 0, 8, 16].get(usize::from(kind))?, rest),
        };
        let (value, rest) = rest.split_at_checked(length)?;
        fields.push((name, matches!(kind, 6 | 7).then_some(value)));
        bytes = rest;
    }
    Some(fields)
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, &byte| number * 256 + usize::from(byte))
}

/// CRC-32 (IEEE 802.3), bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 0 { crc >> 1 } else { crc >> 1 ^ 0xedb8_8320 };
        }
    }
    !crc
}

/// The stream with right checksums, as far as its lengths lead.
fn mended(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut at = 0;
    while let Some(message) = bytes.get_mut(at..).filter(|rest| rest.len() >= PRELUDE) {
        let sum = crc32(&message[..8]).to_be_bytes();
        message[8..PRELUDE].copy_from_slice(&sum);
        let total = number(&message[..4]);
        if total < PRELUDE + SUM || total > message.len() {
            break;
        }
        let sum = crc32(&message[..total - SUM]).to_be_bytes();
        message[total - SUM..total].copy_from_slice(&sum);
        at += total;
    }
    bytes
}

/// A message with right checksums around headers and payload as they are, for seeds.
pub fn frame(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let total = PRELUDE + headers.len() + payload.len() + SUM;
    let lengths = [total, headers.len()].map(|length| u32::try_from(length).expect("small").to_be_bytes());
    mended(&[&lengths.concat()[..], &[0; 4], headers, payload, &[0; SUM]].concat())
}
