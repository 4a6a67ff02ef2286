//! An answer between two dialects: what happens in it, one thing after the other.
//!
//! A reply that is no stream is the same events at once, put together in an [`Answer`]. Text is carried as it stands
//! inside a JSON string, escapes and all: it is not decoded on the way.

use super::{citation::Citation, json::Json, out::escape};
use crate::dialect::Finish;
use std::borrow::Cow;

/// Something that happens in an answer.
#[derive(Clone, Debug)]
pub(super) enum Event<'a> {
    /// What the answer is called. Comes first, once.
    Start { id: Option<Cow<'a, str>>, model: Option<Cow<'a, str>>, created: Option<u64> },
    /// Text of the answer, never empty.
    Text(Cow<'a, str>),
    /// Thoughts before the answer, never empty.
    Thought(Cow<'a, str>),
    /// Words of a refusal, never empty.
    Refusal(Cow<'a, str>),
    /// A tool call begins. `call` tells it from others.
    Call { call: u64, id: Cow<'a, str>, name: Cow<'a, str> },
    /// A piece of its arguments, never empty.
    Arguments { call: u64, text: Cow<'a, str> },
    /// Text that follows is of this passage, by the reader's name for it; `None`: of none. For [`Citation`]s only.
    Passage(Option<u64>),
    /// A page that some of the text comes from.
    Citation(Box<Citation<'a>>),
    /// Why the answer ends, and at which stop sequence.
    Finish { reason: Finish, stop: Option<Cow<'a, str>> },
    /// Tokens so far; the last word counts.
    Tokens(Tokens),
    /// Nothing follows.
    End,
}

/// Tokens, the cached ones and the thoughts included where they are part of a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    /// Of the request, those from a cache and those written to one included.
    pub(super) input: Option<u64>,
    /// Of the answer, thoughts included.
    pub(super) output: Option<u64>,
    /// Those of `input` that came from a cache.
    pub(super) cached: Option<u64>,
    /// Those of `input` that were written to a cache.
    pub(super) cache_write: Option<u64>,
    /// Those of `output` that were thoughts.
    pub(super) thoughts: Option<u64>,
}

impl Tokens {
    /// Takes what `newer` knows.
    pub(super) fn update(&mut self, newer: Tokens) {
        self.input = newer.input.or(self.input);
        self.output = newer.output.or(self.output);
        self.cached = newer.cached.or(self.cached);
        self.cache_write = newer.cache_write.or(self.cache_write);
        self.thoughts = newer.thoughts.or(self.thoughts);
    }

    /// Those of the request that no cache had to do with.
    pub(super) fn plain_input(&self) -> u64 {
        let cached = self.cached.unwrap_or(0).saturating_add(self.cache_write.unwrap_or(0));
        self.input.unwrap_or(0).saturating_sub(cached)
    }

    pub(super) fn total(&self) -> u64 {
        self.input.unwrap_or(0).saturating_add(self.output.unwrap_or(0))
    }
}

/// An answer put together.
#[derive(Debug, Default)]
pub(super) struct Answer<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) created: Option<u64>,
    pub(super) pieces: Vec<Piece<'a>>,
    pub(super) citations: Vec<Citation<'a>>,
    pub(super) finish: Option<Finish>,
    pub(super) stop: Option<Cow<'a, str>>,
    pub(super) tokens: Tokens,
}

/// A piece of an answer, as text inside a JSON string.
#[derive(Clone, Debug)]
pub(super) enum Piece<'a> {
    Text(Cow<'a, str>),
    Thought(Cow<'a, str>),
    Refusal(Cow<'a, str>),
    Call { call: u64, id: Cow<'a, str>, name: Cow<'a, str>, arguments: Cow<'a, str> },
}

impl<'a> Answer<'a> {
    pub(super) fn of(events: Vec<Event<'a>>) -> Self {
        let mut answer = Answer::default();
        for event in events {
            answer.take(event);
        }
        answer
    }

    fn take(&mut self, event: Event<'a>) {
        match event {
            Event::Start { id, model, created } => {
                self.id = id;
                self.model = model;
                self.created = created;
            }
            Event::Text(text) => match self.pieces.last_mut() {
                Some(Piece::Text(before)) => before.to_mut().push_str(&text),
                _ => self.pieces.push(Piece::Text(text)),
            },
            Event::Thought(text) => match self.pieces.last_mut() {
                Some(Piece::Thought(before)) => before.to_mut().push_str(&text),
                _ => self.pieces.push(Piece::Thought(text)),
            },
            Event::Refusal(text) => self.pieces.push(Piece::Refusal(text)),
            Event::Call { call, id, name } => {
                self.pieces.push(Piece::Call { call, id, name, arguments: Cow::Borrowed("") });
            }
            Event::Arguments { call, text } => {
                let found = self.pieces.iter_mut().rev().find_map(|piece| match piece {
                    Piece::Call { call: other, arguments, .. } if *other == call => Some(arguments),
                    _ => None,
                });
                if let Some(arguments) = found {
                    if arguments.is_empty() { *arguments = text } else { arguments.to_mut().push_str(&text) }
                }
            }
            Event::Finish { reason, stop } => {
                self.finish = Some(reason);
                self.stop = stop;
            }
            Event::Citation(citation) => self.citations.push(*citation),
            Event::Tokens(tokens) => self.tokens.update(tokens),
            Event::Passage(_) | Event::End => {}
        }
    }

    /// Why it ended; see [`conclude`].
    pub(super) fn reason(&self) -> Finish {
        let called = self.pieces.iter().any(|piece| matches!(piece, Piece::Call { .. }));
        let refused = self.pieces.iter().any(|piece| matches!(piece, Piece::Refusal(_)));
        conclude(self.finish, called, refused)
    }
}

/// Why an answer ended, given what is in it. Providers say `stop` after a tool call, and `tool_calls` without one;
/// a client acts on the word, so it has to be true.
pub(super) fn conclude(finish: Option<Finish>, called: bool, refused: bool) -> Finish {
    match finish.unwrap_or(Finish::Stop) {
        Finish::Stop | Finish::ToolCalls | Finish::Other | Finish::Error if called => Finish::ToolCalls,
        Finish::Stop | Finish::Other if refused => Finish::ContentFilter,
        Finish::ToolCalls | Finish::Other | Finish::Error => Finish::Stop,
        other => other,
    }
}

/// The text of a string field, if there is any.
pub(super) fn filled(value: Option<Json<'_>>) -> Option<Cow<'_, str>> {
    let text = value?.lit()?.inner();
    (!text.is_empty()).then_some(Cow::Borrowed(text))
}

/// An id in the form of a dialect: the provider's own with another prefix, or one of our own where it gave none.
pub(super) fn id_with(prefix: &str, theirs: Option<&str>) -> String {
    const PREFIXES: [&str; 4] = ["chatcmpl-", "msg_", "resp_", "gen-"];
    let theirs = theirs.unwrap_or_default();
    let bare = PREFIXES.iter().find_map(|prefix| theirs.strip_prefix(prefix)).unwrap_or(theirs);
    let bare: String =
        bare.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).take(96).collect();
    if bare.is_empty() {
        return format!("{prefix}{:016x}{:08x}", fastrand::u64(..), fastrand::u32(..));
    }
    format!("{prefix}{bare}")
}

/// The id of a tool call whose provider gave none. Another one in each answer, since clients keep a conversation's ids in
/// one table; the same whenever the same answer is read. An answer that its provider gave no name, as Bedrock does not, is like no
/// other: there it is drawn.
pub(super) fn made_id(answer: &str, call: u64) -> String {
    let answer = if answer.is_empty() { fastrand::u64(..) } else { super::target::digest(answer) };
    format!("call_{:012x}_{call}", answer & 0xffff_ffff_ffff)
}

/// More tool calls in one answer are nobody's.
pub(super) const MAX_CALLS: u64 = 1024;

/// Tool calls of a dialect that tells each of them in one piece.
#[derive(Debug, Default)]
pub(super) struct WholeCalls {
    answer: String,
    count: u64,
}

impl WholeCalls {
    /// Those of an answer that is told from others by this.
    pub(super) fn of(answer: &str) -> Self {
        Self { answer: answer.to_owned(), count: 0 }
    }

    /// One more. Its arguments are an object, or a string that holds one.
    pub(super) fn push<'a>(
        &mut self,
        id: Option<Json<'a>>,
        name: Option<Cow<'a, str>>,
        arguments: Option<Json<'a>>,
        events: &mut Vec<Event<'a>>,
    ) -> Result<(), &'static str> {
        if self.count == MAX_CALLS {
            return Err("it calls too many tools");
        }
        let call = self.count;
        self.count += 1;
        let id = id.and_then(Json::text).filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| Cow::Owned(made_id(&self.answer, call)));
        events.push(Event::Call { call, id, name: name.unwrap_or_default() });
        let text = match arguments {
            Some(text) if text.lit().is_some() => filled(Some(text)),
            Some(object) => Some(Cow::Owned(escape(object.raw()))),
            None => None,
        };
        events.push(Event::Arguments { call, text: text.unwrap_or(Cow::Borrowed("{}")) });
        Ok(())
    }
}

/// Seconds since 1970, for answers whose provider does not tell.
pub(super) fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_take_the_prefix_of_the_dialect() {
        assert_eq!(id_with("msg_", Some("chatcmpl-1")), "msg_1");
        assert_eq!(id_with("chatcmpl-", Some("msg_01Ab")), "chatcmpl-01Ab");
        assert_eq!(id_with("msg_", Some("a\"b")), "msg_ab");
        assert!(id_with("msg_", None).len() > 12);
        assert_ne!(id_with("msg_", Some("")), id_with("msg_", Some("")));
    }

    #[test]
    fn the_reason_is_true_of_what_is_there() {
        assert_eq!(conclude(Some(Finish::Stop), true, false), Finish::ToolCalls);
        assert_eq!(conclude(Some(Finish::ToolCalls), false, false), Finish::Stop);
        assert_eq!(conclude(Some(Finish::Length), true, false), Finish::Length);
        assert_eq!(conclude(None, false, true), Finish::ContentFilter);
    }
}
