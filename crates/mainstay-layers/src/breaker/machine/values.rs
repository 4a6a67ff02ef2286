//! What goes into the state machine and comes out of it.

use super::super::observe::{Cause, State};
use crate::classify::Vote;
use std::time::Duration;

/// What an admitted call carries until it votes or leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Ticket {
    pub(super) epoch: u64,
    /// The number of the probe; 0: no probe.
    pub(super) probe: u64,
}

impl Ticket {
    pub(in super::super) fn is_probe(self) -> bool {
        self.probe != 0
    }

    /// What it was; what is left of it holds no probe slot.
    #[inline]
    pub(in super::super) fn spend(&mut self) -> Self {
        let spent = *self;
        self.probe = 0;
        spent
    }
}

/// What a call has to say at its end.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Ballot {
    pub(in super::super) vote: Vote,
    pub(in super::super) slow: bool,
    pub(in super::super) wait: Option<Duration>,
}

/// A transition that has just taken place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Change {
    pub(in super::super) from: State,
    pub(in super::super) to: State,
    pub(in super::super) cause: Cause,
    pub(in super::super) epoch: u64,
}

/// Counters at one moment; times since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Snapshot {
    pub(in super::super) state: State,
    pub(in super::super) streak: u32,
    pub(in super::super) opened: u64,
    pub(in super::super) rejected: u64,
    pub(in super::super) since: Duration,
    pub(in super::super) retry_in: Option<Duration>,
    pub(in super::super) probes: u32,
    pub(in super::super) forced: bool,
}
