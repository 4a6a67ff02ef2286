//! What one piece of a reply says: an event, or all of a reply that is no stream.

use super::{Finish, usage::Tokens};
use crate::json::{Raw, Shape, is_filled, quoted, string};
use serde::de::IgnoredAny;

/// Filled in by the reader of each dialect.
#[derive(Debug, Default)]
pub(super) struct Seen<'de> {
    /// The error that stands in it.
    pub(super) error: Option<Raw<'de>>,
    /// It is an error itself.
    pub(super) is_error: bool,
    /// It holds text, reasoning, a refusal, a tool call.
    pub(super) content: bool,
    /// The last value that was content, and whether it was text.
    last_content: Option<(Raw<'de>, bool)>,
    /// How many values were content, of those that were kept as the last.
    contents: usize,
    /// Bytes of text, as written in JSON.
    pub(super) text: usize,
    /// A tool call is in it, or begins with it.
    pub(super) tool: bool,
    /// What began before is at its end.
    pub(super) block_end: bool,
    /// Why the answer ended.
    pub(super) finish: Option<Finish>,
    /// The reason that says that it failed.
    pub(super) reason: Option<Raw<'de>>,
    /// Nothing follows.
    pub(super) terminal: bool,
    /// How many choices, candidates, blocks or items it lists; `None` where it has no such list.
    pub(super) listed: Option<usize>,
    /// The choices it speaks of, one bit each.
    pub(super) choices: u128,
    /// Those of them that are finished.
    pub(super) finished: u128,
    /// A field of the answer is of a type on which its readers break: text that is a number, calls that are no list.
    pub(super) broken: bool,
    /// The arguments of a tool call end in the middle.
    pub(super) cut: bool,
    /// It is a reply that is no stream: what is told in pieces elsewhere is whole here.
    pub(super) whole: bool,
    pub(super) tokens: Tokens,
    /// The output tokens are final, not a first guess.
    pub(super) tokens_final: bool,
}

impl<'de> Seen<'de> {
    /// `error`, which counts unless it is null or empty.
    pub(super) fn error(&mut self, raw: Raw<'de>) {
        if is_filled(raw) {
            self.error = Some(raw);
        }
    }

    /// Of a reply that is no stream.
    pub(super) fn of_whole() -> Self {
        Self { whole: true, ..Self::default() }
    }

    /// Something that is content unless it is null or empty.
    pub(super) fn filled(&mut self, raw: Raw<'de>) -> bool {
        self.holds(raw, false)
    }

    /// Text of the answer.
    pub(super) fn text(&mut self, raw: Raw<'de>) {
        self.holds(raw, true);
        self.broken |= !matches!(raw.get().as_bytes().first(), Some(b'"' | b'n'));
        self.text += quoted(raw).map_or(0, str::len);
    }

    fn holds(&mut self, raw: Raw<'de>, is_text: bool) -> bool {
        let filled = is_filled(raw);
        if filled {
            self.content = true;
            self.contents += 1;
            self.last_content = Some((raw, is_text));
        }
        filled
    }

    /// The one value that makes it content, and whether it is text.
    pub(super) fn only_content(&self) -> Option<(Raw<'de>, bool)> {
        self.last_content.filter(|_| self.contents == 1)
    }

    /// Whether it says nothing but its content: no error, no end, no token.
    pub(super) fn is_content_alone(&self) -> bool {
        let ends =
            self.broken || self.block_end || self.terminal || self.finish.is_some() || self.finished != 0;
        self.content && !self.failed() && !ends && !self.tokens_final && self.tokens.is_empty()
    }

    /// Something that must be an object, or is left out with a null.
    pub(super) fn object(&mut self, shape: Shape) {
        self.broken |= matches!(shape, Shape::List(_) | Shape::Text);
    }

    /// The arguments of a tool call, as text. Models write what is no JSON now and then, and callers know what to do with it;
    /// what ends too early was cut on its way.
    pub(super) fn arguments(&mut self, raw: Raw<'_>) {
        if !self.whole {
            return;
        }
        let Some(text) = string(raw) else { return };
        let ends = serde_json::from_str::<IgnoredAny>(&text).err().is_some_and(|error| error.is_eof());
        self.cut |= ends && !text.trim().is_empty();
    }

    /// The reason for the end, which counts unless it is null or empty. Whether it was one.
    pub(super) fn finish(&mut self, raw: Raw<'de>) -> bool {
        let Some(finish) = Finish::of_raw(raw) else { return false };
        if finish == Finish::Error {
            self.is_error = true;
            self.reason = Some(raw);
        }
        self.finish = Some(finish);
        true
    }

    /// Whether it carries an error of any kind.
    pub(super) fn failed(&self) -> bool {
        self.is_error || self.error.is_some()
    }

    /// The reason that made it an error, in words.
    pub(super) fn reason(&self) -> Option<String> {
        string(self.reason?).map(Into::into)
    }

    /// The number of a choice, as its bit.
    pub(super) fn bit(index: u64) -> u128 {
        1 << index.min(127)
    }
}
