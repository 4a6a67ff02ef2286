//! OpenAI's Responses.
//!
//! What an earlier response left with OpenAI (`previous_response_id`, conversations, stored items) is nobody else's and is
//! refused by name; the item list that SDKs send by themselves is a conversation like any other.

mod annotations;
mod answer;
mod events;
mod parts;
mod read;
mod stream;
mod write;

pub(super) use self::answer::write_answer;
pub(super) use self::events::{Events, read_answer};
pub(super) use self::read::read;
pub(super) use self::stream::Stream;
pub(super) use self::write::write;
