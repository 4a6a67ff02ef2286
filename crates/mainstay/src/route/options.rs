//! How a route chooses among its targets, and what it does when they fail.

use http::HeaderName;
use std::{sync::Arc, time::Duration};

/// In which order the targets of a route are asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// As they are listed.
    #[default]
    Order,
    /// By chance: each comes first in proportion to its weight, the rest follow likewise. The weights are those of the
    /// targets, in their order; one that is missing is 1, and 0 comes last.
    Weighted(Arc<[u32]>),
    /// Of two that are drawn by chance, the one that promises the first content sooner, by what it took lately and how
    /// many calls it has; the rest follow as they are listed.
    Latency,
}

/// What keeps a caller's calls at one target, where the strategy has a choice. The target is found by rendezvous hashing:
/// when one is added or gone, only those callers move whom that concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sticky {
    /// The value of this header.
    Header(HeaderName),
    /// The field `user` of the request, or in Messages `metadata.user_id`.
    User,
}

/// When the next target is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Failover {
    /// When the tries at this one are used up.
    #[default]
    AfterRetries,
    /// At the first failure, without a wait. The last target that is left keeps its retries.
    AtOnce,
}

/// What happens to a call while every target is passed by: open or cooling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenExhausted {
    /// It fails at once, with the time after which the first one can be asked again.
    #[default]
    Fail,
    /// It waits for that one, at most this long in all, and never past its deadline.
    Wait(Duration),
}

/// A second target is started while the first one has given no content. The first content wins and the other call is
/// dropped; an error never wins while another target may still answer. Each one is paid for from the budget of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hedge {
    /// After which time another one is started.
    pub after: HedgeAfter,
    /// How many more than one may run for a call.
    pub max: usize,
}

/// When a hedge is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HedgeAfter {
    /// After this time.
    Time(Duration),
    /// After the time within which 95 % of the first target's answers came of late; not before it is known.
    P95,
}

impl Hedge {
    /// One more target after this time.
    pub const fn new(after: HedgeAfter) -> Self {
        Self { after, max: 1 }
    }

    /// How many more than one may run for a call. Default 1.
    #[must_use]
    pub const fn with_max(mut self, max: usize) -> Self {
        self.max = max;
        self
    }
}
