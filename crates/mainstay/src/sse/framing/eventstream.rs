//! AWS event streams (`application/vnd.amazon.eventstream`), as Bedrock streams.
//!
//! Source: Smithy's Amazon Event Stream Specification. A message is a prelude (total length, headers' length, CRC-32
//! of both), headers, a payload, and a CRC-32 of all that. Both sums are checked; a wrong one ends the stream, and
//! lengths are not believed before the prelude's sum was right.
//!
//! ```
//! use mainstay::sse::framing::eventstream::{Decoder, Message};
//!
//! let wire = Message::encode(&[(":message-type", "event"), (":event-type", "messageStop")], b"{}");
//! let mut decoder = Decoder::new();
//! decoder.push(wire);
//! let message = decoder.next_message().unwrap().unwrap();
//! assert_eq!(message.header(":event-type"), Some(&b"messageStop"[..]));
//! assert_eq!(message.payload, "{}");
//! ```

use super::{crc::crc32, frames::Frames};
use crate::sse::DEFAULT_MAX_EVENT;
use bytes::{BufMut, Bytes, BytesMut};
use std::{error::Error, fmt};

const PRELUDE: usize = 12;
const SUM: usize = 4;
/// The specification's limit on the headers of a message.
const MAX_HEADERS: usize = 128 * 1024;

/// One message, with the bytes it was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The bytes as they came.
    pub raw: Bytes,
    /// What the message carries.
    pub payload: Bytes,
    headers: Bytes,
}

/// A stream that cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FramingError {
    /// A message is longer than the limit, or its headers are over 128 KiB.
    TooLarge {
        /// The limit in bytes; exactly as many pass.
        limit: usize,
    },
    /// A sum does not match its bytes.
    Checksum,
    /// Lengths or headers contradict each other.
    Malformed,
    /// The stream ended inside a message.
    Truncated,
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit } => write!(f, "a message of the event stream is over {limit} bytes"),
            Self::Checksum => f.write_str("a checksum in the event stream is wrong"),
            Self::Malformed => f.write_str("a message of the event stream is malformed"),
            Self::Truncated => f.write_str("the event stream ended inside a message"),
        }
    }
}

impl Error for FramingError {}

/// Cuts a stream into messages, each at most 8 MiB unless set otherwise. All `raw` in order are the stream.
#[derive(Debug)]
pub struct Decoder {
    max: usize,
    frames: Frames,
    failed: Option<FramingError>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder with a bound of [`DEFAULT_MAX_EVENT`].
    pub fn new() -> Self {
        Self { max: DEFAULT_MAX_EVENT, frames: Frames::default(), failed: None }
    }

    /// Sets the most bytes of one message.
    #[must_use]
    pub fn with_max_message(mut self, bytes: usize) -> Self {
        self.max = bytes;
        self
    }

    /// Takes the next frame, without copying it.
    pub fn push(&mut self, frame: Bytes) {
        if self.failed.is_none() {
            self.frames.push(frame);
        }
    }

    /// The next message; `None` until more is pushed.
    ///
    /// # Errors
    ///
    /// [`FramingError`]; from then on always.
    pub fn next_message(&mut self) -> Result<Option<Message>, FramingError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let found = self.read();
        if let Err(error) = &found {
            self.failed = Some(error.clone());
            self.frames.clear();
        }
        found
    }

    /// At the end of the body: the messages that are left.
    ///
    /// # Errors
    ///
    /// As [`next_message`](Self::next_message), and [`FramingError::Truncated`].
    pub fn finish(&mut self) -> Result<Option<Message>, FramingError> {
        match self.next_message()? {
            None if self.has_partial() => Err(FramingError::Truncated),
            found => Ok(found),
        }
    }

    /// Whether bytes were pushed that no message has handed back yet.
    pub fn has_partial(&self) -> bool {
        !self.frames.is_empty()
    }

    fn read(&mut self) -> Result<Option<Message>, FramingError> {
        // The prelude, and then the message, in one piece: in the frame at hand, or in what is held.
        let max = self.max;
        let Some(prelude) = self.gather(PRELUDE) else { return Ok(None) };
        let (total, headers) = lengths(prelude, max)?;
        let Some(message) = self.gather(total) else { return Ok(None) };
        let (body, sum) = message.split_at(total - SUM);
        if crc32(body) != be32(sum) {
            return Err(FramingError::Checksum);
        }
        let n = total - self.frames.held().len();
        let raw = self.frames.take(n);
        let message = Message {
            headers: raw.slice(PRELUDE..PRELUDE + headers),
            payload: raw.slice(PRELUDE + headers..total - SUM),
            raw,
        };
        let well_formed = Headers(&message.headers).all(|header| header.is_some());
        if well_formed { Ok(Some(message)) } else { Err(FramingError::Malformed) }
    }

    /// The first `n` bytes of the unit, once they are there.
    fn gather(&mut self, n: usize) -> Option<&[u8]> {
        if self.frames.held().is_empty() && self.frames.frame().len() >= n {
            return self.frames.frame().get(..n);
        }
        while self.frames.held().len() < n {
            if self.frames.frame().is_empty() {
                return None;
            }
            self.frames.hold(n - self.frames.held().len());
        }
        self.frames.held().get(..n)
    }
}

fn be32(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |n, &byte| n << 8 | u32::from(byte))
}

/// The message's length and its headers', as the prelude has them.
fn lengths(prelude: &[u8], max: usize) -> Result<(usize, usize), FramingError> {
    let (lengths, sum) = prelude.split_at(8);
    if crc32(lengths) != be32(sum) {
        return Err(FramingError::Checksum);
    }
    let (total, headers) = lengths.split_at(4);
    let (total, headers) = (be32(total) as usize, be32(headers) as usize);
    if total > max || headers > MAX_HEADERS {
        return Err(FramingError::TooLarge { limit: if total > max { max } else { MAX_HEADERS } });
    }
    if total < PRELUDE + headers + SUM {
        return Err(FramingError::Malformed);
    }
    Ok((total, headers))
}

impl Message {
    /// The value of a header of strings or bytes, such as `:message-type`; `None` where there is none.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        Headers(&self.headers).flatten().find(|header| header.0 == name.as_bytes())?.1
    }

    /// The same as text.
    pub fn header_str(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.header(name)?).ok()
    }

    /// A message of string headers and a payload, for tests and servers. Names and values that are too long for the
    /// format (255 and 65,535 bytes) are cut.
    pub fn encode(headers: &[(&str, &str)], payload: &[u8]) -> Bytes {
        let mut head = BytesMut::new();
        for (name, value) in headers {
            let name = name.as_bytes().get(..name.len().min(255)).unwrap_or_default();
            let value = value.as_bytes().get(..value.len().min(65_535)).unwrap_or_default();
            head.put_u8(name.len() as u8);
            head.put_slice(name);
            head.put_u8(7);
            head.put_u16(value.len() as u16);
            head.put_slice(value);
        }
        let mut out = BytesMut::with_capacity(PRELUDE + head.len() + payload.len() + SUM);
        out.put_u32((PRELUDE + head.len() + payload.len() + SUM) as u32);
        out.put_u32(head.len() as u32);
        out.put_u32(crc32(&out));
        out.put_slice(&head);
        out.put_slice(payload);
        out.put_u32(crc32(&out));
        out.freeze()
    }
}

/// Names, and values of strings and bytes; `None` for what is no header, and then no more.
struct Headers<'a>(&'a [u8]);

impl<'a> Iterator for Headers<'a> {
    type Item = Option<(&'a [u8], Option<&'a [u8]>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let header = self.read();
        if header.is_none() {
            self.0 = &[];
        }
        Some(header)
    }
}

impl<'a> Headers<'a> {
    fn read(&mut self) -> Option<(&'a [u8], Option<&'a [u8]>)> {
        let len = self.cut(1)?.first().copied()?;
        let name = self.cut(len.into())?;
        // true, false, i8, i16, i32, i64, bytes, string, timestamp, uuid
        let fixed = match self.cut(1)?.first()? {
            0 | 1 => 0,
            2 => 1,
            3 => 2,
            4 => 4,
            5 | 8 => 8,
            9 => 16,
            6 | 7 => {
                let len = self.cut(2)?.iter().fold(0, |n, &byte| n << 8 | usize::from(byte));
                return Some((name, Some(self.cut(len)?)));
            }
            _ => return None,
        };
        self.cut(fixed)?;
        Some((name, None))
    }

    fn cut(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }
}
