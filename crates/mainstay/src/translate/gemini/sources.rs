//! Writing the sources of an answer, as if Google had searched for them.

use crate::translate::{citation::Citation, out::Out};
use std::{collections::HashMap, ops::Range};

/// A part that is text of the answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PartStart {
    /// Which of the parts it is.
    pub(super) part: u64,
    /// Where it starts, in bytes of all such text.
    pub(super) start: u64,
}

/// A segment of a part, and the pages that it comes from.
struct Support {
    part: u64,
    segment: Range<u64>,
    pages: Vec<u64>,
}

/// `groundingMetadata`, if there are sources. `parts` are those with the answer's text, which is `end` bytes long.
///
/// A page is told once, however much comes from it; a source without a place is a page that supports nothing.
pub(super) fn write_grounding(citations: &[Citation<'_>], parts: &[PartStart], end: u64, out: &mut Out) {
    if citations.is_empty() {
        return;
    }
    let (mut pages, mut places) = (Vec::new(), HashMap::new());
    let mut supports: Vec<Support> = Vec::new();
    for citation in citations {
        let page = *places.entry(&*citation.url).or_insert_with(|| {
            pages.push(citation);
            pages.len() as u64 - 1
        });
        let Some((part, segment)) = segment(citation, parts, end) else { continue };
        match supports.last_mut() {
            Some(last) if (last.part, &last.segment) == (part, &segment) => last.pages.push(page),
            _ => supports.push(Support { part, segment, pages: vec![page] }),
        }
    }
    out.key("groundingMetadata").open('{').key("groundingChunks").open('[');
    for page in pages {
        out.open('{').key("web").open('{').key("uri").pieces([&*page.url]);
        if !page.title.is_empty() {
            out.key("title").pieces([&*page.title]);
        }
        out.close('}').close('}');
    }
    out.close(']').key("groundingSupports").open('[');
    for Support { part, segment, pages } in supports {
        out.open('{').key("segment").open('{');
        if part > 0 {
            out.field_number("partIndex", part);
        }
        out.field_number("startIndex", segment.start).field_number("endIndex", segment.end).close('}');
        out.key("groundingChunkIndices").open('[');
        for page in pages {
            out.number(page);
        }
        out.close(']').close('}');
    }
    out.close(']').close('}');
}

/// The part that a source belongs to and the bytes in it, cut at its end.
fn segment(citation: &Citation<'_>, parts: &[PartStart], end: u64) -> Option<(u64, Range<u64>)> {
    let at = citation.at()?;
    let inside = if at.is_empty() { at.start.saturating_sub(1) } else { at.start };
    let n = parts.partition_point(|part| part.start <= inside).checked_sub(1)?;
    let PartStart { part, start } = *parts.get(n)?;
    let end = parts.get(n + 1).map_or(end, |next| next.start).min(at.end);
    Some((part, at.start.saturating_sub(start)..end.saturating_sub(start)))
}
