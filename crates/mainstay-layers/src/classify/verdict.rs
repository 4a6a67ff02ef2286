//! The judgement on one outcome.

use super::{Class, Vote};
use std::{sync::Arc, time::Duration};

/// How much of the request the server can have seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Sent {
    /// Nothing was sent: repeating it is safe whatever it does.
    No,
    /// Some or all of it may have been acted on.
    #[default]
    Maybe,
}

/// The judgement on one outcome. Cheap to clone.
///
/// Left in the extensions of a response by whoever judged it last, and carried by [`Failed`](super::Failed) in errors.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// What kind of outcome it was.
    pub class: Class,
    /// How long the server asked us to wait, if it did; at most a day.
    pub wait: Option<Duration>,
    /// Overrides the class's row for "same target again": `x-should-retry`, gRPC pushback, a request that can never
    /// fit its quota.
    pub retry: Option<bool>,
    /// Overrides the class's row for the breaker: a failure of one generation, such as a tool call that the model
    /// wrote wrong, says nothing about the server's health.
    pub vote: Option<Vote>,
    /// How much of the request the server can have seen. Matters for [`Class::Transport`] and [`Class::Timeout`].
    pub sent: Sent,
    /// A kept connection that the server had closed before it read the request: replayed once, free of charge, and no
    /// vote.
    pub stale: bool,
    /// Something of the reply has reached the caller: nothing may be tried again silently.
    pub committed: bool,
    /// The status that this outcome stands for, where it differs from the reply's own: an error inside a 200.
    pub status: Option<http::StatusCode>,
    /// The server's own code for it, such as `insufficient_quota`.
    pub code: Option<Arc<str>>,
    /// The server's or our own words, for people. Never a key, never a prompt.
    pub message: Option<Arc<str>>,
}

impl Verdict {
    /// A verdict of `class` with nothing else known.
    pub const fn new(class: Class) -> Self {
        Self {
            class,
            wait: None,
            retry: None,
            vote: None,
            sent: Sent::Maybe,
            stale: false,
            committed: false,
            status: None,
            code: None,
            message: None,
        }
    }

    /// Sets the wait that the server asked for.
    #[must_use]
    pub fn with_wait(mut self, wait: Option<Duration>) -> Self {
        self.wait = wait;
        self
    }

    /// Overrides whether the same target may be asked again.
    #[must_use]
    pub fn with_retry(mut self, retry: Option<bool>) -> Self {
        self.retry = retry;
        self
    }

    /// Overrides how a circuit breaker counts it.
    #[must_use]
    pub fn with_vote(mut self, vote: Option<Vote>) -> Self {
        self.vote = vote;
        self
    }

    /// Says how much of the request the server can have seen.
    #[must_use]
    pub fn with_sent(mut self, sent: Sent) -> Self {
        self.sent = sent;
        self
    }

    /// Says that the connection had been closed before the server read the request.
    #[must_use]
    pub fn with_stale(mut self, stale: bool) -> Self {
        self.stale = stale;
        self
    }

    /// Says that something of the reply has reached the caller.
    #[must_use]
    pub fn with_committed(mut self, committed: bool) -> Self {
        self.committed = committed;
        self
    }

    /// Sets the status that this outcome stands for.
    #[must_use]
    pub fn with_status(mut self, status: Option<http::StatusCode>) -> Self {
        self.status = status;
        self
    }

    /// Sets the server's own code.
    #[must_use]
    pub fn with_code(mut self, code: Option<&str>) -> Self {
        self.code = code.map(Arc::from);
        self
    }

    /// Sets the words for people.
    #[must_use]
    pub fn with_message(mut self, message: Option<&str>) -> Self {
        self.message = message.map(Arc::from);
        self
    }

    /// Whether the same target may be asked again: the override if there is one, else the class's row; never after
    /// something reached the caller.
    pub fn is_retryable(&self) -> bool {
        !self.committed && self.retry.unwrap_or(self.class.is_retryable())
    }

    /// Whether another target may be asked: never after something reached the caller. A request that the server calls
    /// invalid and yet asks to have again is no mistake of the caller's.
    pub fn falls_back(&self) -> bool {
        let temporary = self.class == Class::InvalidRequest && self.retry == Some(true);
        !self.committed && (self.class.falls_back() || temporary)
    }

    /// How a circuit breaker counts it: the override if there is one, else the class's row. A stale connection says
    /// nothing about the server's health.
    #[inline]
    pub fn vote(&self) -> Vote {
        if self.stale { Vote::Neutral } else { self.vote.unwrap_or(self.class.vote()) }
    }

    /// Whether the call succeeded.
    pub fn is_success(&self) -> bool {
        self.class == Class::Success
    }
}

impl From<Class> for Verdict {
    fn from(class: Class) -> Self {
        Self::new(class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_of_the_vote_wins_over_the_class_and_a_stale_connection_over_both() {
        let flake = Verdict::new(Class::Malformed).with_vote(Some(Vote::Neutral));
        assert_eq!(flake.vote(), Vote::Neutral);
        assert!(flake.is_retryable() && flake.falls_back());
        assert_eq!(Verdict::new(Class::Malformed).vote(), Vote::Failure);
        let stale = Verdict::new(Class::Transport).with_vote(Some(Vote::Failure)).with_stale(true);
        assert_eq!(stale.vote(), Vote::Neutral);
    }

    #[test]
    fn a_request_called_invalid_goes_elsewhere_only_if_the_server_asks_to_have_it_again() {
        let invalid = Verdict::new(Class::InvalidRequest);
        assert!(!invalid.falls_back());
        assert!(!invalid.clone().with_retry(Some(false)).falls_back());
        assert!(invalid.clone().with_retry(Some(true)).falls_back());
        assert!(!invalid.with_retry(Some(true)).with_committed(true).falls_back());
        assert!(!Verdict::new(Class::ContentPolicy).with_retry(Some(true)).falls_back());
    }
}
