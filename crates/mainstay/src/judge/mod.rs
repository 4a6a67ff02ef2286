//! Knowing what a reply is before anyone acts on it.
//!
//! LLM APIs fail inside a 200: a JSON body that holds an `error`, a stream whose first event is one, a login page, an
//! answer without choices, a stream that ends without an end. [`JudgeLayer`] reads as much of a reply as it takes to know,
//! and says it once, as a [`Verdict`](mainstay_layers::classify::Verdict), for all who act on it above: retry, breaker,
//! fallback, metrics.
//!
//! | reply | what is read | what comes of it |
//! | --- | --- | --- |
//! | an error status | its body, at most 256 KiB and for at most [`error_body`](JudgeConfig::error_body) | the reply, whole, with its verdict in the extensions |
//! | a redirect | nothing | [`ReplyError::Redirect`]: an API does not redirect, and what it carries goes nowhere |
//! | JSON | all of it (bound it with a `BodyLimitLayer` below) | the reply whole; an error inside becomes a reply with the status it stands for; no answer is [`ReplyError::NotAnAnswer`] |
//! | JSON where a stream was asked for, a stream where none was | all of it; nothing | [`ReplyError::NotAnAnswer`], unless it is an error |
//! | a stream | until its first content | the held bytes in one go, then the events of each frame as it comes |
//! | compressed, with no layer below that decodes | nothing | [`ReplyError::NotAnAnswer`]: it cannot be judged |
//! | anything but JSON from an endpoint that is not known | nothing | the reply as it is |
//!
//! **Hold until content.** What comes before the first content of a stream (role chunks, `message_start`, pings, comments) is
//! held, at most 64 events or 256 KiB, and handed on byte for byte with it. Until then nothing has reached the caller and
//! everything may still be tried again.
//!
//! **Passing.** After that the body passes events through as they came, whole ones only. The events of one frame go on as
//! one slice of it, and nothing is allocated for them; an event that spans frames is put together once. A frame of nothing but
//! events that differ from the one before in their text alone, as most do, is known by that and not cut at all. Streams are
//! server-sent events, lines of JSON (Ollama) or AWS event streams (Bedrock), as the dialect of the path has them. One thing is
//! added: in the Messages dialect, where SDKs go by the names of events, one that comes without gets that of its type. An event
//! that nobody can read passes too, and is counted; but where the stream is translated above, it fails the reply.
//!
//! **Ends.** It ends in one of three ways: properly,
//! after the terminal of its dialect (a chat stream that finished without `[DONE]` gets one); with
//! [`ReplyError::Provider`], the provider's own error event; or with another typed error, such as [`ReplyError::Truncated`]
//! or the timer that fired. Errors carry a [`Failed`](mainstay_layers::classify::Failed) whose verdict is `committed`.
//! Once the terminal was seen, the connection gets 100 ms to end its message, so that it can be used again.
//!
//! A judge stands outside timeouts and limits, so that it sees their errors, and inside concurrency, breaker and retry.

mod body;
mod collected;
mod config;
mod error;
pub(crate) mod framing;
mod future;
mod held;
mod layer;
mod plan;
mod reading;
mod service;
mod tee;
#[cfg(test)]
mod tests;

pub use self::body::JudgeBody;
pub use self::config::JudgeConfig;
pub use self::error::{ErrorEvent, ReplyError};
pub use self::future::ResponseFuture;
pub use self::layer::{Evidence, JudgeLayer};
pub use self::service::Judge;

use crate::dialect::Usage;
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::Arc;

/// The body of an error reply, in the extensions of the response beside its verdict.
#[derive(Clone, Debug)]
pub struct ErrorBody(pub Bytes);

/// Where a judge writes down the tokens of an answer, for whoever put it into the request's extensions.
///
/// The tokens of several replies that make up one answer add up; see [`begin_another`](Self::begin_another).
#[derive(Clone, Debug, Default)]
pub struct UsageCell(Arc<Mutex<Replies>>);

#[derive(Debug, Default)]
struct Replies {
    before: Usage,
    current: Usage,
    malformed: u64,
}

impl UsageCell {
    /// What is known so far; of a stream, all of it at its end.
    pub fn get(&self) -> Usage {
        let replies = self.0.lock();
        replies.before + replies.current
    }

    /// What is written down from now on is another reply's, and adds to what there is.
    pub fn begin_another(&self) {
        let mut replies = self.0.lock();
        replies.before = replies.before + std::mem::take(&mut replies.current);
    }

    /// How many events of the current reply's stream were malformed; each went on as it came.
    pub fn malformed_events(&self) -> u64 {
        self.0.lock().malformed
    }

    pub(crate) fn set(&self, usage: Usage) {
        self.0.lock().current = usage;
    }

    pub(crate) fn set_malformed(&self, events: u64) {
        self.0.lock().malformed = events;
    }
}
