//! OpenAI's chat completions.

mod answer;
mod events;
mod messages;
mod read;
mod stream;
mod tools;
mod write;

pub(super) use self::answer::{read_answer, write_answer};
pub(super) use self::events::Events;
pub(super) use self::messages::{lose_media, write_calls, write_image, write_results};
pub(super) use self::read::{read, schema_format};
pub(super) use self::stream::Stream;
pub(super) use self::tools::{function_tool, read_arguments, read_choice};
pub(super) use self::write::{LONGEST_USER, effort_word, write, write_choice};
