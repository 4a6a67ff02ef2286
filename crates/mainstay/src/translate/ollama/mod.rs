//! Ollama's own `/api/chat`, as a target: requests are written, answers and their lines read.

mod events;
mod write;

pub(super) use self::events::{Events, read_answer};
pub(super) use self::write::write;
