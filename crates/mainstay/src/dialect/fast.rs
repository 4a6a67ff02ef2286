//! The common case without reading JSON: a piece of text, and nothing else, in a stream whose answer has begun.
//!
//! Exact in one direction: what it accepts is content and no error, no end, no token count; what it is not sure of is
//! read in full. Keys are found by their closing quote, which a string cannot hold unescaped, so text that talks of
//! errors is not one; keys that hide behind escapes (`"err\u006fr"`) are not missed, since such data is not accepted.

use super::Dialect;
use memchr::{memchr, memchr2, memmem::Finder};
use std::{fmt, ops::Range, sync::LazyLock};

struct Marks {
    content: Finder<'static>,
    text: Finder<'static>,
    thinking: Finder<'static>,
    partial_json: Finder<'static>,
    delta: Finder<'static>,
    error: Finder<'static>,
    finish: Finder<'static>,
    usage: Finder<'static>,
    index: Finder<'static>,
    call: Finder<'static>,
    kind: Finder<'static>,
    escape: Finder<'static>,
    /// Fields that a delta does not have, and that say more than it does.
    not_in_messages: [Finder<'static>; 5],
    not_in_responses: [Finder<'static>; 5],
}

static MARKS: LazyLock<Marks> = LazyLock::new(|| Marks {
    content: Finder::new("content\""),
    text: Finder::new("text\""),
    thinking: Finder::new("thinking\""),
    partial_json: Finder::new("partial_json\""),
    delta: Finder::new("delta\""),
    error: Finder::new("error\""),
    finish: Finder::new("finish_reason\""),
    usage: Finder::new("usage\""),
    index: Finder::new("index\""),
    call: Finder::new("_call"),
    kind: Finder::new("type\""),
    escape: Finder::new("\\u00"),
    not_in_messages: ["message\"", "content\"", "content_block\"", "stop_reason\"", "usage\""]
        .map(Finder::new),
    not_in_responses: ["response\"", "output\"", "item\"", "incomplete_details\"", "usage\""]
        .map(Finder::new),
});

/// What it remembers of one stream.
#[derive(Default)]
pub(super) struct Fast {
    like: Template,
}

// What providers said does not belong in logs.
impl fmt::Debug for Fast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fast").finish_non_exhaustive()
    }
}

impl Fast {
    /// The bytes of text in an event that is content and nothing else; `None`: read it in full. `choices` are those
    /// that the stream has spoken of.
    pub(super) fn content(
        &mut self,
        dialect: Dialect,
        name: &[u8],
        data: &[u8],
        choices: u128,
    ) -> Option<usize> {
        if let Some(text) = self.like.content(name, data) {
            return Some(text);
        }
        let found = find(dialect, name, data, choices)?;
        self.like.learn(name, data, &found);
        Some(found.text)
    }
}

/// The last event that was content and nothing else, without its text. Most events of a stream differ in their text
/// alone; one that does is of the same kind, and two comparisons show it.
#[derive(Default)]
struct Template {
    name: Vec<u8>,
    head: Vec<u8>,
    tail: Vec<u8>,
    is_text: bool,
    /// Events in a row that were not like it. A provider that varies its events is not learnt from for ever.
    misses: u8,
}

impl Template {
    const MAX: usize = 1024;
    const MAX_MISSES: u8 = 8;

    fn content(&mut self, name: &[u8], data: &[u8]) -> Option<usize> {
        let text = data.strip_prefix(&self.head[..])?.strip_suffix(&self.tail[..])?;
        // The text and the quote behind it: no quote in it may come before that one.
        let quoted = data.get(self.head.len()..=self.head.len() + text.len())?;
        if self.head.is_empty() || text.is_empty() || name != self.name || string_len(quoted)? != text.len() {
            return None;
        }
        self.misses = 0;
        Some(if self.is_text { text.len() } else { 0 })
    }

    fn learn(&mut self, name: &[u8], data: &[u8], found: &Found) {
        let Some(string) = found.only.clone() else { return };
        if self.misses >= Self::MAX_MISSES || data.len() - string.len() > Self::MAX || name.len() > Self::MAX
        {
            return;
        }
        self.misses += 1;
        self.is_text = found.text > 0;
        for (place, bytes) in [
            (&mut self.name, name),
            (&mut self.head, data.get(..string.start).unwrap_or_default()),
            (&mut self.tail, data.get(string.end..).unwrap_or_default()),
        ] {
            place.clear();
            place.extend_from_slice(bytes);
        }
    }
}

/// Content.
#[derive(Debug, Default)]
struct Found {
    /// Bytes of text.
    text: usize,
    /// Where the string stands that is the content, if there is only one.
    only: Option<Range<usize>>,
}

impl Found {
    /// Content, but not text.
    fn silent(self) -> Self {
        Self { text: 0, ..self }
    }
}

fn find(dialect: Dialect, name: &[u8], data: &[u8], choices: u128) -> Option<Found> {
    let marks = &*MARKS;
    if data.first() != Some(&b'{') || data.last() != Some(&b'}') {
        return None;
    }
    let found = match dialect {
        Dialect::ChatCompletions | Dialect::Completions if name.is_empty() => {
            let key = if dialect == Dialect::Completions { &marks.text } else { &marks.content };
            let found = strings(key, data)?;
            let plain = only_null(&marks.finish, data)
                && only_null(&marks.usage, data)
                && only_known(&marks.index, data, choices)
                && marks.call.find(data).is_none();
            plain.then_some(found)?
        }
        Dialect::Messages if name == b"content_block_delta" => {
            let found = match strings(&marks.text, data) {
                Some(found) => found,
                None => {
                    strings(&marks.thinking, data).or_else(|| strings(&marks.partial_json, data))?.silent()
                }
            };
            let kinds: [&[u8]; 4] = [name, b"text_delta", b"thinking_delta", b"input_json_delta"];
            let plain = only_of(&marks.kind, data, &kinds)
                && marks.not_in_messages.iter().all(|key| only_null(key, data));
            plain.then_some(found)?
        }
        Dialect::Responses => {
            let found = match name {
                b"response.output_text.delta" => strings(&marks.delta, data)?,
                b"response.function_call_arguments.delta"
                | b"response.reasoning_text.delta"
                | b"response.reasoning_summary_text.delta" => strings(&marks.delta, data)?.silent(),
                _ => return None,
            };
            let plain = only_of(&marks.kind, data, &[name])
                && (is_flat(data, &found) || marks.not_in_responses.iter().all(|key| only_null(key, data)));
            plain.then_some(found)?
        }
        _ => return None,
    };
    (only_null(&marks.error, data) && !hides_letters(&marks.escape, data)).then_some(found)
}

/// What stands behind the colon of each key that ends with `key`.
fn values<'a>(key: &'a Finder<'static>, data: &'a [u8]) -> impl Iterator<Item = (usize, Option<&'a [u8]>)> {
    key.find_iter(data).map(move |at| {
        let rest = data.get(at + key.needle().len()..).unwrap_or_default().trim_ascii_start();
        (at, rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start))
    })
}

/// The strings behind `key`, if one is not empty; keys of which it is only the end (`reasoning_content`) are content,
/// but not text.
fn strings(key: &Finder<'static>, data: &[u8]) -> Option<Found> {
    let mut found: Option<Found> = None;
    for (at, value) in values(key, data) {
        let Some([b'"', string @ ..]) = value else { continue };
        let len = string_len(string)?;
        if len > 0 {
            let whole = at.checked_sub(1).and_then(|before| data.get(before)) == Some(&b'"');
            let start = data.len() - string.len();
            let only = found.is_none().then_some(start..start + len);
            let text = found.map_or(0, |found| found.text) + if whole { len } else { 0 };
            found = Some(Found { text, only });
        }
    }
    found
}

/// The bytes up to the quote that closes a string.
fn string_len(string: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = string.get(at..)?;
        let next = memchr2(b'"', b'\\', rest)?;
        if rest.get(next) == Some(&b'"') {
            return Some(at + next);
        }
        at += next + 2;
    }
}

/// Whether `key` stands nowhere but before a null.
fn only_null(key: &Finder<'static>, data: &[u8]) -> bool {
    values(key, data).all(|(_, value)| value.is_some_and(|value| value.starts_with(b"null")))
}

/// Whether nothing stands in it that has fields of its own: the one cheap look that most events need.
fn is_flat(data: &[u8], found: &Found) -> bool {
    let Some(string) = &found.only else { return false };
    let parts = [data.get(1..string.start), data.get(string.end..)];
    parts.into_iter().all(|part| part.is_some_and(|part| memchr(b'{', part).is_none()))
}

/// Whether `key` stands nowhere but before one of these words. A type in the data outweighs the event's name.
fn only_of(key: &Finder<'static>, data: &[u8], words: &[&[u8]]) -> bool {
    values(key, data).all(|(_, value)| {
        let Some([b'"', string @ ..]) = value else { return false };
        string_len(string).and_then(|len| string.get(..len)).is_some_and(|word| words.contains(&word))
    })
}

/// Whether all of the choices' numbers are of one digit and known.
fn only_known(key: &Finder<'static>, data: &[u8], choices: u128) -> bool {
    let mut any = false;
    let all = values(key, data).all(|(_, value)| {
        any = true;
        match value {
            Some([digit @ b'0'..=b'9', after, ..]) => {
                matches!(after, b',' | b'}' | b' ') && choices & (1 << (digit - b'0')) != 0
            }
            _ => false,
        }
    });
    any && all
}

/// Whether a letter of ASCII is written as an escape, as nobody does but to hide it.
fn hides_letters(escape: &Finder<'static>, data: &[u8]) -> bool {
    escape.find_iter(data).any(|at| matches!(data.get(at + 4), Some(b'2'..=b'7')))
}
