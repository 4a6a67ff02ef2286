//! The classifier for plain HTTP: status and headers.

use super::{Class, Classify, Failed, Head, Sent, Verdict, Vote, hint};
use crate::error::find_cause;
use http::StatusCode;
use std::{error::Error, io, time::Duration};

/// Judges HTTP replies by status and headers, and errors by their chain. The default of every layer here.
///
/// A [`Verdict`] in the reply's extensions, or a [`Failed`] in the error's chain, was left by a judge that saw more
/// and is taken as it is.
///
/// | reply | class |
/// | --- | --- |
/// | 1xx, 2xx | `Success` |
/// | 3xx | `Malformed`: an API does not redirect |
/// | 401, 403, 407 | `Auth` |
/// | 402 | `QuotaExhausted` |
/// | 404, 405, 410 | `NotFound` |
/// | 408 | `Timeout` |
/// | 413 | `TooLarge` |
/// | 409, 421, 425 | `RateLimited`: safe to send again after a moment |
/// | 429 | `RateLimited` |
/// | 499 | `Cancelled` |
/// | other 4xx | `InvalidRequest` |
/// | 504, 524 | `Timeout` |
/// | 501 | `NotFound`: the server will not learn it by waiting |
/// | 503, 529 | `Overloaded` |
/// | other 5xx and above | `ServerError` |
///
/// `x-should-retry: true | false` overrides whether the same target is asked again (the OpenAI and Anthropic SDKs
/// read it so). The wait comes from `retry-after-ms`, `Retry-After` (RFC 9110 §10.2.3) and, on a 429, the windows of
/// a rate limit, see [`hint::from_reply`].
#[derive(Clone, Copy, Debug, Default)]
pub struct HttpClassifier(());

impl HttpClassifier {
    /// The classifier. It has no options: wrap it to change a rule.
    pub const fn new() -> Self {
        Self(())
    }

    /// The class of a status alone.
    pub fn class_of_status(status: StatusCode) -> Class {
        match status.as_u16() {
            100..=299 => Class::Success,
            300..=399 => Class::Malformed,
            401 | 403 | 407 => Class::Auth,
            402 => Class::QuotaExhausted,
            404 | 405 | 410 => Class::NotFound,
            408 => Class::Timeout,
            409 | 421 | 425 | 429 => Class::RateLimited,
            413 => Class::TooLarge,
            499 => Class::Cancelled,
            400..=498 => Class::InvalidRequest,
            501 => Class::NotFound,
            503 | 529 => Class::Overloaded,
            504 | 524 => Class::Timeout,
            _ => Class::ServerError,
        }
    }
}

impl Classify for HttpClassifier {
    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        if let Some(verdict) = own_verdict(error) {
            return verdict;
        }
        // Refused: nothing can have been sent. Everything else that ends a call without a reply is the connection.
        let refused =
            find_cause::<io::Error>(error).is_some_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
        Verdict::new(Class::Transport).with_sent(if refused { Sent::No } else { Sent::Maybe })
    }

    fn head(&self, head: Head<'_>) -> Verdict {
        if let Some(verdict) = head.extensions.get::<Verdict>() {
            return verdict.clone();
        }
        let class = Self::class_of_status(head.status);
        if class == Class::Success {
            return Verdict::new(class);
        }
        Verdict::new(class)
            .with_wait(hint::from_reply(head.status, head.headers))
            .with_retry(hint::should_retry(head.headers))
    }

    /// Most calls end here: no verdict is made where there is nothing to say.
    #[inline]
    fn vote(&self, head: Head<'_>) -> (Vote, Option<Duration>) {
        match head.extensions.get::<Verdict>() {
            Some(verdict) => (verdict.vote(), verdict.wait),
            None if head.status.is_success() => (Vote::Success, None),
            None => {
                let verdict = self.head(head);
                (verdict.vote(), verdict.wait)
            }
        }
    }
}

/// The verdict that an error carries, or that an error of this crate's layers stands for.
pub(crate) fn own_verdict(error: &(dyn Error + 'static)) -> Option<Verdict> {
    if let Some(failed) = find_cause::<Failed>(error) {
        return Some(failed.verdict().clone());
    }
    #[cfg(feature = "timeout")]
    if let Some(timeout) = find_cause::<crate::timeout::TimeoutError>(error) {
        return Some(timeout.verdict());
    }
    #[cfg(feature = "deadline")]
    if let Some(exceeded) = find_cause::<crate::deadline::DeadlineExceeded>(error) {
        return Some(exceeded.verdict());
    }
    #[cfg(feature = "breaker")]
    if let Some(open) = find_cause::<crate::breaker::CircuitOpen>(error) {
        return Some(Verdict::new(Class::Rejected).with_wait(Some(open.retry_in())).with_sent(Sent::No));
    }
    #[cfg(feature = "concurrency")]
    if find_cause::<crate::concurrency::Overloaded>(error).is_some() {
        return Some(Verdict::new(Class::Rejected).with_sent(Sent::No));
    }
    #[cfg(feature = "limit")]
    if let Some(too_large) = find_cause::<crate::limit::BodyTooLarge>(error) {
        return Some(too_large.verdict());
    }
    let _ = error;
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Response;

    #[test]
    fn the_vote_is_that_of_the_head() {
        for status in 100..600 {
            let mut reply = Response::builder().status(status).header("retry-after", "7").body(()).unwrap();
            let classifier = HttpClassifier::new();
            let same = |reply: &Response<()>| {
                let verdict = classifier.head(Head::of(reply));
                assert_eq!(classifier.vote(Head::of(reply)), (verdict.vote(), verdict.wait), "{status}");
                assert_eq!((&&classifier).vote(Head::of(reply)), (verdict.vote(), verdict.wait));
            };
            same(&reply);
            reply.extensions_mut().insert(Verdict::new(Class::ServerError).with_vote(Some(Vote::Neutral)));
            same(&reply);
        }
    }

    fn head(status: u16, headers: &[(&str, &str)]) -> Verdict {
        let mut reply = Response::builder().status(status);
        for (name, value) in headers {
            reply = reply.header(*name, *value);
        }
        HttpClassifier::new().head(Head::of(&reply.body(()).unwrap()))
    }

    #[test]
    fn a_verdict_left_by_a_judge_below_wins() {
        let mut reply = Response::new(());
        reply.extensions_mut().insert(Verdict::new(Class::Overloaded));
        assert_eq!(HttpClassifier::new().head(Head::of(&reply)).class, Class::Overloaded);
    }

    #[test]
    fn should_retry_overrides_the_status() {
        assert!(!head(500, &[("x-should-retry", "false")]).is_retryable());
        assert!(head(400, &[("x-should-retry", "true")]).is_retryable());
        assert!(!head(400, &[("x-should-retry", "yes")]).is_retryable());
    }

    #[test]
    fn a_refused_connection_sent_nothing() {
        let error: crate::BoxError = io::Error::from(io::ErrorKind::ConnectionRefused).into();
        let verdict = HttpClassifier::new().error(&*error);
        assert_eq!((verdict.class, verdict.sent), (Class::Transport, Sent::No));
    }

    #[test]
    fn a_failed_anywhere_in_the_chain_is_found() {
        let inner = Failed::new(Verdict::new(Class::Malformed), "cut");
        let outer = io::Error::other(inner);
        assert_eq!(HttpClassifier::new().error(&outer).class, Class::Malformed);
    }
}
