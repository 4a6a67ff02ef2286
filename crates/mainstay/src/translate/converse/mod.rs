//! Bedrock's `Converse` and `ConverseStream`, as a target: requests are written, answers and the messages of their event
//! streams read.

mod blocks;
mod events;
mod family;
mod media;
mod tools;
mod write;

pub(super) use self::events::{Events, read_answer};
pub(super) use self::write::{path, write};
