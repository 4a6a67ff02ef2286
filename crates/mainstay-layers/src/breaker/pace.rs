//! How long a call took to give its first content.

use http::Extensions;
use std::time::Duration;
use tokio::time::Instant;

/// The time from a call to its first content, left in a reply's extensions by a layer below that can tell content from
/// role chunks and pings. Overrides what the breaker measures by itself, the time to the body's first frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstContent(pub Duration);

/// Measures one call. Reads no clock where slow calls are not counted. Small, since each reply is moved with it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    Off,
    /// Waiting since `since`; not slow if it takes no longer than `left`.
    Waiting {
        left: Duration,
        since: Instant,
    },
    /// The head is there; nobody has waited for the body yet.
    Idle {
        left: Duration,
    },
    Known {
        slow: bool,
    },
}

impl Pace {
    #[inline]
    pub(super) fn start(limit: Option<Duration>) -> Self {
        match limit {
            Some(limit) => Pace::Waiting { left: limit, since: Instant::now() },
            None => Pace::Off,
        }
    }

    /// The head has come.
    #[inline]
    pub(super) fn head(&mut self, extensions: &Extensions) {
        if let Pace::Waiting { left, since } = *self {
            *self = match extensions.get::<FirstContent>() {
                Some(&FirstContent(after)) => Pace::Known { slow: after > left },
                None => match left.checked_sub(since.elapsed()) {
                    Some(left) => Pace::Idle { left },
                    None => Pace::Known { slow: true },
                },
            };
        }
    }

    /// Somebody waits for the body. What passed since the head was the consumer's own time.
    #[inline]
    pub(super) fn pending(&mut self) {
        if let Pace::Idle { left } = *self {
            *self = Pace::Waiting { left, since: Instant::now() };
        }
    }

    /// The first content, or the end, has come. Whether that was slow.
    #[inline]
    pub(super) fn content(&mut self) -> bool {
        let slow = match *self {
            Pace::Off => return false,
            Pace::Waiting { left, since } => since.elapsed() > left,
            Pace::Idle { .. } => false,
            Pace::Known { slow } => slow,
        };
        *self = Pace::Known { slow };
        slow
    }
}
