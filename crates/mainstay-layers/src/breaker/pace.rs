//! How long a call took to give its first content.

use super::CircuitBreaker;
use http::Extensions;
use std::time::Duration;

/// The time from a call to its first content, left in a reply's extensions by a layer below that can tell content from
/// role chunks and pings. Overrides what the breaker measures by itself, the time to the body's first frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstContent(pub Duration);

/// Measures one call, in nanoseconds of its breaker's time. Reads no clock where slow calls are not counted.
///
/// Two words, since it goes from the future to the body by copying: what counts as slow is the breaker's to know.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    Off,
    /// Waiting since then; earlier waits are added, as if this one had begun so much before.
    Waiting {
        since: u64,
    },
    /// The head is there; nobody has waited for the body yet. So much was spent on waiting before.
    Idle {
        spent: u64,
    },
    Known {
        slow: bool,
    },
}

impl Pace {
    #[inline]
    pub(super) fn start(breaker: &CircuitBreaker) -> Self {
        match breaker.slow_after() {
            Some(_) => Pace::Waiting { since: breaker.nanos() },
            None => Pace::Off,
        }
    }

    /// The head has come.
    #[inline]
    pub(super) fn head(&mut self, breaker: &CircuitBreaker, extensions: &Extensions) {
        if let Pace::Waiting { since } = *self {
            *self = match extensions.get::<FirstContent>() {
                Some(&FirstContent(after)) => Pace::Known { slow: is_slow(breaker, after) },
                None => Pace::Idle { spent: breaker.nanos().saturating_sub(since) },
            };
        }
    }

    /// Somebody waits for the body. What passed since the head was the consumer's own time.
    #[inline]
    pub(super) fn pending(&mut self, breaker: &CircuitBreaker) {
        if let Pace::Idle { spent } = *self {
            *self = Pace::Waiting { since: breaker.nanos().saturating_sub(spent) };
        }
    }

    /// The first content, or the end, has come. Whether that was slow.
    #[inline]
    pub(super) fn content(&mut self, breaker: &CircuitBreaker) -> bool {
        let spent = match *self {
            Pace::Off => return false,
            Pace::Known { slow } => return slow,
            Pace::Waiting { since } => breaker.nanos().saturating_sub(since),
            Pace::Idle { spent } => spent,
        };
        let slow = is_slow(breaker, Duration::from_nanos(spent));
        *self = Pace::Known { slow };
        slow
    }
}

fn is_slow(breaker: &CircuitBreaker, took: Duration) -> bool {
    breaker.slow_after().is_some_and(|limit| took > limit)
}
