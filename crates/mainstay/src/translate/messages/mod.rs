//! Anthropic's Messages.

mod answer;
mod blocks;
mod events;
mod lanes;
mod read;
mod thinking;
mod write;

pub(super) use self::answer::{is_input, read_answer, write_answer, write_input};
pub(super) use self::events::Events;
pub(super) use self::lanes::Stream;
pub(super) use self::read::read;
pub(super) use self::thinking::{Sampling, Thinking};
pub(super) use self::write::write;
