//! A place in JSON, and the way over it: what stands there is stepped over without a tree, a copy or a call for each byte.
//!
//! It takes for JSON what `serde_json` does, with one difference: a number that is too large for any type is a number.

use super::lexeme::{plain_len, string_end};
use std::{borrow::Cow, fmt};

/// It is no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotJson;

/// A value as it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Raw<'de>(&'de str);

impl<'de> Raw<'de> {
    pub(crate) fn get(self) -> &'de str {
        self.0
    }
}

impl fmt::Debug for Raw<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Objects and lists within each other, as far as they are visited. What is stepped over may be deeper.
const DEEPEST: u8 = 128;

/// How long a document is of which all is looked at for UTF-8 at once.
const SHORT: usize = 16 << 10;

/// A document, and how far it was read.
pub(crate) struct Cursor<'de> {
    bytes: &'de [u8],
    /// The same, of a document that is short and UTF-8: then no piece of it is looked at again for that. Of a long one most is
    /// stepped over, and need not be looked at even once.
    text: Option<&'de str>,
    at: usize,
    depth: u8,
}

impl<'de> Cursor<'de> {
    pub(crate) fn new(bytes: &'de [u8]) -> Self {
        let text = if bytes.len() <= SHORT { std::str::from_utf8(bytes).ok() } else { None };
        Self { bytes, text, at: 0, depth: 0 }
    }

    /// The next byte that is no blank, if there is one.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at)? {
                b' ' | b'\n' | b'\t' | b'\r' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    /// Steps over this byte.
    fn step_over(&mut self, byte: u8) -> Result<(), NotJson> {
        if self.peek() != Some(byte) {
            return Err(NotJson);
        }
        self.at += 1;
        Ok(())
    }

    /// Steps into an object or a list; whether there is anything in it.
    pub(crate) fn enter(&mut self, end: u8) -> Result<bool, NotJson> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(NotJson);
        }
        let filled = self.peek() != Some(end);
        if !filled {
            self.leave();
        }
        Ok(filled)
    }

    /// Steps over what follows on a field or an item; whether there is another one.
    pub(crate) fn next(&mut self, end: u8) -> Result<bool, NotJson> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == end => {
                self.leave();
                Ok(false)
            }
            _ => Err(NotJson),
        }
    }

    fn leave(&mut self) {
        self.at += 1;
        self.depth -= 1;
    }

    /// Steps over a key and its colon. One that is not plain is copied.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Cow<'de, str>, NotJson> {
        let Some(rest) = self.behind_quote() else { return Err(NotJson) };
        let Some(len) = plain_len(rest) else { return self.any_key().map(Cow::Owned) };
        let from = self.at + 1;
        self.at = from + len + 1;
        self.step_over(b':')?;
        self.slice(from, from + len).map(Cow::Borrowed)
    }

    /// What follows on the quote that stands here, if it is one.
    #[inline]
    fn behind_quote(&mut self) -> Option<&'de [u8]> {
        match self.peek() {
            Some(b'"') => self.bytes.get(self.at + 1..),
            _ => None,
        }
    }

    /// Steps over a key of any kind and its colon.
    #[cold]
    fn any_key(&mut self) -> Result<String, NotJson> {
        let from = self.at;
        self.string()?;
        let quoted = self.slice(from, self.at)?;
        self.step_over(b':')?;
        serde_json::from_str(quoted).map_err(|_| NotJson)
    }

    /// Steps over a key and its colon.
    fn skip_key(&mut self) -> Result<(), NotJson> {
        let len = self.behind_quote().and_then(string_end).ok_or(NotJson)?;
        self.at += len + 2;
        self.step_over(b':')
    }

    /// The value that stands here, as it is written.
    pub(crate) fn raw(&mut self) -> Result<Raw<'de>, NotJson> {
        self.peek();
        let from = self.at;
        self.skip()?;
        self.slice(from, self.at).map(Raw)
    }

    /// A piece that is looked at, and must be UTF-8 for that. What is only stepped over need not be.
    fn slice(&self, from: usize, end: usize) -> Result<&'de str, NotJson> {
        match self.text {
            Some(text) => text.get(from..end),
            None => self.bytes.get(from..end).and_then(|piece| std::str::from_utf8(piece).ok()),
        }
        .ok_or(NotJson)
    }

    /// Steps over the value that stands here, however deep it is.
    #[inline]
    pub(crate) fn skip(&mut self) -> Result<(), NotJson> {
        match self.peek() {
            Some(b'{' | b'[') => self.skip_nested(),
            _ => self.scalar(),
        }
    }

    fn skip_nested(&mut self) -> Result<(), NotJson> {
        let mut open = Open::default();
        loop {
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    self.at += 1;
                    let is_object = bracket == b'{';
                    if self.peek() != Some(if is_object { b'}' } else { b']' }) {
                        open.push(is_object);
                        if is_object {
                            self.skip_key()?;
                        }
                        continue;
                    }
                    self.at += 1;
                }
                _ => self.scalar()?,
            }
            // Behind a value: another one, or the end of what it stands in, and of what that stands in.
            while let Some(is_object) = open.last() {
                match (self.peek(), is_object) {
                    (Some(b','), _) => {
                        self.at += 1;
                        if is_object {
                            self.skip_key()?;
                        }
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        open.pop();
                    }
                    _ => return Err(NotJson),
                }
            }
            if open.last().is_none() {
                return Ok(());
            }
        }
    }

    /// Steps over what is neither object nor list.
    pub(crate) fn scalar(&mut self) -> Result<(), NotJson> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(NotJson),
        }
    }

    /// Steps over a string, at whose first quote it stands.
    #[inline]
    fn string(&mut self) -> Result<(), NotJson> {
        let len = self.bytes.get(self.at + 1..).and_then(string_end).ok_or(NotJson)?;
        // Both quotes.
        self.at += len + 2;
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), NotJson> {
        let here = self.bytes.get(self.at..self.at + word.len());
        self.at += word.len();
        if here == Some(word) { Ok(()) } else { Err(NotJson) }
    }

    fn number(&mut self) -> Result<(), NotJson> {
        self.take(b"-");
        let from = self.at;
        match self.digits() {
            0 => return Err(NotJson),
            1 => {}
            _ if self.bytes.get(from) == Some(&b'0') => return Err(NotJson),
            _ => {}
        }
        // Most are whole.
        if !matches!(self.bytes.get(self.at), Some(b'.' | b'e' | b'E')) {
            return Ok(());
        }
        if self.take(b".") && self.digits() == 0 {
            return Err(NotJson);
        }
        if self.take(b"eE") {
            self.take(b"+-");
            if self.digits() == 0 {
                return Err(NotJson);
            }
        }
        Ok(())
    }

    /// Steps over one of these, if it stands here.
    fn take(&mut self, any: &[u8]) -> bool {
        let found = self.bytes.get(self.at).is_some_and(|byte| any.contains(byte));
        self.at += usize::from(found);
        found
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at - from
    }

    /// The document ends here.
    pub(crate) fn end(&mut self) -> Result<(), NotJson> {
        if self.peek().is_none() { Ok(()) } else { Err(NotJson) }
    }
}

/// What is open, a bit each: an object or a list. Sixty-four deep nothing is allocated.
#[derive(Default)]
struct Open {
    depth: usize,
    last: u64,
    before: Vec<u64>,
}

impl Open {
    const BITS: usize = u64::BITS as usize;

    fn push(&mut self, is_object: bool) {
        if self.depth != 0 && self.depth % Self::BITS == 0 {
            self.before.push(self.last);
        }
        self.last = self.last << 1 | u64::from(is_object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.last >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth != 0 && self.depth % Self::BITS == 0 {
            self.last = self.before.pop().unwrap_or_default();
        }
    }

    /// Whether the innermost is an object; `None` where nothing is open.
    fn last(&self) -> Option<bool> {
        (self.depth != 0).then_some(self.last & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::de::IgnoredAny;
    use serde_json::value::RawValue;

    fn skipped(bytes: &[u8]) -> bool {
        let mut cursor = Cursor::new(bytes);
        cursor.skip().and_then(|()| cursor.end()).is_ok()
    }

    fn raw(bytes: &[u8]) -> Option<&str> {
        let mut cursor = Cursor::new(bytes);
        let raw = cursor.raw().ok()?;
        cursor.end().ok()?;
        Some(raw.get())
    }

    /// Pieces of which JSON, and what is nearly JSON, is made.
    const PIECES: [&[u8]; 44] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\"a\"",
        b"\"b\":",
        b"{\"c\":",
        b"[1,",
        b"true",
        b"false",
        b"null",
        b"nul",
        b"0",
        b"-",
        b"12",
        b"1.5",
        b".5",
        b"1.",
        b"e9",
        b"1e999",
        b"E-2",
        b"007",
        b"-0",
        b" ",
        b"\n",
        b"\t",
        b"\r",
        b"\x0b",
        b"\\",
        b"\\u0041",
        b"\\ud800",
        b"\\u12",
        b"\\n",
        b"\xc3\xa9",
        b"\xff",
        b"\"\\\"\"",
        b"[]",
        b"{}",
        b"\x00",
        b"\x7f",
        b"\xef\xbb\xbf",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_takes_for_json_what_serde_does(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..10)) {
            let bytes = pieces.concat();
            prop_assert_eq!(
                skipped(&bytes), serde_json::from_slice::<IgnoredAny>(&bytes).is_ok(), "{}", bytes.escape_ascii()
            );
            let theirs = serde_json::from_slice::<&RawValue>(&bytes).ok().map(RawValue::get);
            prop_assert_eq!(raw(&bytes), theirs, "{}", bytes.escape_ascii());
        }

        #[test]
        fn so_it_does_where_a_byte_of_a_document_is_another(at in 0usize..1000, byte: u8, cut: bool) {
            let text = serde_json::json!({
                "a": [1, -2.5e-3, null, true, false, {}, [], "x\\y\"é\u{1F600}", {"b": {"c": [[["d"]]]}}], "\u{8}": 0.25,
            });
            let mut bytes = serde_json::to_vec_pretty(&text).unwrap();
            let at = at % bytes.len();
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            prop_assert_eq!(
                skipped(&bytes), serde_json::from_slice::<IgnoredAny>(&bytes).is_ok(), "{}", bytes.escape_ascii()
            );
        }
    }

    #[test]
    fn what_is_stepped_over_may_be_of_any_depth() {
        for depth in [1, 63, 64, 65, 127, 128, 129, 200_000] {
            let lists = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            let mixed = format!("{}1{}", "{\"a\":[".repeat(depth), "]}".repeat(depth));
            assert!(skipped(lists.as_bytes()) && skipped(mixed.as_bytes()), "{depth}");
            let wrong = format!("{}{}", "[".repeat(depth), "]".repeat(depth - 1) + "}");
            assert!(!skipped(wrong.as_bytes()), "{depth}");
            assert!(
                !skipped(&lists.as_bytes()[1..]) && !skipped(&lists.as_bytes()[..2 * depth - 1]),
                "{depth}"
            );
        }
    }
}
