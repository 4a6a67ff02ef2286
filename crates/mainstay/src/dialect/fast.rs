//! The common case without reading JSON: a piece of text, and nothing else, in a stream whose answer has begun.
//!
//! Exact in one direction: what it accepts is content and no error, no end, no token count; what it is not sure of is
//! read in full. Keys are found by their closing quote, which a string cannot hold unescaped, so text that talks of
//! errors is not one; keys that hide behind escapes (`"err\u006fr"`) are not missed, since such data is not accepted.

use super::Dialect;
use memchr::{memchr2, memmem::Finder};
use std::sync::LazyLock;

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
    escape: Finder<'static>,
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
    escape: Finder::new("\\u00"),
});

/// The bytes of text in an event that is content and nothing else; `None`: read it in full. `choices` are those that
/// the stream has spoken of.
pub(super) fn content(dialect: Dialect, name: &[u8], data: &[u8], choices: u128) -> Option<usize> {
    let marks = &*MARKS;
    if data.first() != Some(&b'{') || data.last() != Some(&b'}') {
        return None;
    }
    let text = match dialect {
        Dialect::ChatCompletions | Dialect::Completions if name.is_empty() => {
            let key = if dialect == Dialect::Completions { &marks.text } else { &marks.content };
            let text = text_of(key, data)?;
            let plain = only_null(&marks.finish, data)
                && only_null(&marks.usage, data)
                && only_known(&marks.index, data, choices)
                && marks.call.find(data).is_none();
            plain.then_some(text)?
        }
        Dialect::Messages if name == b"content_block_delta" => match text_of(&marks.text, data) {
            Some(text) => text,
            None => {
                text_of(&marks.thinking, data).or_else(|| text_of(&marks.partial_json, data)).map(|_| 0)?
            }
        },
        Dialect::Responses => match name {
            b"response.output_text.delta" => text_of(&marks.delta, data)?,
            b"response.function_call_arguments.delta"
            | b"response.reasoning_text.delta"
            | b"response.reasoning_summary_text.delta" => text_of(&marks.delta, data).map(|_| 0)?,
            _ => return None,
        },
        _ => return None,
    };
    (only_null(&marks.error, data) && !hides_letters(&marks.escape, data)).then_some(text)
}

/// What stands behind the colon of each key that ends with `key`.
fn values<'a>(key: &'a Finder<'static>, data: &'a [u8]) -> impl Iterator<Item = (usize, Option<&'a [u8]>)> {
    key.find_iter(data).map(move |at| {
        let rest = data.get(at + key.needle().len()..).unwrap_or_default().trim_ascii_start();
        (at, rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start))
    })
}

/// The bytes of the strings behind `key`, if one is not empty; keys of which it is only the end (`reasoning_content`)
/// count as content, but not as text.
fn text_of(key: &Finder<'static>, data: &[u8]) -> Option<usize> {
    let mut found = None;
    for (at, value) in values(key, data) {
        let Some([b'"', string @ ..]) = value else { continue };
        let len = string_len(string)?;
        if len > 0 {
            let whole = at.checked_sub(1).and_then(|before| data.get(before)) == Some(&b'"');
            *found.get_or_insert(0) += if whole { len } else { 0 };
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

/// Whether all of the choices' numbers are of one digit and known.
fn only_known(key: &Finder<'static>, data: &[u8], choices: u128) -> bool {
    let mut any = false;
    let all = values(key, data).all(|(_, value)| {
        any = true;
        match value {
            Some([digit @ b'0'..=b'9', after, ..]) => {
                !after.is_ascii_digit() && choices & (1 << (digit - b'0')) != 0
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
