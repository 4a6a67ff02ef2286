//! What can be seen of a breaker from outside.

use std::{fmt, sync::Arc, time::Duration};
use tokio::time::Instant;

/// In which state a circuit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Calls pass, their outcomes are counted.
    Closed,
    /// A few probes pass; the first vote among them decides. An open circuit whose time is up reads so too: its next
    /// call is a probe.
    HalfOpen,
    /// Calls are rejected at once.
    Open,
}

impl State {
    /// The state in snake_case, as logs show it.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Closed => "closed",
            State::HalfOpen => "half_open",
            State::Open => "open",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a circuit went from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// It was just made.
    Start,
    /// Too many failures in a row.
    Failures,
    /// Too large a share of failures.
    FailureRate,
    /// Too large a share of slow calls.
    SlowRate,
    /// The time for which it was open is over, and a call came.
    Elapsed,
    /// A probe succeeded.
    ProbeSucceeded,
    /// A probe failed.
    ProbeFailed,
    /// [`force_open`](super::CircuitBreaker::force_open) or [`force_close`](super::CircuitBreaker::force_close).
    Forced,
    /// [`automatic`](super::CircuitBreaker::automatic).
    Automatic,
}

impl Cause {
    /// The cause in snake_case, as logs show it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Cause::Start => "start",
            Cause::Failures => "failures",
            Cause::FailureRate => "failure_rate",
            Cause::SlowRate => "slow_rate",
            Cause::Elapsed => "elapsed",
            Cause::ProbeSucceeded => "probe_succeeded",
            Cause::ProbeFailed => "probe_failed",
            Cause::Forced => "forced",
            Cause::Automatic => "automatic",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A circuit went from one state to another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transition {
    /// The breaker's name.
    pub name: Arc<str>,
    /// The state it left.
    pub from: State,
    /// The state it is in now.
    pub to: State,
    /// Why.
    pub cause: Cause,
    /// Counts the transitions of this breaker from 1 without gaps.
    pub serial: u64,
}

/// A breaker's counters at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// The state, as [`CircuitBreaker::state`](super::CircuitBreaker::state) gives it.
    pub state: State,
    /// Failures since the last success, while closed.
    pub failures_in_a_row: u32,
    /// How often it opened.
    pub opened_total: u64,
    /// How many calls it rejected.
    pub rejected_total: u64,
    /// When it came into the state that it last changed to.
    pub since: Instant,
    /// How long it will reject calls yet; `None` while calls pass.
    pub retry_in: Option<Duration>,
    /// Probes that have neither ended nor been dropped nor lapsed.
    pub probes_in_flight: u32,
    /// It is held open or closed by hand.
    pub forced: bool,
}
