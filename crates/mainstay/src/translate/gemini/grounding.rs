//! Reading the sources of an answer: what Google searched for (`groundingMetadata`) and what the model recited
//! (`citationMetadata`).
//!
//! Streams repeat what they told so far, or tell it bit by bit, at the end or before it. So the pages are kept until the end,
//! up to a bound, for segments that come later.

use crate::translate::{
    citation::{Citation, Place, range},
    citations::{MAX_CITATIONS, MAX_LENGTH},
    event::Event,
    json::Json,
};
use std::{borrow::Cow, collections::HashMap, ops::Range};

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    Text,
    Thought,
    /// A tool call.
    Other,
    /// Nothing that is read.
    Nothing,
}

/// The parts and the pages so far.
#[derive(Debug, Default)]
pub(super) struct Grounding {
    /// The answer came in one piece. In a stream, pieces of text that follow one another are one part.
    whole: bool,
    /// How many parts there are.
    parts: u64,
    last: Option<PartKind>,
    pages: Vec<Page>,
    /// The pages by their addresses.
    known: HashMap<String, usize>,
    length: usize,
    /// The pages by the places that segments know them by.
    places: Vec<Option<usize>>,
}

#[derive(Debug)]
struct Page {
    citation: Citation<'static>,
    /// Some of the text comes from it.
    supports: bool,
}

impl Grounding {
    pub(super) fn of_whole() -> Self {
        Self { whole: true, ..Self::default() }
    }

    /// One more part, or more of the last.
    pub(super) fn part(&mut self, kind: PartKind, events: &mut Vec<Event<'_>>) {
        let more = self.last == Some(kind) && kind != PartKind::Other || kind == PartKind::Nothing;
        if more && !self.whole {
            return;
        }
        // The first part begins where the text does, and needs no name.
        if kind == PartKind::Text && self.parts > 0 {
            events.push(Event::Passage(Some(self.parts)));
        }
        self.parts += 1;
        self.last = Some(kind);
    }

    /// Reads what a candidate tells beside its parts.
    pub(super) fn read<'a>(
        &mut self,
        grounding: Option<Json<'a>>,
        citations: Option<Json<'a>>,
        events: &mut Vec<Event<'a>>,
    ) {
        if let Some(grounding) = grounding {
            let [pages, supports] = grounding.pick(["groundingChunks", "groundingSupports"]);
            self.read_pages(pages);
            self.read_supports(supports, events);
        }
        if let Some(citations) = citations {
            let [sources, citations] = citations.pick(["citationSources", "citations"]);
            for source in sources.or(citations).into_iter().flat_map(Json::each).take(MAX_CITATIONS) {
                let [uri, title, start, end] = source.pick(["uri", "title", "startIndex", "endIndex"]);
                let citation = Citation::of(uri, title, place(None, range(start, end)));
                events.extend(citation.map(|citation| Event::Citation(Box::new(citation))));
            }
        }
    }

    fn read_pages(&mut self, pages: Option<Json<'_>>) {
        let mut pages = pages.into_iter().flat_map(Json::each).take(MAX_CITATIONS).peekable();
        if pages.peek().is_some() {
            self.places = pages.map(|page| self.learn(page)).collect();
        }
    }

    /// A page that was found, if it is one of the web.
    fn learn(&mut self, page: Json<'_>) -> Option<usize> {
        let [uri, title] = page.get("web")?.pick(["uri", "title"]);
        let citation = Citation::of(uri, title, Place::Nowhere)?;
        if let Some(known) = self.known.get(&*citation.url) {
            return Some(*known);
        }
        let length = self.length + citation.len();
        if self.pages.len() == MAX_CITATIONS || length > MAX_LENGTH {
            return None;
        }
        self.length = length;
        let citation = citation.into_owned();
        self.known.insert(citation.url.clone().into_owned(), self.pages.len());
        self.pages.push(Page { citation, supports: false });
        Some(self.pages.len() - 1)
    }

    fn read_supports(&mut self, supports: Option<Json<'_>>, events: &mut Vec<Event<'_>>) {
        // A segment without a page counts too: they are read for nothing else.
        let mut left = MAX_CITATIONS;
        for support in supports.into_iter().flat_map(Json::each).take(MAX_CITATIONS) {
            let [segment, pages] = support.pick(["segment", "groundingChunkIndices"]);
            let place = segment.map_or(Place::Nowhere, |segment| {
                let [part, start, end] = segment.pick(["partIndex", "startIndex", "endIndex"]);
                place(part.and_then(Json::count).filter(|part| *part > 0), range(start, end))
            });
            for page in pages.into_iter().flat_map(Json::each) {
                let at = page.count().and_then(|at| usize::try_from(at).ok());
                let page = at.and_then(|at| self.places.get(at).copied().flatten());
                let Some(page) = page.and_then(|page| self.pages.get_mut(page)) else { continue };
                if left == 0 {
                    return;
                }
                left -= 1;
                page.supports = true;
                let Citation { url, title, .. } = &page.citation;
                let (url, title) = (Cow::Owned(url.to_string()), Cow::Owned(title.to_string()));
                events.push(Event::Citation(Box::new(Citation { url, title, place: place.clone() })));
            }
        }
    }

    /// The pages that were found and that no segment comes from.
    pub(super) fn end(&mut self, events: &mut Vec<Event<'_>>) {
        let rest = std::mem::take(&mut self.pages).into_iter().filter(|page| !page.supports);
        events.extend(rest.map(|page| Event::Citation(Box::new(page.citation))));
    }
}

/// Bytes of a part, or of the whole text: of the first part it is the same.
fn place(part: Option<u64>, range: Option<Range<u64>>) -> Place {
    range.map_or(Place::Nowhere, |range| Place::Bytes(part, range))
}
