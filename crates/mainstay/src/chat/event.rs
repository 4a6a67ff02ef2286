//! What a stream tells.

use super::{Finish, ToolCall, Usage};

/// Something that a stream tells. Pieces are never empty.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// The next piece of the text.
    Text(String),
    /// The next piece of what the model thinks.
    Reasoning(String),
    /// The next piece of why the model does not answer.
    Refusal(String),
    /// A tool call has begun. Several may grow side by side.
    ToolCallStarted {
        /// Which call of this answer, from 0.
        index: usize,
        /// Its id.
        id: String,
        /// The function's name.
        name: String,
    },
    /// The next piece of a call's arguments. Not to be acted on: the stream may still fail.
    ToolCallArguments {
        /// Which call of this answer.
        index: usize,
        /// The piece: JSON that is cut anywhere.
        piece: String,
    },
    /// A tool call that is whole. They come when the answer is, in order, just before its end.
    ToolCall(ToolCall),
    /// The tokens, if the provider tells them. Just before the end.
    Usage(Usage),
    /// The answer is whole. The last event; a stream that ends otherwise ends in an error.
    Done(Finish),
}
