//! A look over JSON that builds nothing of it.
//!
//! For the few fields that every call is asked for. Exact in one direction: what it accepts is JSON, and what it says of it
//! is so. What it is not sure of, such as a key with an escape in it, it gives up on (`None`), and then the text is read in
//! full. Strings are skipped sixteen bytes at a time and more, which is what prompts consist of.

use memchr::memchr2;
use std::ops::Range;

/// Deeper nesting is given up on: it is looked at by recursion.
const DEEPEST: u8 = 48;

/// Where the look is.
#[derive(Debug)]
pub(crate) struct Scan<'a> {
    json: &'a [u8],
    at: usize,
    depth: u8,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(json: &'a [u8]) -> Self {
        Self { json, at: 0, depth: 0 }
    }

    /// The first byte of the next value or mark.
    pub(crate) fn next(&mut self) -> Option<u8> {
        loop {
            match self.json.get(self.at)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    /// Whether nothing follows.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.next().is_none()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    /// Steps over the value and says where it stood.
    pub(crate) fn skip(&mut self) -> Option<Range<usize>> {
        let first = self.next()?;
        let start = self.at;
        match first {
            b'"' => {
                self.string()?;
            }
            b'{' => self.object(|scan, _| scan.skip().map(drop))?,
            b'[' => {
                self.list(|scan| scan.skip().map(drop))?;
            }
            b't' => self.word(b"true")?,
            b'f' => self.word(b"false")?,
            b'n' => self.word(b"null")?,
            _ => self.number()?,
        }
        Some(start..self.at)
    }

    /// Steps over the value and gives its bytes.
    pub(crate) fn raw(&mut self) -> Option<&'a [u8]> {
        let range = self.skip()?;
        self.json.get(range)
    }

    /// Offers the fields of an object; each must be stepped over.
    pub(crate) fn object(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        self.take(b'{')?;
        self.down()?;
        if self.next()? == b'}' {
            self.at += 1;
        } else {
            loop {
                self.next().filter(|byte| *byte == b'"')?;
                let key = self.string()?;
                // It may spell what is looked for, or be no text at all.
                if !key.is_ascii() || key.contains(&b'\\') {
                    return None;
                }
                self.take(b':')?;
                field(self, key)?;
                if !self.goes_on(b'}')? {
                    break;
                }
            }
        }
        self.depth -= 1;
        Some(())
    }

    /// Offers the items of a list; each must be stepped over. How many there were.
    pub(crate) fn list(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<usize> {
        self.take(b'[')?;
        self.down()?;
        let mut count = 0;
        if self.next()? == b']' {
            self.at += 1;
        } else {
            loop {
                item(self)?;
                count += 1;
                if !self.goes_on(b']')? {
                    break;
                }
            }
        }
        self.depth -= 1;
        Some(count)
    }

    fn down(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth < DEEPEST).then_some(())
    }

    /// After a field or an item: a comma, or the end.
    fn goes_on(&mut self, end: u8) -> Option<bool> {
        let next = self.next()?;
        self.at += 1;
        match next {
            b',' => Some(true),
            byte => (byte == end).then_some(false),
        }
    }

    /// What stands between the quotes.
    fn string(&mut self) -> Option<&'a [u8]> {
        let start = self.at + 1;
        let mut at = start;
        loop {
            let rest = self.json.get(at..)?;
            let length = memchr2(b'"', b'\\', rest)?;
            // No way out of the loop: so the compiler takes many at a time.
            if rest.get(..length)?.iter().fold(false, |control, byte| control | (*byte < b' ')) {
                return None;
            }
            at += length;
            if self.json.get(at) == Some(&b'"') {
                self.at = at + 1;
                return self.json.get(start..at);
            }
            match self.json.get(at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                // Whether a number stands for a character is not looked into.
                _ => return None,
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.json.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    fn number(&mut self) -> Option<()> {
        let byte = |scan: &Self| scan.json.get(scan.at).copied();
        if byte(self) == Some(b'-') {
            self.at += 1;
        }
        match byte(self)? {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if byte(self) == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(byte(self), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(byte(self), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// One or more.
    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.json.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    fn accepts(json: &[u8]) -> bool {
        let mut scan = Scan::new(json);
        scan.skip().is_some() && scan.is_at_end()
    }

    #[test]
    fn json_is_accepted() {
        for json in [
            r#"{"a": [1, -0.5e+10, "x\n\"", true, false, null, {}, []], "b" : {"c":{"d":0}}}"#,
            " \t\r\n\"text\" ",
            "[]",
            "-1",
        ] {
            assert!(accepts(json.as_bytes()), "{json}");
        }
    }

    #[test]
    fn what_is_none_or_not_sure_is_not() {
        for json in [
            "",
            "{",
            "{}}",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "1.",
            "-",
            "1e",
            "tru",
            "\"a",
            "\"\u{1}\"",
            "\"\\x\"",
            "{\"a\" 1}",
            "nul",
            "[1 2]",
            "\"\\u0041\"",
            "{\"\\n\":1}",
        ] {
            assert!(!accepts(json.as_bytes()), "{json}");
        }
        assert!(!accepts(format!("{}{}", "[".repeat(60), "]".repeat(60)).as_bytes()));
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_json(json in r#"[\[\]{}":,0-9eE.+\-truefalsn\\ \n]{0,24}"#) {
            if accepts(json.as_bytes()) {
                prop_assert!(serde_json::from_str::<IgnoredAny>(&json).is_ok(), "{json}");
            }
        }
    }
}
