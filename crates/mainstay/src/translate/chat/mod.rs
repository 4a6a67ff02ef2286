//! OpenAI's chat completions.

mod answer;
mod events;
mod read;
mod write;

pub(super) use self::answer::{read_answer, write_answer};
pub(super) use self::events::{Events, Stream};
pub(super) use self::read::read;
pub(super) use self::write::write;
