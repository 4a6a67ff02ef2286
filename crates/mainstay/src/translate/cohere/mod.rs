//! Cohere's `/v2/chat`, as a target: requests are written, answers and their events read.

mod answer;
mod events;
mod write;

pub(super) use self::answer::read_answer;
pub(super) use self::events::Events;
pub(super) use self::write::write;
