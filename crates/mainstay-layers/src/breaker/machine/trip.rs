//! When a closed circuit opens, and for how long.

use super::{
    super::{observe::Cause, sync::Ordering, window::Counts},
    Ballot, Change, Inner, Machine, nanos,
    word::Mode,
};
use std::time::Duration;

impl Machine {
    /// Counts a vote on a closed circuit.
    pub(super) fn count(&self, inner: &mut Inner, failed: bool, ballot: Ballot, now: u64) -> Option<Change> {
        let streak = if failed { self.streak.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
        self.streak.store(streak, Ordering::Relaxed);
        if failed {
            self.raise_floor(inner, ballot, now);
        } else {
            inner.floor = 0;
        }
        let counts = match &mut inner.window {
            Some(window) => window.record(now, failed, ballot.slow),
            None => Counts::default(),
        };
        let enough = counts.calls >= self.rules.min_calls;
        let over = |part: u32, rate: Option<f64>| {
            enough && rate.is_some_and(|rate| f64::from(part) >= rate * f64::from(counts.calls))
        };
        let cause = if failed && self.rules.failures > 0 && streak >= self.rules.failures {
            Cause::Failures
        } else if over(counts.failures, self.rules.failure_rate) {
            Cause::FailureRate
        } else if over(counts.slow, self.rules.slow_rate) {
            Cause::SlowRate
        } else {
            return None;
        };
        Some(self.trip(inner, now, cause))
    }

    /// Notes the wait that a server asked for with its failure.
    pub(super) fn raise_floor(&self, inner: &mut Inner, ballot: Ballot, now: u64) {
        if let Some(wait) = ballot.wait {
            inner.floor = inner.floor.max(now.saturating_add(nanos(wait.min(self.rules.max_wait))));
        }
    }

    pub(super) fn trip(&self, inner: &mut Inner, now: u64, cause: Cause) -> Change {
        let grown = self.rules.open_for.as_secs_f64() * self.rules.growth.powi(inner.relapses);
        let mut open_for = match Duration::try_from_secs_f64(grown) {
            // Exactly as it was set where nothing grows: no rounding on the way through floats.
            _ if self.rules.growth == 1.0 => self.rules.open_for,
            Ok(grown) => grown.min(self.rules.max_open_for),
            Err(_) => self.rules.max_open_for,
        };
        if self.rules.jitter > 0.0 {
            open_for = open_for.saturating_add(
                Duration::try_from_secs_f64(open_for.as_secs_f64() * self.rules.jitter * fastrand::f64())
                    .unwrap_or_default(),
            );
        }
        let until = now.saturating_add(nanos(open_for)).max(inner.floor);
        inner.opened += 1;
        self.change(inner, Mode::Open, now, until, cause)
    }
}
