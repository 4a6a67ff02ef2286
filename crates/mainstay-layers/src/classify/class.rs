//! The classes of outcomes, and the table by which each layer reads them.

use std::fmt;

/// What kind of outcome a call had.
///
/// | class | same target again | next target | breaker |
/// | --- | --- | --- | --- |
/// | `Success` | | | success |
/// | `RateLimited` | yes, after the wait | yes | neutral |
/// | `QuotaExhausted` | no | yes | neutral |
/// | `Overloaded`, `ServerError` | yes | yes | failure |
/// | `Transport` | yes | yes | failure |
/// | `Timeout` | only where no next target is left | yes | failure |
/// | `Malformed` | yes | yes | failure |
/// | `Auth`, `NotFound` | no | yes | neutral |
/// | `ContextLength`, `TooLarge` | no | yes | neutral |
/// | `ContentPolicy` | no | no | neutral |
/// | `InvalidRequest` | no | no | neutral |
/// | `Rejected` | no | yes | neutral |
/// | `Cancelled` | no | no | neutral |
///
/// A [`Verdict`](super::Verdict) can override a row, as `x-should-retry`, gRPC pushback and a failure of one generation
/// do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// A whole answer, or one that is on its way.
    Success,
    /// The server asks us to slow down; a wait cures it.
    RateLimited,
    /// No credit, a spend limit: only an operator or the next month cures it.
    QuotaExhausted,
    /// The server has no capacity just now.
    Overloaded,
    /// The server failed.
    ServerError,
    /// The connection failed: refused, reset, DNS, TLS.
    Transport,
    /// One of our timers ended the call, or the server said that one of its own did.
    Timeout,
    /// A reply that is no answer: HTML in a 200, an empty or cut body, no choices.
    Malformed,
    /// The credentials were refused.
    Auth,
    /// The server does not have what was asked for, such as the model.
    NotFound,
    /// The input does not fit the model's context window.
    ContextLength,
    /// The request or the reply is over a size limit.
    TooLarge,
    /// A content filter or a refusal.
    ContentPolicy,
    /// The caller's own mistake.
    InvalidRequest,
    /// One of our own layers refused the call before it was sent: an open circuit, a full queue.
    Rejected,
    /// The caller went away.
    Cancelled,
}

/// What a circuit breaker counts an outcome as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// The server is well.
    Success,
    /// The server is ill.
    Failure,
    /// Says nothing about the server's health.
    Neutral,
}

impl Class {
    /// Every class, for tables and metrics.
    pub const ALL: [Class; 16] = [
        Class::Success,
        Class::RateLimited,
        Class::QuotaExhausted,
        Class::Overloaded,
        Class::ServerError,
        Class::Transport,
        Class::Timeout,
        Class::Malformed,
        Class::Auth,
        Class::NotFound,
        Class::ContextLength,
        Class::TooLarge,
        Class::ContentPolicy,
        Class::InvalidRequest,
        Class::Rejected,
        Class::Cancelled,
    ];

    /// The class in snake_case, as metrics, logs and errors show it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Class::Success => "success",
            Class::RateLimited => "rate_limited",
            Class::QuotaExhausted => "quota_exhausted",
            Class::Overloaded => "overloaded",
            Class::ServerError => "server_error",
            Class::Transport => "transport",
            Class::Timeout => "timeout",
            Class::Malformed => "malformed",
            Class::Auth => "auth",
            Class::NotFound => "not_found",
            Class::ContextLength => "context_length",
            Class::TooLarge => "too_large",
            Class::ContentPolicy => "content_policy",
            Class::InvalidRequest => "invalid_request",
            Class::Rejected => "rejected",
            Class::Cancelled => "cancelled",
        }
    }

    /// Whether the same target may be asked again. `Timeout` is `true` here; whether a next target is left is for
    /// the caller of this to know.
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Class::RateLimited
                | Class::Overloaded
                | Class::ServerError
                | Class::Transport
                | Class::Timeout
                | Class::Malformed
        )
    }

    /// Whether another target may answer where this one did not.
    pub const fn falls_back(self) -> bool {
        !matches!(self, Class::Success | Class::ContentPolicy | Class::InvalidRequest | Class::Cancelled)
    }

    /// How a circuit breaker counts it.
    #[inline]
    pub const fn vote(self) -> Vote {
        match self {
            Class::Success => Vote::Success,
            Class::Overloaded | Class::ServerError | Class::Transport | Class::Timeout | Class::Malformed => {
                Vote::Failure
            }
            _ => Vote::Neutral,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_listed_once() {
        let mut names: Vec<_> = Class::ALL.iter().map(|c| c.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Class::ALL.len());
    }

    #[test]
    fn what_votes_failure_is_also_worth_another_try() {
        for class in Class::ALL {
            if class.vote() == Vote::Failure {
                assert!(class.is_retryable() && class.falls_back(), "{class}");
            }
        }
    }
}
