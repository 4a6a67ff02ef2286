//! Where in an answer its sources belong: between the reader of a provider's answer and the writer of the caller's.
//!
//! The text is measured as it passes, so readers can name a place in the provider's terms and writers get it in theirs. What
//! speaks of text that has not come yet waits until the passage is at its end, or the answer; what reaches beyond the text is
//! cut to it. Pages that are told again, as by providers that repeat in each event what they have so far, are told once.
//!
//! Of an answer, 1,000 pages are carried, and 1 MiB of addresses and titles. What is more is left out; the answer is not.

use super::{
    Api, TargetApi,
    citation::{Citation, Place},
    event::Event,
    measure::{Measure, Position},
};
use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    hash::{DefaultHasher, Hash, Hasher},
    ops::Range,
};

/// How many pages an answer has.
pub(super) const MAX_CITATIONS: usize = 1000;

/// How long their addresses and titles are together.
pub(super) const MAX_LENGTH: usize = 1 << 20;

/// How many passages are told apart.
const MAX_PASSAGES: usize = 4096;

/// Puts sources where they belong.
#[derive(Debug)]
pub(super) struct Citations {
    /// The caller's dialect counts bytes.
    bytes: bool,
    text: Measure,
    /// By the readers' names; of two of one name the first.
    passages: HashMap<u64, Passage>,
    /// The one that goes on.
    open: Option<u64>,
    /// Those that were told, by address and place.
    seen: HashSet<u64>,
    length: usize,
    waiting: Vec<Citation<'static>>,
}

/// A passage of the text.
#[derive(Debug)]
struct Passage {
    start: Position,
    /// Where it ends, once it does.
    end: Option<Position>,
}

impl Citations {
    /// `None` for callers whose dialect takes none. Anthropic's has a field for what it encrypted, and refuses the next turn of
    /// a conversation in which somebody else filled it.
    pub(super) fn new(from: TargetApi, to: Api) -> Option<Self> {
        if to == Api::Messages {
            return None;
        }
        let bytes = to == Api::Gemini;
        let turned = bytes != (from == TargetApi::Gemini);
        Some(Self {
            bytes,
            text: if turned { Measure::with_positions() } else { Measure::default() },
            passages: HashMap::new(),
            open: None,
            seen: HashSet::new(),
            length: 0,
            waiting: Vec::new(),
        })
    }

    /// Reads what happens in the answer, and puts the sources in it where they belong.
    pub(super) fn pass(&mut self, events: &mut Vec<Event<'_>>) {
        let concern = |event: &Event<'_>| match event {
            Event::Passage(_) | Event::Citation(_) => true,
            Event::End => !self.waiting.is_empty(),
            _ => false,
        };
        if !events.iter().any(concern) {
            for event in &*events {
                if let Event::Text(text) = event {
                    self.text.read(text);
                }
            }
            return;
        }
        for event in std::mem::take(events) {
            match event {
                Event::Text(text) => {
                    self.text.read(&text);
                    events.push(Event::Text(text));
                }
                Event::Passage(name) => self.turn(name, events),
                Event::Citation(citation) => self.take(*citation, events),
                Event::End => {
                    self.turn(None, events);
                    let rest = std::mem::take(&mut self.waiting);
                    events.extend(rest.into_iter().filter_map(|citation| self.settled(citation)));
                    events.push(Event::End);
                }
                other => events.push(other),
            }
        }
    }

    /// A passage ends, and another begins perhaps.
    fn turn(&mut self, name: Option<u64>, events: &mut Vec<Event<'_>>) {
        let here = self.text.length();
        let closed = self.open.take();
        if let Some(passage) = closed.and_then(|closed| self.passages.get_mut(&closed)) {
            passage.end = Some(here);
        }
        if let Some(name) = name.filter(|_| self.passages.len() < MAX_PASSAGES) {
            if let Entry::Vacant(vacant) = self.passages.entry(name) {
                vacant.insert(Passage { start: here, end: None });
                self.open = Some(name);
            }
        }
        // What waits for anything else waits on.
        let of_it = |citation: &Citation<'_>| closed.is_some() && citation.place.passage() == closed;
        if self.waiting.iter().any(of_it) {
            let (settled, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(of_it);
            self.waiting = waiting;
            let settled: Vec<_> = settled;
            events.extend(settled.into_iter().filter_map(|citation| self.settled(citation)));
        }
    }

    fn take<'a>(&mut self, citation: Citation<'a>, events: &mut Vec<Event<'a>>) {
        let length = self.length + citation.len();
        if self.seen.len() >= MAX_CITATIONS || length > MAX_LENGTH || !self.is_new(&citation) {
            return;
        }
        self.length = length;
        if self.may_settle(&citation.place) {
            events.extend(self.settled(citation));
        } else {
            self.waiting.push(citation.into_owned());
        }
    }

    fn is_new(&mut self, citation: &Citation<'_>) -> bool {
        let mut hash = DefaultHasher::new();
        (&citation.url, &citation.place).hash(&mut hash);
        self.seen.insert(hash.finish())
    }

    /// Whether the text that a place is in has come.
    fn may_settle(&self, place: &Place) -> bool {
        let here = self.text.length();
        match place {
            // Before there are words, nothing can be said of them.
            Place::Nowhere | Place::At(_) => here.chars > 0,
            Place::Passage(name) => self.passages.get(name).is_some_and(|passage| passage.end.is_some()),
            Place::Chars(name, range) => {
                self.has(*name, |start| start.chars.saturating_add(range.end) <= here.chars)
            }
            Place::Bytes(name, range) => {
                self.has(*name, |start| start.bytes.saturating_add(range.end) <= here.bytes)
            }
        }
    }

    /// Whether a passage has ended, or `reaches` far enough from where it starts. The whole text has not ended yet.
    fn has(&self, name: Option<u64>, reaches: impl FnOnce(Position) -> bool) -> bool {
        match name {
            None => reaches(Position::default()),
            Some(name) => self
                .passages
                .get(&name)
                .is_some_and(|passage| passage.end.is_some() || reaches(passage.start)),
        }
    }

    /// The place as a piece of the whole text, as the caller's dialect counts.
    fn settled<'a>(&mut self, mut citation: Citation<'a>) -> Option<Event<'a>> {
        let at = match &citation.place {
            Place::Nowhere => None,
            Place::At(range) => Some(range.clone()),
            Place::Passage(name) => {
                self.bounds(Some(*name)).and_then(|(start, end)| self.in_chars(start.chars..end.chars))
            }
            Place::Chars(name, range) => self
                .bounds(*name)
                .and_then(|(start, end)| self.in_chars(within(start.chars, end.chars, range)?)),
            Place::Bytes(name, range) => self
                .bounds(*name)
                .and_then(|(start, end)| self.in_bytes(within(start.bytes, end.bytes, range)?)),
        };
        let was_nowhere = citation.place == Place::Nowhere;
        citation.place = at.filter(|at| at.end > 0).map_or(Place::Nowhere, Place::At);
        // Of several places that there are not, one is left.
        let is_new = was_nowhere || citation.place != Place::Nowhere || self.is_new(&citation);
        is_new.then(|| Event::Citation(Box::new(citation)))
    }

    /// Where a passage, or the whole text, starts and ends.
    fn bounds(&self, name: Option<u64>) -> Option<(Position, Position)> {
        let here = self.text.length();
        match name {
            None => Some((Position::default(), here)),
            Some(name) => {
                self.passages.get(&name).map(|passage| (passage.start, passage.end.unwrap_or(here)))
            }
        }
    }

    fn in_chars(&self, range: Range<u64>) -> Option<Range<u64>> {
        if !self.bytes {
            return Some(range);
        }
        Some(self.text.bytes_before(range.start)?..self.text.bytes_before(range.end)?)
    }

    fn in_bytes(&self, range: Range<u64>) -> Option<Range<u64>> {
        if self.bytes {
            return Some(range);
        }
        Some(self.text.chars_before(range.start)?..self.text.chars_before(range.end)?)
    }
}

/// A range of what lies between two places, cut to it.
fn within(start: u64, end: u64, range: &Range<u64>) -> Option<Range<u64>> {
    let first = start.saturating_add(range.start);
    let last = start.saturating_add(range.end).min(end);
    (first <= last).then_some(first..last)
}
