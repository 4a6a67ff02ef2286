//! The error of a call that no target answered.

use super::attempt::{Attempt, AttemptLog, LastReply};
use http::StatusCode;
use mainstay_layers::{
    BoxError,
    breaker::CircuitOpen,
    classify::{Class, Classify, HttpClassifier, Verdict},
    concurrency::Overloaded,
    deadline::DeadlineExceeded,
    error::find_cause,
    limit::BodyTooLarge,
    timeout::TimeoutError,
};
use std::{fmt, time::Duration};

/// No target answered: what each of them said, and what that comes to.
#[derive(Debug)]
#[non_exhaustive]
pub struct CallFailed {
    /// Each try that failed, and each target that was passed by.
    pub attempts: Vec<Attempt>,
    /// How many tries were made, at all targets.
    pub tries: u32,
    /// The last error reply that a provider gave in full.
    pub reply: Option<LastReply>,
    /// The status that this comes to: that of the last provider reply, else one of our own.
    pub status: StatusCode,
    /// Our own word for it, where no provider replied: `upstream_unreachable`, `circuit_open`, `idle_timeout`, ...
    pub code: Option<&'static str>,
    /// How long to wait before another call makes sense, if anyone said so.
    pub retry_after: Option<Duration>,
    /// The last judgement.
    pub verdict: Verdict,
    source: Option<BoxError>,
}

impl CallFailed {
    /// The error of a call that ended in `verdict`, with `source` where it was an error and no reply.
    pub fn new(log: &AttemptLog, verdict: Verdict, source: Option<BoxError>) -> Self {
        let reply = log.last_reply();
        let own =
            own_words(&verdict, source.as_deref().map(|error| error as &(dyn std::error::Error + 'static)));
        let (status, code) = match &reply {
            Some(reply) => (reply.status, None),
            None => (own.0, Some(own.1)),
        };
        let retry_after = match &reply {
            Some(reply) => reply.verdict.wait.or(verdict.wait),
            None => verdict.wait,
        };
        Self { attempts: log.failed(), tries: log.tries(), reply, status, code, retry_after, verdict, source }
    }

    /// The error of a call that an error ended.
    pub fn from_error(log: &AttemptLog, error: BoxError) -> Self {
        let verdict = HttpClassifier::new().error(&*error);
        Self::new(log, verdict, Some(error))
    }

    /// Sets the status and our word for it.
    #[must_use]
    pub(super) fn with_status(mut self, status: StatusCode, code: &'static str) -> Self {
        if self.reply.is_none() {
            self.status = status;
            self.code = Some(code);
        }
        self
    }

    /// What to tell a person.
    pub fn message(&self) -> String {
        let words = match &self.reply {
            Some(reply) => reply.verdict.message.as_deref(),
            None => self.verdict.message.as_deref(),
        };
        match (words, &self.source) {
            (Some(words), _) => words.to_owned(),
            (None, Some(source)) => source.to_string(),
            (None, None) => format!("the provider answered with an error ({})", self.status),
        }
    }
}

impl fmt::Display for CallFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no target answered ({} tries): {}", self.tries, self.message())
    }
}

impl std::error::Error for CallFailed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|error| error as &(dyn std::error::Error + 'static))
    }
}

/// Status and code of a failure in which no provider replied in full.
pub fn own_words(
    verdict: &Verdict,
    error: Option<&(dyn std::error::Error + 'static)>,
) -> (StatusCode, &'static str) {
    if let Some(error) = error {
        if let Some(timeout) = find_cause::<TimeoutError>(error) {
            return (StatusCode::GATEWAY_TIMEOUT, timeout.code());
        }
        if find_cause::<DeadlineExceeded>(error).is_some() {
            return (StatusCode::GATEWAY_TIMEOUT, "deadline_exceeded");
        }
        if find_cause::<CircuitOpen>(error).is_some() {
            return (StatusCode::SERVICE_UNAVAILABLE, "circuit_open");
        }
        if find_cause::<Overloaded>(error).is_some() {
            return (StatusCode::SERVICE_UNAVAILABLE, "overloaded");
        }
        if find_cause::<BodyTooLarge>(error).is_some() {
            return (StatusCode::BAD_GATEWAY, "response_too_large");
        }
        if let Some(broken) = find_cause::<crate::judge::ReplyError>(error) {
            let code = if verdict.committed || !matches!(broken, crate::judge::ReplyError::Truncated) {
                broken.code()
            } else {
                "upstream_malformed"
            };
            return (StatusCode::BAD_GATEWAY, code);
        }
    }
    match verdict.class {
        Class::Timeout => match verdict.code.as_deref() {
            Some("connect_timeout") => (StatusCode::GATEWAY_TIMEOUT, "connect_timeout"),
            _ => (StatusCode::GATEWAY_TIMEOUT, "attempt_timeout"),
        },
        Class::TooLarge => (StatusCode::BAD_GATEWAY, "response_too_large"),
        Class::Malformed => (StatusCode::BAD_GATEWAY, "upstream_malformed"),
        Class::Rejected => (StatusCode::SERVICE_UNAVAILABLE, "overloaded"),
        Class::Cancelled => (StatusCode::SERVICE_UNAVAILABLE, "cancelled"),
        _ => (StatusCode::BAD_GATEWAY, "upstream_unreachable"),
    }
}
