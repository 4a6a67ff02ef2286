//! What the layer tells of its decisions.

use crate::classify::{Class, Verdict};
use std::{fmt, time::Duration};

/// Why a call that failed was not tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GiveUp {
    /// The outcome is of a kind that another try does not cure, or the server forbade one.
    NotRetryable,
    /// Something of the reply has reached the caller.
    Committed,
    /// The tries are used up.
    Attempts,
    /// The server asked for a longer wait than `max_wait`.
    WaitTooLong,
    /// The deadline or `within` has no time for another try.
    NoTime,
    /// The budget has no token for another try.
    Budget,
    /// The request body can not be sent again: over the cap, or its source failed.
    BodyLost,
    /// The server may have acted on the request, and the [`RetrySafety`](super::RetrySafety) does not allow that.
    Unsafe,
    /// A timeout, and another target is left.
    NextTarget,
    /// The service below did not become ready for another try.
    NotReady,
    /// A layer of our own refused the next try: an open circuit, a full queue.
    Rejected,
}

impl GiveUp {
    /// The reason in snake_case, as logs and metrics show it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotRetryable => "not_retryable",
            Self::Committed => "committed",
            Self::Attempts => "attempts",
            Self::WaitTooLong => "wait_too_long",
            Self::NoTime => "no_time",
            Self::Budget => "budget",
            Self::BodyLost => "body_lost",
            Self::Unsafe => "unsafe",
            Self::NextTarget => "next_target",
            Self::NotReady => "not_ready",
            Self::Rejected => "rejected",
        }
    }
}

impl fmt::Display for GiveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A decision, as the hook of [`RetryLayer::with_hook`](super::RetryLayer::with_hook) is told of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RetryEvent<'a> {
    /// Another try is to follow.
    #[non_exhaustive]
    Retry {
        /// The number of the try that failed, from 1.
        attempt: u32,
        /// The verdict on it.
        verdict: &'a Verdict,
        /// How long we wait before the next.
        delay: Duration,
        /// The free replay after a stale connection: it counts as no try and draws on no budget.
        free: bool,
    },
    /// A call that failed is handed up.
    #[non_exhaustive]
    GiveUp {
        /// How many tries were made.
        attempts: u32,
        /// The verdict on what is handed up.
        verdict: &'a Verdict,
        /// Why there is no further try.
        reason: GiveUp,
    },
}

/// How a call ended at the retry layer: in the extensions of the reply, or in the
/// [`RetryError`](super::RetryError).
///
/// A reply without one succeeded at the first try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryOutcome {
    /// How many tries were made; free replays on a stale connection do not count.
    pub attempts: u32,
    /// The class of what is handed up.
    pub class: Class,
    /// Why there was no further try; `None`: the call succeeded.
    pub reason: Option<GiveUp>,
    /// The wait that the server asked for and that was not waited out.
    pub wait: Option<Duration>,
}
