//! How a stream tells the part of an item.

use super::answer::ItemKind;

/// The events of a part of an item, and how they call its place and its text.
pub(super) struct PartEvents {
    pub(super) added: &'static str,
    pub(super) delta: &'static str,
    pub(super) done: &'static str,
    pub(super) closed: &'static str,
    pub(super) index: &'static str,
    pub(super) whole: &'static str,
}

/// A call has no parts.
pub(super) fn part_events(kind: ItemKind) -> Option<PartEvents> {
    let content = PartEvents {
        added: "response.content_part.added",
        delta: "response.output_text.delta",
        done: "response.output_text.done",
        closed: "response.content_part.done",
        index: "content_index",
        whole: "text",
    };
    match kind {
        ItemKind::Text => Some(content),
        ItemKind::Refusal => Some(PartEvents {
            delta: "response.refusal.delta",
            done: "response.refusal.done",
            whole: "refusal",
            ..content
        }),
        ItemKind::Thought => Some(PartEvents {
            added: "response.reasoning_summary_part.added",
            delta: "response.reasoning_summary_text.delta",
            done: "response.reasoning_summary_text.done",
            closed: "response.reasoning_summary_part.done",
            index: "summary_index",
            whole: "text",
        }),
        ItemKind::Call => None,
    }
}
