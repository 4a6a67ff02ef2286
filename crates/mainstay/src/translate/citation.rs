//! The web pages that an answer names as its sources.
//!
//! OpenAI's dialects tell them as `url_citation`s, with the characters of the text that a page stands for; Gemini as
//! `groundingMetadata`, with bytes of a part; Anthropic's Messages and Bedrock's `Converse` as those of a block of text.
//! Readers tell what they find in their own terms; [`Citations`](super::citations::Citations) turns it into the caller's.
//! Sources that are no web pages (files, documents of the request, tools' results) are named by what only one provider has,
//! and are left out.

use super::{event::filled, json::Json, out::Out};
use std::{borrow::Cow, ops::Range};

/// How long an address and a title may be together, as they are written. Longer ones are nobody's.
const MAX_LENGTH: usize = 8 << 10;

/// A page, and what of the answer comes from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Citation<'a> {
    /// Its address, as text inside a JSON string; never empty.
    pub(super) url: Cow<'a, str>,
    /// Its title, likewise; empty where there is none.
    pub(super) title: Cow<'a, str>,
    pub(super) place: Place,
}

/// What of an answer's text is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// It is not said.
    Nowhere,
    /// All of a passage.
    Passage(u64),
    /// Characters of a passage, or of the whole text.
    Chars(Option<u64>, Range<u64>),
    /// Bytes of a passage, or of the whole text, in UTF-8.
    Bytes(Option<u64>, Range<u64>),
    /// What it comes to: a piece of the whole text, within it, in the count of the caller's dialect.
    At(Range<u64>),
}

impl Place {
    /// The passage that it is in.
    pub(super) fn passage(&self) -> Option<u64> {
        match self {
            Place::Passage(name) => Some(*name),
            Place::Chars(name, _) | Place::Bytes(name, _) => *name,
            Place::Nowhere | Place::At(_) => None,
        }
    }
}

impl<'a> Citation<'a> {
    /// A page, if it has an address.
    pub(super) fn of(url: Option<Json<'a>>, title: Option<Json<'a>>, place: Place) -> Option<Self> {
        let (url, title) = (filled(url)?, filled(title).unwrap_or_default());
        (url.len() + title.len() <= MAX_LENGTH).then_some(Self { url, title, place })
    }

    /// A `url_citation`: flat, as Responses have it, or with its fields one level down, as chat completions do.
    pub(super) fn of_annotation(annotation: Json<'a>, passage: Option<u64>) -> Option<Self> {
        const FIELDS: [&str; 4] = ["url", "title", "start_index", "end_index"];
        let [kind, nested] = annotation.pick(["type", "url_citation"]);
        match kind {
            Some(kind) if !kind.is("url_citation") => return None,
            None if nested.is_none() => return None,
            _ => {}
        }
        let [url, title, start, end] = nested.unwrap_or(annotation).pick(FIELDS);
        let range = range(start, end).filter(|_| start.is_some());
        Self::of(url, title, range.map_or(Place::Nowhere, |range| Place::Chars(passage, range)))
    }

    pub(super) fn into_owned(self) -> Citation<'static> {
        let Self { url, title, place } = self;
        Citation { url: Cow::Owned(url.into_owned()), title: Cow::Owned(title.into_owned()), place }
    }

    /// The piece of the answer's text, once that is known.
    pub(super) fn at(&self) -> Option<Range<u64>> {
        if let Place::At(range) = &self.place { Some(range.clone()) } else { None }
    }

    /// How long it is.
    pub(super) fn len(&self) -> usize {
        self.url.len() + self.title.len()
    }
}

/// A range by its ends, the first of which is 0 where it is left out. Nothing at the very beginning is how those say it who
/// must name a place and know none.
pub(super) fn range(start: Option<Json<'_>>, end: Option<Json<'_>>) -> Option<Range<u64>> {
    let start = start.map_or(Some(0), Json::count)?;
    let end = end?.count()?;
    (start <= end && end > 0).then_some(start..end)
}

/// The fields of a `url_citation`. All of them must be there: of a page whose place is not known it is nothing at the very
/// beginning, which marks no word.
pub(super) fn write_url_citation(citation: &Citation<'_>, at: Option<Range<u64>>, out: &mut Out) {
    let at = at.unwrap_or(0..0);
    out.field_number("start_index", at.start).field_number("end_index", at.end);
    out.key("title").pieces([&*citation.title]).key("url").pieces([&*citation.url]);
}
