//! What can be wrong with a stream of events.

use std::{error::Error, fmt};

/// A stream that cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SseError {
    /// One event, or a run of comments, is longer than the limit.
    EventTooLarge {
        /// The limit in bytes; exactly as many pass.
        limit: usize,
    },
}

impl fmt::Display for SseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SseError::EventTooLarge { limit } => write!(f, "an event of the stream is over {limit} bytes"),
        }
    }
}

impl Error for SseError {}

/// Why an [`EventStream`](super::EventStream) ended early. `E` is the body's error.
#[derive(Debug)]
#[non_exhaustive]
pub enum EventStreamError<E> {
    /// The body failed.
    Body(E),
    /// The bytes could not be read as events.
    Sse(SseError),
    /// The body ended in the middle of an event.
    Truncated,
}

impl<E: fmt::Display> fmt::Display for EventStreamError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventStreamError::Body(error) => write!(f, "the body of the event stream failed: {error}"),
            EventStreamError::Sse(error) => error.fmt(f),
            EventStreamError::Truncated => f.write_str("the stream ended in the middle of an event"),
        }
    }
}

impl<E: Error + 'static> Error for EventStreamError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            EventStreamError::Body(error) => Some(error),
            EventStreamError::Sse(error) => Some(error),
            EventStreamError::Truncated => None,
        }
    }
}

impl<E> From<SseError> for EventStreamError<E> {
    fn from(error: SseError) -> Self {
        EventStreamError::Sse(error)
    }
}
