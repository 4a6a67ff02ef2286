//! The sources of an answer's texts.
//!
//! Each text is an item with one part, which counts its characters for itself.

use crate::translate::{
    citation::{Citation, write_url_citation},
    event::{Answer, Piece},
    measure::Measure,
    out::Out,
};
use std::ops::Range;

/// The annotations of each of an answer's texts; nothing where there are none at all.
pub(super) fn sources(answer: &Answer<'_>) -> Vec<String> {
    if answer.citations.is_empty() {
        return Vec::new();
    }
    let (mut texts, mut told) = (Texts::default(), Measure::default());
    for piece in &answer.pieces {
        if let Piece::Text(text) = piece {
            texts.begin(told.length().chars);
            told.read(text);
        }
    }
    let mut all = vec![String::new(); texts.starts.len()];
    for citation in &answer.citations {
        let found = texts.of(citation, told.length().chars);
        if let Some((at, list)) = found.and_then(|(n, at)| Some((at, all.get_mut(n)?))) {
            add_annotation(&annotation(citation, at), list);
        }
    }
    all
}

/// Where the texts of an answer start, each in an item of its own, in characters of all of them.
#[derive(Debug, Default)]
pub(super) struct Texts {
    starts: Vec<u64>,
}

impl Texts {
    /// One more begins; which it is.
    pub(super) fn begin(&mut self, start: u64) -> usize {
        self.starts.push(start);
        self.starts.len() - 1
    }

    /// The text that a source belongs to, and the piece of it that is meant, cut at its end. Without a place it is the last
    /// text's. `end` is that of all texts.
    pub(super) fn of(&self, citation: &Citation<'_>, end: u64) -> Option<(usize, Option<Range<u64>>)> {
        let last = self.starts.len().checked_sub(1)?;
        let Some(at) = citation.at() else { return Some((last, None)) };
        // What is nothing at the end of a text is not the beginning of the next.
        let inside = if at.is_empty() { at.start.saturating_sub(1) } else { at.start };
        let n = self.starts.partition_point(|start| *start <= inside).saturating_sub(1);
        let start = self.starts.get(n).copied()?;
        let end = self.starts.get(n + 1).copied().unwrap_or(end).min(at.end);
        Some((n, Some(at.start.saturating_sub(start)..end.saturating_sub(start))))
    }
}

pub(super) fn annotation(citation: &Citation<'_>, at: Option<Range<u64>>) -> String {
    let mut out = Out::with_capacity(citation.len() + 96);
    out.open('{').field_str("type", "url_citation");
    write_url_citation(citation, at, &mut out);
    out.close('}');
    out.finish()
}

/// One more for a list without its brackets.
pub(super) fn add_annotation(annotation: &str, list: &mut String) {
    if !list.is_empty() {
        list.push(',');
    }
    list.push_str(annotation);
}
