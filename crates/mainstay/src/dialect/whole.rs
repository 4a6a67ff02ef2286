//! Reading a reply that is no stream.

use super::{
    Dialect, Finish, Usage,
    chat::Chat,
    gemini::Gemini,
    messages::Messages,
    others::{AnyError, Cohere, Converse, Embeddings, Ollama},
    responses::Responses,
    seen::Seen,
};
use crate::json::{NotJson, Shape, parse};

/// What a reply with a status of success is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whole<'a> {
    /// An answer.
    Answer(Answer),
    /// An error, whatever the status says.
    Error {
        /// The error itself: the value of `error`, an object or a string; where there is none, or it is not UTF-8, the
        /// whole body.
        object: &'a [u8],
        /// The reason for the end that made this an error, such as `insufficient_system_resource`.
        reason: Option<String>,
    },
    /// JSON, and no answer in it: no choices, or not a word and no reason for that.
    Empty,
    /// An answer on which its readers break: text that is a number, tool calls that are no list, arguments of a tool call that end
    /// in the middle although the answer claims to be whole.
    Broken,
    /// No JSON: nothing at all, a page of HTML, a body that was cut.
    NotJson,
}

/// What is known of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// Its tokens.
    pub usage: Usage,
    /// Why it ended; of several choices, the last one's. [`Finish::ContentFilter`] is a refusal.
    pub finish: Option<Finish>,
    /// Whether there is anything in it.
    pub content: bool,
}

/// Reads the body of a reply that is no stream and has a status of success.
///
/// Blank lines before the JSON are fine (DeepSeek sends them to keep the connection alive). In [`Dialect::Other`]
/// anything that is not an error is an answer. The body is walked once and nothing of it is copied but keys that are
/// written with escapes; the caller bounds its size.
///
/// ```
/// use mainstay::dialect::{Dialect, Whole, read_whole};
///
/// let read = |body: &'static str| read_whole(Dialect::ChatCompletions, body.as_bytes());
/// assert_eq!(read(r#"{"choices": []}"#), Whole::Empty);
/// assert_eq!(read("<html>"), Whole::NotJson);
/// assert!(matches!(read(r#"{"error": {"code": 502}}"#), Whole::Error { object: br#"{"code": 502}"#, .. }));
/// ```
pub fn read_whole(dialect: Dialect, body: &[u8]) -> Whole<'_> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let mut seen = Seen::of_whole();
    match look(dialect, body, &mut seen) {
        Err(_) => return unreadable(dialect, body),
        Ok(_) if seen.failed() => {
            let object = seen.error.map_or(body, |raw| raw.get().as_bytes());
            return Whole::Error { object, reason: seen.reason() };
        }
        Ok(Shape::Object | Shape::List(_)) => {}
        Ok(_) if dialect == Dialect::Other => {}
        Ok(_) => return Whole::Empty,
    }
    let answer = Answer { usage: seen.tokens.usage(), finish: seen.finish, content: seen.content };
    // Cut arguments are what they are where the answer says that it has no more room.
    let broken = seen.broken || seen.cut && seen.finish != Some(Finish::Length);
    match is_empty(dialect, &seen, &answer) {
        _ if broken && dialect != Dialect::Other => Whole::Broken,
        true => Whole::Empty,
        false => Whole::Answer(answer),
    }
}

/// What the body says; `Err` where it is not JSON.
fn look<'de>(dialect: Dialect, body: &'de [u8], seen: &mut Seen<'de>) -> Result<Shape, NotJson> {
    match dialect {
        Dialect::ChatCompletions | Dialect::Completions => parse(body, &mut Chat(seen)),
        Dialect::Messages => {
            let mut visit = Messages::new(seen);
            let shape = parse(body, &mut visit);
            visit.whole();
            shape
        }
        Dialect::Responses => {
            let mut visit = Responses::new(seen);
            let shape = parse(body, &mut visit);
            visit.whole();
            shape
        }
        Dialect::Gemini => parse(body, &mut Gemini(seen)),
        Dialect::Embeddings => parse(body, &mut Embeddings(seen)),
        Dialect::Cohere => parse(body, &mut Cohere(seen)),
        Dialect::Ollama => parse(body, &mut Ollama(seen)),
        Dialect::Converse => parse(body, &mut Converse(seen)),
        Dialect::Other => parse(body, &mut AnyError(seen)),
    }
}

/// What is not JSON: not an answer, where one is known. An error is not to be missed for a byte that is not UTF-8.
fn unreadable(dialect: Dialect, body: &[u8]) -> Whole<'_> {
    if std::str::from_utf8(body).is_err() {
        let text = String::from_utf8_lossy(body);
        let mut seen = Seen::default();
        if look(dialect, text.as_bytes(), &mut seen).is_ok() && seen.failed() {
            return Whole::Error { object: body, reason: seen.reason() };
        }
    }
    match dialect {
        Dialect::Other => Whole::Answer(Answer::default()),
        _ => Whole::NotJson,
    }
}

fn is_empty(dialect: Dialect, seen: &Seen<'_>, answer: &Answer) -> bool {
    let wordless = !answer.content
        && answer.usage.output.unwrap_or(0) == 0
        && !answer.finish.is_some_and(Finish::excuses_emptiness);
    match dialect {
        Dialect::Other => false,
        Dialect::ChatCompletions | Dialect::Completions => seen.listed.unwrap_or(0) == 0 || wordless,
        // A blocked prompt has no candidates.
        Dialect::Gemini if answer.finish == Some(Finish::ContentFilter) => false,
        Dialect::Gemini => seen.listed.unwrap_or(0) == 0 || wordless,
        // Their lists may be empty where a reason is given.
        Dialect::Messages | Dialect::Responses => seen.listed.is_none() || wordless,
        Dialect::Embeddings => !answer.content,
        Dialect::Cohere | Dialect::Ollama | Dialect::Converse => wordless,
    }
}
