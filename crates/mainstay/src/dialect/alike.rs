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

use super::{json::quoted, seen::Seen};
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
    /// The event as it came: all of its block, where that is known, or its data alone.
    event: Vec<u8>,
    /// Where in `event` the data stands.
    data: Range<usize>,
    /// `event` is all of a block, and has its end.
    whole: bool,
    /// In order. None: there is no pattern.
    holes: [Hole; MAX_HOLES],
    filled: usize,
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
    start: usize,
    end: usize,
    kind: Filling,
}

/// What a place is filled with.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
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
        let found = self.fill(self.data.clone(), data)?;
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
        let found = self.fill(0..self.event.len(), bytes)?;
        self.misses = 0;
        Some(found)
    }

    /// Whether `bytes` begin with this part of the event, its holes filled in somehow.
    fn fill(&self, part: Range<usize>, bytes: &[u8]) -> Option<Alike> {
        let holes = self.holes.get(..self.filled).filter(|holes| !holes.is_empty())?;
        let (mut at, mut rest, mut text) = (part.start, bytes, 0);
        for hole in holes {
            rest = rest.strip_prefix(self.event.get(at..hole.start)?)?;
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
            at = hole.end;
        }
        rest = rest.strip_prefix(self.event.get(at..part.end)?)?;
        Some(Alike { len: bytes.len() - rest.len(), text, tool: self.tool })
    }

    /// Takes an event for the pattern if it was content and nothing else. `block` is the one that it came in, if any.
    pub(super) fn learn(&mut self, block: Option<&[u8]>, name: &[u8], data: &[u8], seen: &Seen<'_>) {
        if self.misses >= MAX_MISSES || !seen.is_content_alone() {
            return;
        }
        let Some(content) = content(data, seen) else { return };
        let block = block.and_then(|block| Some((block, place(data, block)?)));
        let (event, at) = block.unwrap_or((data, 0));
        if event.len() - content.end + content.start > MAX_LEN || name.len() > MAX_LEN {
            return;
        }
        let mut holes = [Hole::default(); MAX_HOLES];
        let mut filled = 0;
        for hole in std::iter::once(content).chain(unread(data)) {
            if let Some(free) = holes.get_mut(filled) {
                *free = Hole { start: at + hole.start, end: at + hole.end, kind: hole.kind };
                filled += 1;
            }
        }
        let Some(taken) = holes.get_mut(..filled) else { return };
        taken.sort_unstable_by_key(|hole| hole.start);
        // A field inside of the content's own string would be none; in well-formed JSON there is no such thing.
        if taken.windows(2).any(|pair| matches!(pair, [a, b] if a.end > b.start)) {
            return;
        }
        self.misses += 1;
        self.whole = block.is_some() && ends_for_good(event) && !event.starts_with(b"\xef\xbb\xbf");
        self.data = at..at + data.len();
        (self.holes, self.filled, self.tool) = (holes, filled, seen.tool);
        for (place, bytes) in [(&mut self.name, name), (&mut self.event, event)] {
            place.clear();
            place.extend_from_slice(bytes);
        }
    }
}

/// Whether a block that ends so has ended, whatever follows: a last CR may have its LF still to come.
fn ends_for_good(block: &[u8]) -> bool {
    block.ends_with(b"\n\n") || block.ends_with(b"\r\n\r\n")
}

/// Where the one string stands that makes the event content.
fn content(data: &[u8], seen: &Seen<'_>) -> Option<Hole> {
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
    Some(Hole { start, end: start + string.len(), kind })
}

/// Where fields stand that no reader looks at. In JSON a quote that opens a string is never behind a backslash, so what has
/// the quotes of a key, and the colon, is one.
fn unread(data: &[u8]) -> impl Iterator<Item = Hole> {
    let find = move |key: &str| Some(memmem::find(data, key.as_bytes())? + key.len());
    let strings = UNREAD_STRINGS.iter().filter_map(move |key| {
        let start = find(key)?;
        Some(Hole { start, end: start + string_len(data.get(start..)?)?, kind: Filling::Unread })
    });
    let numbers = UNREAD_NUMBERS.iter().filter_map(move |key| {
        let start = find(key)?;
        Some(Hole { start, end: start + number_len(data.get(start..)?)?, kind: Filling::Number })
    });
    strings.chain(numbers)
}

/// Where in `whole` the slice `part` of it begins.
fn place(part: &[u8], whole: &[u8]) -> Option<usize> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    (start.checked_add(part.len())? <= whole.len()).then_some(start)
}

/// The bytes of a well-formed string up to the quote that closes it.
fn string_len(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut is_ascii = true;
    loop {
        let rest = bytes.get(at..)?;
        if let Some(eight) = rest.first_chunk() {
            let plain = plain_bytes(u64::from_le_bytes(*eight));
            at += plain;
            if plain == 8 {
                continue;
            }
        }
        match bytes.get(at..)? {
            [b'"', ..] => break,
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => at += 2,
            [b'\\', b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|hex| hex.is_ascii_hexdigit()) => {
                at += 6
            }
            [b'\\', ..] | [] => return None,
            [byte, ..] if *byte < 0x20 => return None,
            [byte, ..] if !byte.is_ascii() => {
                is_ascii = false;
                at += bytes.get(at..)?.iter().take_while(|byte| !byte.is_ascii()).count();
            }
            _ => at += 1,
        }
    }
    (is_ascii || std::str::from_utf8(bytes.get(..at)?).is_ok()).then_some(at)
}

/// How many of eight bytes, the lowest first, are ASCII that stands for itself in a string.
fn plain_bytes(eight: u64) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    // Of each of these the lowest bit that is set is exact, and so it is of all of them together.
    let zero = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes;
    let quote = zero(eight ^ (ONES * b'"' as u64));
    let escape = zero(eight ^ (ONES * b'\\' as u64));
    let control = eight.wrapping_sub(ONES * 0x20) & !eight;
    let special = (quote | escape | control | eight) & HIGH;
    special.trailing_zeros() as usize / 8
}

/// The digits of a whole number, as JSON has them.
fn number_len(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits == 1 || digits > 1 && bytes.first() != Some(&b'0')).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By serde_json, as the full reading has it.
    fn full(bytes: &[u8]) -> Option<usize> {
        let quoted = [b"\"", bytes].concat();
        let mut values =
            serde_json::Deserializer::from_slice(&quoted).into_iter::<&serde_json::value::RawValue>();
        values.next()?.ok().map(|raw| raw.get().len() - 2)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_string_ends_where_serde_says(
            pieces in prop::collection::vec(prop::sample::select(vec![
                &b"a"[..], b"words of text", b"\"", b"\\", b"\\n", b"\\\"", b"\\u00e9", b"\\ud83d", b"\\u12", b"\xc3\xa9",
                b"\xff", b"\xe2\x82", b"\t", b"\n", b"\x1f", b"\x7f", b" ", b"!", b"#", b"[", b"]", b"\xf0\x9f\xaa\x90",
            ]), 0..14),
        ) {
            let bytes = [&pieces.concat()[..], b"\""].concat();
            prop_assert_eq!(string_len(&bytes), full(&bytes), "{}", bytes.escape_ascii());
        }

        #[test]
        fn eight_bytes_are_plain_up_to_the_first_that_is_not(bytes in any::<[u8; 8]>()) {
            let plain = |byte: &u8| matches!(byte, 0x20..0x80) && !b"\"\\".contains(byte);
            prop_assert_eq!(plain_bytes(u64::from_le_bytes(bytes)), bytes.iter().take_while(|byte| plain(byte)).count());
        }
    }

    #[test]
    fn a_number_is_what_json_takes_for_one() {
        for (bytes, len) in
            [("0,", Some(1)), ("12}", Some(2)), ("012", None), (",", None), ("", None), ("-1", None)]
        {
            assert_eq!(number_len(bytes.as_bytes()), len, "{bytes}");
        }
    }
}
