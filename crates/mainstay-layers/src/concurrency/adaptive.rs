//! A limit that finds its own height: additive increase, multiplicative decrease.

use std::time::Duration;
use tokio::time::Instant;

/// How a limit adapts itself (AIMD, as TCP's congestion window, RFC 5681).
///
/// It grows by one after as many good calls as it allows at once, if at least half of it was in use. It is multiplied
/// by `decrease` when the service asked to slow down ([`RateLimited`](crate::classify::Class::RateLimited)) or gave its
/// first content later than `slow_after`. Calls that began before the last cut cut no further: one crowd, one cut.
#[derive(Clone, Debug)]
pub struct Adaptive {
    floor: usize,
    ceiling: usize,
    slow_after: Option<Duration>,
    decrease: f64,
}

impl Adaptive {
    /// Between `floor` (at least 1) and `ceiling` (at least `floor`), on rate limits only, with a decrease of 0.7.
    pub fn new(floor: usize, ceiling: usize) -> Self {
        let floor = floor.max(1);
        Self { floor, ceiling: ceiling.max(floor), slow_after: None, decrease: 0.7 }
    }

    /// Takes a first content that is later than this for a sign of crowding too. Off by default.
    #[must_use]
    pub fn with_slow_after(mut self, slow_after: Duration) -> Self {
        self.slow_after = Some(slow_after);
        self
    }

    /// The factor of a cut, kept within 0.1 and 0.99. Default 0.7.
    #[must_use]
    pub fn with_decrease(mut self, factor: f64) -> Self {
        self.decrease = if factor.is_finite() { factor.clamp(0.1, 0.99) } else { 0.7 };
        self
    }

    /// The least that it is cut to.
    pub fn floor(&self) -> usize {
        self.floor
    }

    /// The most that it grows to.
    pub fn ceiling(&self) -> usize {
        self.ceiling
    }

    pub(super) fn clamp(&self, limit: usize) -> usize {
        limit.clamp(self.floor, self.ceiling)
    }

    pub(super) fn is_slow(&self, took: Duration) -> bool {
        self.slow_after.is_some_and(|limit| took > limit)
    }
}

/// Where the adaptation stands.
#[derive(Debug, Default)]
pub(super) struct Progress {
    good: usize,
    last_cut: Option<Instant>,
}

impl Progress {
    /// A good call, with so many in flight, itself included. The new limit, if it changes.
    pub(super) fn good(&mut self, rules: &Adaptive, limit: usize, in_flight: usize) -> Option<usize> {
        if in_flight.saturating_mul(2) < limit {
            return None;
        }
        self.good += 1;
        if self.good < limit {
            return None;
        }
        self.good = 0;
        let grown = rules.clamp(limit + 1);
        (grown != limit).then_some(grown)
    }

    /// A sign of crowding on a call that began at `began`. The new limit, if it changes.
    pub(super) fn crowded(&mut self, rules: &Adaptive, limit: usize, began: Instant) -> Option<usize> {
        if self.last_cut.is_some_and(|cut| began <= cut) {
            return None;
        }
        self.last_cut = Some(Instant::now());
        self.good = 0;
        let cut = rules.clamp((limit as f64 * rules.decrease) as usize);
        (cut != limit).then_some(cut)
    }
}
