//! The common case without reading JSON: an event that differs from an earlier one in nothing but its text.
//!
//! Most events of a stream are one event, over and over, with another word in it. Once such an event has been read in full
//! and found to be a piece of content and nothing else, it is kept as a [`Pattern`]: its bytes, and the places in them that
//! may be filled in otherwise. Those are the content itself, and fields that no reader looks at and that change each time
//! (padding, sequence numbers). What is the same everywhere else, and has a well-formed string or number in those places, is
//! the same JSON, token by token, but for these: so it means the same. Whatever is not sure to be that is read in full.
//!
//! A pattern knows the whole block of the stream too, line ends and event name included: a frame that is nothing but such
//! events is not even cut into lines.

use super::seen::Seen;
use crate::json::{
    lexeme::{number_len, string_len},
    quoted,
};
use memchr::memmem;
use std::{fmt, ops::Range};

/// The string of a tool call that grows, inside of a list that is content as a whole.
const ARGUMENTS: &str = "\"arguments\":\"";
/// Strings that no reader looks at: padding against eavesdroppers (OpenAI, Mistral), the time of each line (Ollama).
const UNREAD_STRINGS: [&str; 3] = ["\"obfuscation\":\"", "\"p\":\"", "\"created_at\":\""];
/// Numbers that no reader looks at.
const UNREAD_NUMBERS: [&str; 1] = ["\"sequence_number\":"];

/// The last event that was content and nothing else.
#[derive(Default)]
pub(super) struct Pattern {
    /// The event's name.
    name: Vec<u8>,
    /// The event as it came, without what fills its holes: all of its block, where that is known, or its data alone.
    rest: Vec<u8>,
    /// Where in `rest` the data stands.
    data: Range<u16>,
    /// `rest` is of a whole block, and has its end.
    whole: bool,
    /// In order; the first `count` of them. There is no pattern without any.
    holes: [Hole; MAX_HOLES],
    count: u8,
    /// It is, or begins, a tool call.
    tool: bool,
    /// Events in a row that were not like it. A provider that varies its events is not learnt from for ever.
    misses: u8,
}

const MAX_HOLES: usize = 4;
const MAX_LEN: usize = 2048;
const MAX_MISSES: u8 = 8;

/// A place in a pattern that may be filled in otherwise.
#[derive(Clone, Copy, Default)]
struct Hole {
    at: u16,
    kind: Filling,
}

/// The same in an event.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    start: usize,
    end: usize,
    kind: Filling,
}

/// What a place is filled with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Filling {
    /// A string, between its quotes.
    #[default]
    Unread,
    /// A string that must not be empty: what makes the event content.
    Content,
    /// The same, and it is text of the answer.
    Text,
    /// A whole number.
    Number,
}

/// What an event that is like the last one says: content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alike {
    /// The bytes that it takes.
    pub(super) len: usize,
    /// Those of them that are text.
    pub(super) text: usize,
    pub(super) tool: bool,
}

// What providers said does not belong in logs.
impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pattern").finish_non_exhaustive()
    }
}

impl Pattern {
    /// Whether this is the data of such an event.
    pub(super) fn data(&mut self, name: &[u8], data: &[u8]) -> Option<Alike> {
        let found = self.fill(self.data.start.into()..self.data.end.into(), data)?;
        if found.len != data.len() || name != self.name {
            return None;
        }
        self.misses = 0;
        Some(found)
    }

    /// Whether `bytes`, which begin where a block begins, begin with a whole block of such an event.
    pub(super) fn block(&mut self, bytes: &[u8]) -> Option<Alike> {
        if !self.whole {
            return None;
        }
        let found = self.fill(0..self.rest.len(), bytes)?;
        self.misses = 0;
        Some(found)
    }

    /// Whether `bytes` begin with this part of the event, its holes filled in somehow.
    fn fill(&self, part: Range<usize>, bytes: &[u8]) -> Option<Alike> {
        let holes = self.holes.get(..self.count.into()).filter(|holes| !holes.is_empty())?;
        let (mut at, mut rest, mut text) = (part.start, bytes, 0);
        for hole in holes {
            let end = hole.at.into();
            rest = rest.strip_prefix(self.rest.get(at..end)?)?;
            let len = match hole.kind {
                Filling::Number => number_len(rest)?,
                _ => string_len(rest)?,
            };
            match hole.kind {
                Filling::Unread | Filling::Number => {}
                Filling::Content | Filling::Text if len == 0 => return None,
                Filling::Content => {}
                Filling::Text => text = len,
            }
            rest = rest.get(len..)?;
            at = end;
        }
        rest = rest.strip_prefix(self.rest.get(at..part.end)?)?;
        Some(Alike { len: bytes.len() - rest.len(), text, tool: self.tool })
    }

    /// Takes an event for the pattern if it was content and nothing else. `block` is the one that it came in, if any.
    pub(super) fn learn(&mut self, block: Option<&[u8]>, name: &[u8], data: &[u8], seen: &Seen<'_>) {
        if self.misses >= MAX_MISSES || !seen.is_content_alone() {
            return;
        }
        let Some(content) = content(data, seen) else { return };
        let block = block.and_then(|block| Some((block, place(data, block)?)));
        let (event, start) = block.unwrap_or((data, 0));
        let mut places = [Place::default(); MAX_HOLES];
        let mut count = 0;
        for (free, found) in places.iter_mut().zip(std::iter::once(content).chain(unread(data))) {
            *free = Place { start: start + found.start, end: start + found.end, kind: found.kind };
            count += 1;
        }
        let Some(places) = places.get_mut(..count) else { return };
        places.sort_unstable_by_key(|place| place.start);
        let filled: usize = places.iter().map(|place| place.end - place.start).sum();
        let apart = places.windows(2).all(|pair| matches!(pair, [a, b] if a.end <= b.start));
        if !apart || event.len() - filled > MAX_LEN || name.len() > MAX_LEN {
            return;
        }
        self.misses += 1;
        self.name.clear();
        self.name.extend_from_slice(name);
        self.rest.clear();
        let mut from = 0;
        for (hole, place) in self.holes.iter_mut().zip(&*places) {
            self.rest.extend_from_slice(event.get(from..place.start).unwrap_or_default());
            *hole = Hole { at: u16::try_from(self.rest.len()).unwrap_or(u16::MAX), kind: place.kind };
            from = place.end;
        }
        self.rest.extend_from_slice(event.get(from..).unwrap_or_default());
        let behind = event.len() - start - data.len();
        let end = self.rest.len() - behind;
        self.data = u16::try_from(start).unwrap_or(u16::MAX)..u16::try_from(end).unwrap_or(0);
        self.count = u8::try_from(count).unwrap_or(0);
        self.tool = seen.tool;
        self.whole = block.is_some() && ends_for_good(event) && !event.starts_with(b"\xef\xbb\xbf");
    }
}

/// Whether a block that ends so has ended, whatever follows: a last CR may have its LF still to come.
fn ends_for_good(block: &[u8]) -> bool {
    block.ends_with(b"\n\n") || block.ends_with(b"\r\n\r\n")
}

/// Where the one string stands that makes the event content.
fn content(data: &[u8], seen: &Seen<'_>) -> Option<Place> {
    let (raw, is_text) = seen.only_content()?;
    let (string, kind) = match quoted(raw) {
        Some(string) => (string, if is_text { Filling::Text } else { Filling::Content }),
        // A list is content by what is in it, whatever this string of it says.
        None => {
            let begins = memmem::rfind(raw.get().as_bytes(), ARGUMENTS.as_bytes())? + ARGUMENTS.len();
            let string = raw.get().get(begins..)?;
            (string.get(..string_len(string.as_bytes())?)?, Filling::Unread)
        }
    };
    let start = place(string.as_bytes(), data)?;
    Some(Place { start, end: start + string.len(), kind })
}

/// Where fields stand that no reader looks at. In JSON a quote that opens a string is never behind a backslash, so what has
/// the quotes of a key, and the colon, is one.
fn unread(data: &[u8]) -> impl Iterator<Item = Place> {
    let find = move |key: &str| Some(memmem::find(data, key.as_bytes())? + key.len());
    let strings = UNREAD_STRINGS.iter().filter_map(move |key| {
        let start = find(key)?;
        Some(Place { start, end: start + string_len(data.get(start..)?)?, kind: Filling::Unread })
    });
    let numbers = UNREAD_NUMBERS.iter().filter_map(move |key| {
        let start = find(key)?;
        Some(Place { start, end: start + number_len(data.get(start..)?)?, kind: Filling::Number })
    });
    strings.chain(numbers)
}

/// Where in `whole` the slice `part` of it begins.
fn place(part: &[u8], whole: &[u8]) -> Option<usize> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    (start.checked_add(part.len())? <= whole.len()).then_some(start)
}
