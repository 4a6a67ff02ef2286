//! How long a text is that comes in pieces: in characters, as OpenAI's dialects count, and in bytes, as Gemini's does.
//!
//! The text itself is not kept. Where positions of one count must be told in the other, the borders between characters of
//! different widths are: ASCII from end to end has none, text in which every word ends with a blank has two a word. There are
//! at most [`MAX_RUNS`] of them, 1.5 MiB; positions behind the last are not known.

use memchr::memchr;

/// Stretches of characters of one width.
const MAX_RUNS: usize = 1 << 17;

/// The length of the text so far.
#[derive(Debug, Default)]
pub(super) struct Measure {
    length: Position,
    /// Half a surrogate pair that its other half may follow, in the next piece perhaps.
    high: bool,
    runs: Option<Runs>,
}

/// A place in a text: how much stands before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// Unicode scalar values.
    pub(super) chars: u64,
    /// Bytes of UTF-8.
    pub(super) bytes: u64,
}

impl Measure {
    /// One that can turn positions of one count into those of the other.
    pub(super) fn with_positions() -> Self {
        Self { runs: Some(Runs::default()), ..Self::default() }
    }

    /// The length so far.
    pub(super) fn length(&self) -> Position {
        self.length
    }

    /// Reads a piece, which is text inside a JSON string.
    pub(super) fn read(&mut self, piece: &str) {
        let mut rest = piece;
        while let Some((plain, escape)) =
            memchr(b'\\', rest.as_bytes()).and_then(|at| rest.split_at_checked(at))
        {
            self.plain(plain);
            rest = self.escape(escape);
        }
        self.plain(rest);
    }

    fn plain(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.settle();
        if self.runs.is_some() && !text.is_ascii() {
            text.chars().for_each(|letter| self.put(1, letter.len_utf8()));
        } else if self.runs.is_some() {
            self.put(text.len(), 1);
        } else {
            self.length.chars += text.chars().count() as u64;
            self.length.bytes += text.len() as u64;
        }
    }

    /// Reads the escape that `text` begins with, and gives what follows it.
    fn escape<'t>(&mut self, text: &'t str) -> &'t str {
        let Some(digits) = text.strip_prefix("\\u") else {
            self.settle();
            self.put(1, 1);
            return text.get(2..).unwrap_or_default();
        };
        let unit = digits.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match unit.unwrap_or_default() {
            0xd800..=0xdbff => {
                self.settle();
                self.high = true;
            }
            0xdc00..=0xdfff if std::mem::take(&mut self.high) => self.put(1, 4),
            unit => {
                self.settle();
                self.put(1, char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER).len_utf8());
            }
        }
        digits.get(4..).unwrap_or_default()
    }

    /// Half a pair whose other half did not follow counts as the character that parsers put in its place.
    fn settle(&mut self) {
        if std::mem::take(&mut self.high) {
            self.put(1, char::REPLACEMENT_CHARACTER.len_utf8());
        }
    }

    fn put(&mut self, letters: usize, width: usize) {
        if let Some(runs) = &mut self.runs {
            runs.push(self.length, width);
        }
        self.length.chars += letters as u64;
        self.length.bytes += (letters * width) as u64;
    }

    /// How many characters begin before a byte.
    pub(super) fn chars_before(&self, byte: u64) -> Option<u64> {
        if byte == self.length.bytes {
            return Some(self.length.chars);
        }
        let runs = self.runs.as_ref().filter(|_| byte < self.length.bytes)?;
        let run = runs.of(byte, |run| run.start.bytes)?;
        Some(run.start.chars + (byte - run.start.bytes).div_ceil(run.width))
    }

    /// At which byte a character begins.
    pub(super) fn bytes_before(&self, letters: u64) -> Option<u64> {
        if letters == self.length.chars {
            return Some(self.length.bytes);
        }
        let runs = self.runs.as_ref().filter(|_| letters < self.length.chars)?;
        let run = runs.of(letters, |run| run.start.chars)?;
        Some(run.start.bytes + (letters - run.start.chars) * run.width)
    }
}

/// Characters of one width that follow one another.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: Position,
    width: u64,
}

/// As [`Run`], packed.
#[derive(Clone, Copy, Debug)]
struct Packed {
    bytes: u32,
    chars: u32,
    width: u8,
}

/// A text as the stretches that it is made of.
#[derive(Debug, Default)]
struct Runs {
    all: Vec<Packed>,
    /// Where the first stretch begins that there was no room for.
    full: Option<Position>,
}

impl Runs {
    fn push(&mut self, start: Position, width: usize) {
        let width = u8::try_from(width).unwrap_or(u8::MAX);
        if self.full.is_some() || self.all.last().is_some_and(|last| last.width == width) {
            return;
        }
        match (u32::try_from(start.bytes), u32::try_from(start.chars)) {
            (Ok(bytes), Ok(chars)) if self.all.len() < MAX_RUNS => {
                self.all.push(Packed { bytes, chars, width })
            }
            _ => self.full = Some(start),
        }
    }

    /// The stretch that a place is in, counted as `count` counts.
    fn of(&self, place: u64, count: fn(&Run) -> u64) -> Option<Run> {
        let unpacked = |packed: &Packed| Run {
            start: Position { bytes: packed.bytes.into(), chars: packed.chars.into() },
            width: packed.width.into(),
        };
        let beyond = self.full.map(|start| count(&Run { start, width: 1 }));
        if beyond.is_some_and(|beyond| place >= beyond) {
            return None;
        }
        let after = self.all.partition_point(|packed| count(&unpacked(packed)) <= place);
        self.all.get(after.checked_sub(1)?).map(unpacked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translate::out::escape;
    use proptest::prelude::*;

    /// Each character as itself, or as the escapes that some write for all but ASCII.
    fn spelled(text: &str, escaped: bool) -> String {
        if !escaped {
            return escape(text);
        }
        text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
    }

    proptest! {
        #[test]
        fn positions_are_those_of_the_text(
            pieces in prop::collection::vec(("[a-z\u{e9}\u{4e00}\u{1f600}\"\\\\\n ]{0,8}", any::<bool>()), 0..8),
        ) {
            let text: String = pieces.iter().map(|(text, _)| text.as_str()).collect();
            let (mut plain, mut measure) = (Measure::default(), Measure::with_positions());
            for (piece, escaped) in &pieces {
                plain.read(&spelled(piece, *escaped));
                measure.read(&spelled(piece, *escaped));
            }
            let length = Position { chars: text.chars().count() as u64, bytes: text.len() as u64 };
            prop_assert_eq!((plain.length(), measure.length()), (length, length));
            for (letters, (byte, letter)) in text.char_indices().enumerate() {
                prop_assert_eq!(measure.chars_before(byte as u64), Some(letters as u64));
                prop_assert_eq!(measure.bytes_before(letters as u64), Some(byte as u64));
                // In the midst of a character is behind it.
                for inside in 1..letter.len_utf8() {
                    prop_assert_eq!(measure.chars_before((byte + inside) as u64), Some(letters as u64 + 1));
                }
            }
            prop_assert_eq!(measure.chars_before(length.bytes), Some(length.chars));
            prop_assert_eq!(measure.chars_before(length.bytes + 1), None);
            prop_assert_eq!(measure.bytes_before(length.chars + 1), None);
        }

        #[test]
        fn what_is_no_json_is_measured_all_the_same(text in any::<String>(), tail in "\\\\(u[0-9a-f]{0,3})?") {
            let mut measure = Measure::with_positions();
            measure.read(&format!("{text}{tail}"));
            measure.read(&tail);
        }
    }

    #[test]
    fn half_a_pair_finds_its_other_half_in_the_next_piece() {
        let mut measure = Measure::with_positions();
        measure.read(r"a\ud83d");
        measure.read(r"\ude00b");
        assert_eq!(measure.length(), Position { chars: 3, bytes: 6 });
        assert_eq!(measure.bytes_before(2), Some(5));
        // One that stays alone is one character.
        let mut measure = Measure::default();
        measure.read(r"\ud83dx\ude00");
        assert_eq!(measure.length(), Position { chars: 3, bytes: 7 });
    }

    #[test]
    fn positions_behind_the_last_border_that_is_kept_are_not_known() {
        let mut measure = Measure::with_positions();
        for _ in 0..MAX_RUNS {
            measure.read("a\u{e9}");
        }
        let known = MAX_RUNS as u64;
        assert_eq!(measure.bytes_before(known - 1), Some(known / 2 * 3 - 2));
        assert_eq!(measure.bytes_before(known), None);
        assert_eq!(measure.chars_before(known / 2 * 3), None);
        // Where it all ends is known.
        assert_eq!(measure.bytes_before(2 * known), Some(3 * known));
    }
}
