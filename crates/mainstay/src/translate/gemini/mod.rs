//! Google's `generateContent` and `streamGenerateContent`.

mod answer;
mod config;
mod events;
mod grounding;
mod path;
mod read;
mod schema;
mod sources;
mod stream;
mod write;

pub(super) use self::answer::{read_answer, write_answer};
pub(super) use self::events::Events;
pub(super) use self::path::{path, renamed};
pub(super) use self::read::read;
pub(super) use self::stream::Stream;
pub(super) use self::write::write;
