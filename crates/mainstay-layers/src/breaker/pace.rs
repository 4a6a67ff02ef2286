//! How long a call took to give its first content.

use http::Extensions;
use std::time::Duration;
use tokio::time::Instant;

/// The time from a call to its first content, left in a reply's extensions by a layer below that can tell content from
/// role chunks and pings. Overrides what the breaker measures by itself, the time to the body's first frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstContent(pub Duration);

/// Measures one call. Reads no clock where slow calls are not counted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    Off,
    /// Waiting since `since`, after `spent` on earlier waits.
    Waiting {
        limit: Duration,
        spent: Duration,
        since: Instant,
    },
    /// The head is there; nobody has waited for the body yet.
    Idle {
        limit: Duration,
        spent: Duration,
    },
    Known {
        slow: bool,
    },
}

impl Pace {
    #[inline]
    pub(super) fn start(limit: Option<Duration>) -> Self {
        match limit {
            Some(limit) => Pace::Waiting { limit, spent: Duration::ZERO, since: Instant::now() },
            None => Pace::Off,
        }
    }

    /// The head has come.
    #[inline]
    pub(super) fn head(&mut self, extensions: &Extensions) {
        if let Pace::Waiting { limit, spent, since } = *self {
            *self = match extensions.get::<FirstContent>() {
                Some(&FirstContent(after)) => Pace::Known { slow: after > limit },
                None => Pace::Idle { limit, spent: spent + since.elapsed() },
            };
        }
    }

    /// Somebody waits for the body. What passed since the head was the consumer's own time.
    #[inline]
    pub(super) fn pending(&mut self) {
        if let Pace::Idle { limit, spent } = *self {
            *self = Pace::Waiting { limit, spent, since: Instant::now() };
        }
    }

    /// The first content, or the end, has come. Whether that was slow.
    #[inline]
    pub(super) fn content(&mut self) -> bool {
        let slow = match *self {
            Pace::Off => return false,
            Pace::Waiting { limit, spent, since } => spent + since.elapsed() > limit,
            Pace::Idle { limit, spent } => spent > limit,
            Pace::Known { slow } => slow,
        };
        *self = Pace::Known { slow };
        slow
    }
}
