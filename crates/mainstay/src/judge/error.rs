//! What is wrong with a reply that is no answer.

use bytes::Bytes;
use http::StatusCode;
use std::fmt;

/// A reply that is no answer, or a stream that did not end as one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyError {
    /// The body of a success is none: empty, HTML, cut, without choices.
    NotAnAnswer {
        /// What it is instead.
        what: &'static str,
    },
    /// The provider redirects.
    Redirect {
        /// With which status.
        status: StatusCode,
    },
    /// A stream ended without the terminal of its dialect.
    Truncated,
    /// One event of a stream is over the limit.
    EventTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The provider ended the stream with an error event.
    Provider(ErrorEvent),
}

/// A provider's error event in a stream.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorEvent {
    /// The whole event as it came.
    pub raw: Bytes,
    /// Its data.
    pub data: Bytes,
}

impl ErrorEvent {
    pub(crate) fn new(raw: Bytes, data: Bytes) -> Self {
        Self { raw, data }
    }
}

impl fmt::Debug for ErrorEvent {
    // The provider's words may repeat a key: they are cut before they are shown, and not here.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ErrorEvent({} bytes)", self.raw.len())
    }
}

impl ReplyError {
    /// The gateway's word for it, in a stream that had begun.
    pub const fn code(&self) -> &'static str {
        match self {
            ReplyError::Truncated => "stream_truncated",
            ReplyError::EventTooLarge { .. } => "response_too_large",
            ReplyError::NotAnAnswer { .. } | ReplyError::Redirect { .. } => "upstream_malformed",
            ReplyError::Provider(_) => "upstream_error",
        }
    }
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplyError::NotAnAnswer { what } => write!(f, "the provider's reply is no answer: {what}"),
            ReplyError::Redirect { status } => {
                write!(f, "the provider redirects ({status}); check the base_url of the provider")
            }
            ReplyError::Truncated => f.write_str("the provider's stream ended before the answer did"),
            ReplyError::EventTooLarge { limit } => {
                write!(f, "one event of the provider's stream is over the limit of {limit} bytes")
            }
            ReplyError::Provider(_) => f.write_str("the provider ended the stream with an error"),
        }
    }
}

impl std::error::Error for ReplyError {}
