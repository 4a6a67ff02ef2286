//! How a stream is cut into events, whichever way its dialect frames them.

use crate::{
    dialect::{Dialect, Meaning, StreamReader, type_of},
    sse::{
        self, Block, SseError,
        framing::{
            eventstream::{Decoder, FramingError, Message},
            ndjson::{self, Line, LineTooLarge},
        },
    },
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use serde::de::IgnoredAny;

/// Cuts a stream into [`Unit`]s.
#[derive(Debug)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events(sse::Scanner),
    /// Lines of JSON.
    Lines(ndjson::Scanner),
    /// AWS event-stream messages.
    Messages(Decoder),
}

/// One event, with the bytes it was made of.
pub(crate) enum Unit {
    Block(Block),
    Line(Line),
    Message(Message),
}

/// Why a stream cannot be cut any further.
pub(crate) enum Uncut {
    /// One event is over the limit.
    TooLarge { limit: usize },
    /// The bytes are none of this framing.
    Garbled { what: &'static str },
    /// It ended inside an event.
    Half,
}

/// What a stream of this dialect is called in a content type.
fn media_type(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Ollama => "application/x-ndjson",
        Dialect::Converse => "application/vnd.amazon.eventstream",
        _ => "text/event-stream",
    }
}

/// Whether these headers announce a stream of this dialect.
pub(crate) fn announces_stream(dialect: Dialect, headers: &HeaderMap) -> bool {
    is_type(headers, media_type(dialect))
}

/// Whether the content type is this one, whatever its parameters.
pub(super) fn is_type(headers: &HeaderMap, media: &str) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(media.as_bytes())
}

impl Framing {
    /// The framing of a dialect, with a bound on each event.
    pub(crate) fn of(dialect: Dialect, max: usize) -> Self {
        match dialect {
            Dialect::Ollama => Self::Lines(ndjson::Scanner::new().with_max_line(max)),
            Dialect::Converse => Self::Messages(Decoder::new().with_max_message(max)),
            _ => Self::Events(sse::Scanner::new().with_max_event(max)),
        }
    }

    pub(crate) fn push(&mut self, frame: Bytes) {
        match self {
            Self::Events(scanner) => scanner.push(frame),
            Self::Lines(scanner) => scanner.push(frame),
            Self::Messages(decoder) => decoder.push(frame),
        }
    }

    /// Whether what is pushed next begins an event, so that its bytes can be compared with those of one.
    pub(super) fn is_between_events(&self) -> bool {
        matches!(self, Self::Events(scanner) if scanner.is_between_blocks())
    }

    /// The events at the head of what is here that are like the last, if there are any: read, and all their bytes.
    pub(super) fn next_alike(&mut self, reader: &mut StreamReader, max: usize) -> Option<Bytes> {
        let Self::Events(scanner) = self else { return None };
        match reader.read_alike(scanner.ahead()?, max) {
            0 => None,
            len => Some(scanner.skip(len)),
        }
    }

    /// The next whole event; `None` until more is pushed.
    pub(crate) fn next(&mut self) -> Result<Option<Unit>, Uncut> {
        Ok(match self {
            Self::Events(scanner) => scanner.next_block()?.map(Unit::Block),
            Self::Lines(scanner) => scanner.next_line()?.map(Unit::Line),
            Self::Messages(decoder) => decoder.next_message()?.map(Unit::Message),
        })
    }

    /// At the end of the stream: what is left, which may be half an event.
    pub(crate) fn finish(&mut self) -> Result<Option<Unit>, Uncut> {
        Ok(match self {
            Self::Events(scanner) => scanner.finish()?.map(Unit::Block),
            Self::Lines(scanner) => scanner.finish()?.map(Unit::Line),
            Self::Messages(decoder) => decoder.finish()?.map(Unit::Message),
        })
    }
}

impl Unit {
    /// What it means to its reader.
    pub(super) fn read(&self, reader: &mut StreamReader) -> Meaning {
        match self {
            Self::Block(block) => reader.read_block(block),
            Self::Line(line) if line.data.is_empty() => Meaning::Preamble,
            Self::Line(line) => reader.read_data(b"", &line.data),
            Self::Message(message) => reader.read_message(message),
        }
    }

    /// Its bytes as its dialect has them. In Messages each event has a name, and SDKs go by that: where a provider leaves it
    /// out, it is that of the event's type.
    pub(super) fn into_named(self, dialect: Dialect) -> Bytes {
        let name = match &self {
            Self::Block(Block { event: Some(event), .. })
                if dialect == Dialect::Messages && event.name_bytes().is_empty() =>
            {
                type_of(event.data())
            }
            _ => None,
        };
        let raw = self.into_raw();
        let Some(name) = name else { return raw };
        // Where the stream begins with a BOM, that is not to stand inside of a line.
        let rest = raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&raw);
        [b"event: ", name.as_bytes(), b"\n", rest].concat().into()
    }

    pub(super) fn into_raw(self) -> Bytes {
        match self {
            Self::Block(block) => block.raw,
            Self::Line(line) => line.raw,
            Self::Message(message) => message.raw,
        }
    }

    /// Its data: the JSON in it.
    pub(super) fn data(&self) -> Bytes {
        match self {
            Self::Block(block) => match &block.event {
                Some(event) => event.data_bytes().clone(),
                None => block.bare_json().unwrap_or_default(),
            },
            Self::Line(line) => line.data.clone(),
            Self::Message(message) => message.payload.clone(),
        }
    }

    /// Whether it says nothing to anyone: blanks and comments.
    pub(super) fn is_silent(&self) -> bool {
        match self {
            Self::Block(block) => {
                let is_comment = |line: &[u8]| line.trim_ascii().is_empty() || line.starts_with(b":");
                // The stream may start with a BOM.
                let text = block.raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&block.raw);
                block.event.is_none() && text.split(|byte| matches!(byte, b'\r' | b'\n')).all(is_comment)
            }
            Self::Line(line) => line.data.is_empty(),
            Self::Message(_) => false,
        }
    }

    /// The rest at the end of a stream, closed off as its grammar wants it; `None` where it is half an event.
    pub(super) fn closed_off(self) -> Option<Self> {
        match self {
            Self::Block(block) if block.complete => Some(Self::Block(block)),
            Self::Block(block) if block.event.is_some() || block.bare_json().is_some() => {
                Some(Self::Block(Block { raw: [&block.raw[..], b"\n\n"].concat().into(), ..block }))
            }
            Self::Block(_) => None,
            Self::Line(line) if line.complete => Some(Self::Line(line)),
            Self::Line(line) if serde_json::from_slice::<IgnoredAny>(&line.data).is_ok() => {
                Some(Self::Line(Line { raw: [&line.raw[..], b"\n"].concat().into(), ..line }))
            }
            Self::Line(_) => None,
            Self::Message(message) => Some(Self::Message(message)),
        }
    }
}

impl From<SseError> for Uncut {
    fn from(error: SseError) -> Self {
        match error {
            SseError::EventTooLarge { limit } => Self::TooLarge { limit },
        }
    }
}

impl From<LineTooLarge> for Uncut {
    fn from(error: LineTooLarge) -> Self {
        Self::TooLarge { limit: error.limit }
    }
}

impl From<FramingError> for Uncut {
    fn from(error: FramingError) -> Self {
        match error {
            FramingError::TooLarge { limit } => Self::TooLarge { limit },
            FramingError::Checksum => Self::Garbled { what: "a checksum in its event stream is wrong" },
            FramingError::Malformed => Self::Garbled { what: "a message of its event stream is malformed" },
            FramingError::Truncated => Self::Half,
        }
    }
}
