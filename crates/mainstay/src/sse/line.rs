//! One line of the grammar, and the event that the lines so far make.

use super::Event;
use bytes::Bytes;
use std::ops::Range;

/// U+FEFF, dropped at the head of a stream.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// What the lines of the block have said so far. Ranges are offsets into the block.
#[derive(Debug, Default)]
pub(super) struct Draft {
    data: Data,
    name: Range<usize>,
    id: Option<Range<usize>>,
    retry: Option<u64>,
    /// A line other than a comment was seen.
    pub(super) begun: bool,
}

#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    One(Range<usize>),
    Joined(Vec<u8>),
}

impl Draft {
    /// Takes a line, without its end, that is not blank. `block` is the block so far, `at` the line's place in it.
    pub(super) fn line(&mut self, block: &[u8], at: Range<usize>) {
        let line = block.get(at.clone()).unwrap_or_default();
        if line.first() == Some(&b':') {
            return;
        }
        self.begun = true;
        if let Some(value) = value(line, b"data", &at) {
            self.data(block, value);
        } else if let Some(value) = value(line, b"event", &at) {
            self.name = value;
        } else if let Some(value) = value(line, b"id", &at) {
            let text = block.get(value.clone()).unwrap_or_default();
            if memchr::memchr(0, text).is_none() {
                self.id = Some(value);
            }
        } else if let Some(value) = value(line, b"retry", &at) {
            let text = block.get(value).unwrap_or_default();
            if text.iter().all(u8::is_ascii_digit) {
                self.retry = std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()).or(self.retry);
            }
        }
    }

    fn data(&mut self, block: &[u8], value: Range<usize>) {
        let text = block.get(value.clone()).unwrap_or_default();
        match &mut self.data {
            Data::None => self.data = Data::One(value),
            Data::One(first) => {
                let first = block.get(first.clone()).unwrap_or_default();
                let mut joined = Vec::with_capacity(first.len() + 1 + text.len());
                joined.extend_from_slice(first);
                joined.push(b'\n');
                joined.extend_from_slice(text);
                self.data = Data::Joined(joined);
            }
            Data::Joined(joined) => {
                joined.push(b'\n');
                joined.extend_from_slice(text);
            }
        }
    }

    /// The event that the lines make of the block `raw`; `None` where no line had data.
    pub(super) fn event(self, raw: &Bytes) -> Option<Event> {
        let data = match self.data {
            Data::None => return None,
            Data::One(at) => raw.slice(at),
            Data::Joined(joined) => joined.into(),
        };
        let name = if self.name.is_empty() { Bytes::new() } else { raw.slice(self.name) };
        Some(Event { name, data, id: self.id.map(|at| raw.slice(at)), retry: self.retry })
    }
}

/// Where the value of the field `name` stands, if the line has that field: after the colon and one blank.
fn value(line: &[u8], name: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
    let rest = line.strip_prefix(name)?;
    let value = match rest {
        [] => rest,
        [b':', b' ', value @ ..] | [b':', value @ ..] => value,
        _ => return None,
    };
    Some(at.end - value.len()..at.end)
}
