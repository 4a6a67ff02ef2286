//! What the scanner hands back.

use bytes::Bytes;
use std::{str::Utf8Error, time::Duration};

/// A piece of the stream that ends where an event ends, with the bytes it was made of.
///
/// Another event may be inserted after any block that is `complete`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The bytes as they came. All blocks' bytes in order are the stream.
    pub raw: Bytes,
    /// The event that the bytes spell; `None` for comments, blank lines, and events without data.
    pub event: Option<Event>,
    /// Whether the block ended as the grammar wants it. `false` only for the rest at the end of the file: whoever adds
    /// an event must close this one off with a blank line first.
    pub complete: bool,
}

impl Block {
    /// JSON that stands in the stream without `data:`, as Gemini sends some errors: the block's bytes without the
    /// blanks around them, if it is no event and looks like an object or an array. Not checked further.
    pub fn bare_json(&self) -> Option<Bytes> {
        if self.event.is_some() {
            return None;
        }
        let text = self.raw.strip_prefix(super::line::BOM).unwrap_or(&self.raw).trim_ascii();
        let (first, last) = (text.first()?, text.last()?);
        let json = matches!((first, last), (b'{', b'}') | (b'[', b']'));
        json.then(|| self.raw.slice_ref(text))
    }
}

/// One event. Cheap to clone; its parts are slices of the frame that it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub(super) name: Bytes,
    pub(super) data: Bytes,
    pub(super) id: Option<Bytes>,
    pub(super) retry: Option<u64>,
}

impl Event {
    /// An event made by hand. An empty name means `message`.
    pub fn new(name: impl Into<Bytes>, data: impl Into<Bytes>) -> Self {
        Self { name: name.into(), data: data.into(), id: None, retry: None }
    }

    /// The value of `event:`, or `message` where there is none or it is not UTF-8.
    pub fn name(&self) -> &str {
        match std::str::from_utf8(&self.name) {
            Ok(name) if !name.is_empty() => name,
            _ => "message",
        }
    }

    /// The value of `event:` as it came, empty where there is none.
    pub fn name_bytes(&self) -> &[u8] {
        &self.name
    }

    /// The data: the values of all `data:` lines, joined by LF.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The data as shared bytes.
    pub fn data_bytes(&self) -> &Bytes {
        &self.data
    }

    /// The data as text.
    ///
    /// # Errors
    ///
    /// Where it is not UTF-8.
    pub fn data_str(&self) -> Result<&str, Utf8Error> {
        std::str::from_utf8(&self.data)
    }

    /// This event's own `id:`; an earlier event's is not inherited.
    pub fn id(&self) -> Option<&[u8]> {
        self.id.as_deref()
    }

    /// The reconnection time that the server asks for.
    pub fn retry(&self) -> Option<Duration> {
        self.retry.map(Duration::from_millis)
    }

    /// Whether the data is `[DONE]`, the end of OpenAI's chat streams.
    pub fn is_done(&self) -> bool {
        self.data.trim_ascii() == b"[DONE]"
    }
}
