//! Writing JSON, piece by piece.

use super::json::Lit;
use std::{borrow::Cow, fmt::Write};

/// A JSON text under construction. Commas are put where they are due.
#[derive(Debug, Default)]
pub(super) struct Out {
    text: String,
    /// The next value begins a document: no comma before it.
    fresh: bool,
    /// How long the last piece was that was taken: the next one is likely to be.
    usual: usize,
}

impl Out {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), fresh: true, usual: 0 }
    }

    fn separate(&mut self) {
        if std::mem::take(&mut self.fresh) {
            return;
        }
        if !matches!(self.text.as_bytes().last(), None | Some(b'{' | b'[' | b':')) {
            self.text.push(',');
        }
    }

    /// Begins an object or a list.
    pub(super) fn open(&mut self, bracket: char) -> &mut Self {
        self.separate();
        self.text.push(bracket);
        self
    }

    /// Ends it.
    pub(super) fn close(&mut self, bracket: char) -> &mut Self {
        self.text.push(bracket);
        self
    }

    /// The name of a field; its value follows. Names are words without anything to escape.
    pub(super) fn key(&mut self, name: &str) -> &mut Self {
        self.separate();
        self.text.push('"');
        self.text.push_str(name);
        self.text.push_str("\":");
        self
    }

    /// The name of a field, whatever is in it.
    pub(super) fn name(&mut self, name: &str) -> &mut Self {
        self.str(name);
        self.text.push(':');
        self
    }

    /// A value as it is written.
    pub(super) fn raw(&mut self, json: &str) -> &mut Self {
        self.separate();
        self.text.push_str(json);
        self
    }

    /// A string.
    pub(super) fn str(&mut self, text: &str) -> &mut Self {
        self.separate();
        self.text.push('"');
        self.escaped(text);
        self.text.push('"');
        self
    }

    /// A string that is put together from pieces that are escaped already.
    pub(super) fn pieces<'a>(&mut self, pieces: impl IntoIterator<Item = &'a str>) -> &mut Self {
        self.separate();
        self.text.push('"');
        pieces.into_iter().for_each(|piece| self.text.push_str(piece));
        self.text.push('"');
        self
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        self.separate();
        // Writing into a string cannot fail.
        let _ = write!(self.text, "{number}");
        self
    }

    pub(super) fn field_raw(&mut self, name: &str, json: &str) -> &mut Self {
        self.key(name).raw(json)
    }

    pub(super) fn field_str(&mut self, name: &str, text: &str) -> &mut Self {
        self.key(name).str(text)
    }

    pub(super) fn field_lit(&mut self, name: &str, text: Lit<'_>) -> &mut Self {
        self.key(name).pieces([text.inner()])
    }

    pub(super) fn field_number(&mut self, name: &str, number: u64) -> &mut Self {
        self.key(name).number(number)
    }

    /// Text inside a string.
    pub(super) fn escaped(&mut self, text: &str) {
        let mut from = 0;
        for (at, byte) in text.bytes().enumerate() {
            let escape = match byte {
                b'"' => "\\\"",
                b'\\' => "\\\\",
                b'\n' => "\\n",
                b'\r' => "\\r",
                b'\t' => "\\t",
                0..0x20 => "",
                _ => continue,
            };
            self.text.push_str(text.get(from..at).unwrap_or_default());
            if escape.is_empty() {
                let _ = write!(self.text, "\\u{byte:04x}");
            } else {
                self.text.push_str(escape);
            }
            from = at + 1;
        }
        self.text.push_str(text.get(from..).unwrap_or_default());
    }

    /// Begins an event of a stream: the name if there is one, then its data, which is one document.
    pub(super) fn event(&mut self, name: Option<&str>) -> &mut Self {
        if self.text.capacity() == 0 {
            const LEAST: usize = 256;
            self.text.reserve(self.usual.max(LEAST));
        }
        if let Some(name) = name {
            self.text.push_str("event: ");
            self.text.push_str(name);
            self.text.push('\n');
        }
        self.text.push_str("data: ");
        self.fresh = true;
        self
    }

    /// Ends an event.
    pub(super) fn end_event(&mut self) {
        self.text.push_str("\n\n");
    }

    /// Text as it is, between documents.
    pub(super) fn verbatim(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Ends a list and the object around it. Where nothing came into the list since it was `list` bytes up to there, the
    /// object, which began at `before`, is taken back; whether it stays.
    pub(super) fn close_filled(&mut self, before: usize, list: usize) -> bool {
        let filled = self.len() > list;
        if filled {
            self.close(']').close('}');
        } else {
            self.truncate(before);
        }
        filled
    }

    /// Takes back all but the first `length` bytes, which end with a whole event or value.
    pub(super) fn truncate(&mut self, length: usize) {
        self.text.truncate(length);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn take(&mut self) -> String {
        // An answer told at once, or a call that was held back, is no measure for words.
        const MOST: usize = 4096;
        self.usual = self.text.len().min(MOST);
        std::mem::take(&mut self.text)
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// `text` as it stands inside a JSON string.
pub(super) fn escape(text: &str) -> String {
    let mut out = Out::with_capacity(text.len() + 8);
    out.escaped(text);
    out.text
}

/// Decoded text as it stands inside a JSON string. What was borrowed from one had no escapes and needs none.
#[expect(clippy::ptr_arg, reason = "whether it was borrowed is the point")]
pub(super) fn safe<'b>(text: &'b Cow<'_, str>) -> Cow<'b, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text),
        Cow::Owned(text) => Cow::Owned(escape(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_escaped_so_that_it_comes_back(text in any::<String>()) {
            let json = format!("\"{}\"", escape(&text));
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }

    #[test]
    fn commas_stand_between_values_only() {
        let mut out = Out::with_capacity(0);
        out.open('{')
            .field_str("a", "x")
            .key("b")
            .open('[')
            .number(1)
            .open('{')
            .close('}')
            .close(']')
            .close('}');
        assert_eq!(out.finish(), r#"{"a":"x","b":[1,{}]}"#);
        let mut out = Out::with_capacity(0);
        out.event(Some("e")).open('{').close('}').end_event();
        out.event(None).open('[').close(']').end_event();
        assert_eq!(out.finish(), "event: e\ndata: {}\n\ndata: []\n\n");
    }
}
