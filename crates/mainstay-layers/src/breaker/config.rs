//! How a circuit breaker is set up.

use super::{CircuitBreaker, handle::Observer, observe::Transition};
use crate::classify::hint;
use std::{fmt, sync::Arc, time::Duration};

/// How a [`CircuitBreaker`] is set up. A value to keep, to clone and to make breakers of.
///
/// ```
/// use mainstay_layers::breaker::Config;
/// use std::time::Duration;
///
/// let breaker = Config::new().with_failures(3).with_open_for(Duration::from_secs(10)).build("search")?;
/// assert_eq!(breaker.name(), "search");
/// # Ok::<(), mainstay_layers::breaker::ConfigError>(())
/// ```
#[derive(Clone, Default)]
pub struct Config {
    pub(super) rules: Rules,
    pub(super) slow_after: Option<Duration>,
    pub(super) observers: Vec<Observer>,
}

/// What the state machine goes by.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) failures: u32,
    pub(super) failure_rate: Option<f64>,
    pub(super) slow_rate: Option<f64>,
    pub(super) window: Duration,
    pub(super) min_calls: u32,
    pub(super) open_for: Duration,
    pub(super) growth: f64,
    pub(super) max_open_for: Duration,
    pub(super) jitter: f64,
    pub(super) probes: u32,
    pub(super) probe_deadline: Duration,
    pub(super) max_wait: Duration,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            failures: 5,
            failure_rate: None,
            slow_rate: None,
            window: Duration::from_secs(60),
            min_calls: 10,
            open_for: Duration::from_secs(30),
            growth: 1.0,
            max_open_for: Duration::MAX,
            jitter: 0.0,
            probes: 5,
            probe_deadline: Duration::from_secs(60),
            max_wait: hint::MAX_WAIT,
        }
    }
}

impl Config {
    /// The defaults: 5 failures in a row, 30 s open, 5 probes of at most 60 s; no rates, no growth, no jitter.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens after so many failures in a row. Default 5; 0 switches this trigger off.
    #[must_use]
    pub fn with_failures(mut self, failures: u32) -> Self {
        self.rules.failures = failures;
        self
    }

    /// Opens when at least this share of the window's calls failed, in (0, 1]. Off by default.
    #[must_use]
    pub fn with_failure_rate(mut self, rate: f64) -> Self {
        self.rules.failure_rate = Some(rate);
        self
    }

    /// Opens when at least this share of the window's calls, in (0, 1], was slow: gave their first content later than
    /// `slow_after`. Off by default.
    ///
    /// The time is that from the call to the first frame of the body, or to the head where the body is empty; what the
    /// consumer leaves unread meanwhile does not count. A [`FirstContent`](super::FirstContent) in the reply's
    /// extensions overrides it.
    #[must_use]
    pub fn with_slow_rate(mut self, rate: f64, slow_after: Duration) -> Self {
        self.rules.slow_rate = Some(rate);
        self.slow_after = Some(slow_after);
        self
    }

    /// Over which time the rates are taken: default 60 s, and no rate trips before the window holds `min_calls` votes,
    /// default 10. It is kept in ten exact buckets.
    #[must_use]
    pub fn with_window(mut self, window: Duration, min_calls: u32) -> Self {
        self.rules.window = window;
        self.rules.min_calls = min_calls;
        self
    }

    /// How long the circuit stays open before probes pass. Default 30 s. A wait that the server asked for with one of
    /// the failures that opened it is a floor under this.
    #[must_use]
    pub fn with_open_for(mut self, open_for: Duration) -> Self {
        self.rules.open_for = open_for;
        self
    }

    /// Lets `open_for` grow by `factor` (at least 1) with each relapse, that is each time a probe fails, up to `max`.
    /// Starts anew once the circuit has closed. Off by default.
    #[must_use]
    pub fn with_growth(mut self, factor: f64, max: Duration) -> Self {
        self.rules.growth = factor;
        self.rules.max_open_for = max;
        self
    }

    /// Adds a random extra of up to this share, in [0, 1], of the time for which the circuit opens, so that many
    /// processes do not probe at once. Off by default.
    #[must_use]
    pub fn with_jitter(mut self, share: f64) -> Self {
        self.rules.jitter = share;
        self
    }

    /// How many calls may pass at once while half-open. Default 5.
    #[must_use]
    pub fn with_probes(mut self, probes: u32) -> Self {
        self.rules.probes = probes;
        self
    }

    /// After which time the slot of a probe that neither ended nor was dropped is given to another. Its vote still
    /// counts if the circuit is still half-open when it comes. Default 60 s.
    #[must_use]
    pub fn with_probe_deadline(mut self, deadline: Duration) -> Self {
        self.rules.probe_deadline = deadline;
        self
    }

    /// The longest wait of a server that is heeded as a floor under `open_for`. Default a day; zero heeds none.
    #[must_use]
    pub fn with_max_wait(mut self, wait: Duration) -> Self {
        self.rules.max_wait = wait;
        self
    }

    /// Calls `observer` on every transition, on the thread that caused it and with no lock held. It must not block.
    /// Transitions of different threads may reach it out of order: their
    /// [`serial`](Transition::serial) tells.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn Fn(&Transition) + Send + Sync>) -> Self {
        self.observers.push(observer);
        self
    }

    /// A breaker of this configuration. Its name is in its errors, events and transitions.
    ///
    /// # Errors
    /// A value is out of its range; the error says which and what it may be.
    pub fn build(&self, name: impl Into<Arc<str>>) -> Result<CircuitBreaker, ConfigError> {
        self.check()?;
        Ok(CircuitBreaker::of(name.into(), self.clone()))
    }

    /// Whether [`build`](Self::build) would succeed.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn check(&self) -> Result<(), ConfigError> {
        let rules = &self.rules;
        let rate = |rate: Option<f64>| rate.is_none_or(|rate| rate > 0.0 && rate <= 1.0);
        let checks = [
            (rate(rules.failure_rate), "failure_rate", "more than 0 and at most 1"),
            (rate(rules.slow_rate), "slow_rate", "more than 0 and at most 1"),
            (!rules.window.is_zero(), "window", "more than zero"),
            (rules.min_calls > 0, "min_calls", "at least 1"),
            (!rules.open_for.is_zero(), "open_for", "more than zero"),
            (rules.growth.is_finite() && rules.growth >= 1.0, "growth", "at least 1"),
            (rules.max_open_for >= rules.open_for, "growth", "capped at no less than open_for"),
            ((0.0..=1.0).contains(&rules.jitter), "jitter", "between 0 and 1"),
            (rules.probes > 0, "probes", "at least 1"),
            (!rules.probe_deadline.is_zero(), "probe_deadline", "more than zero"),
        ];
        match checks.into_iter().find(|(ok, ..)| !ok) {
            Some((_, key, expected)) => Err(ConfigError { key, expected }),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("rules", &self.rules)
            .field("slow_after", &self.slow_after)
            .field("observers", &self.observers.len())
            .finish()
    }
}

/// A value of a [`Config`] is out of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigError {
    /// Which setting, such as `probes`.
    pub key: &'static str,
    /// What it must be, such as `at least 1`.
    pub expected: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "circuit breaker: {} must be {}", self.key, self.expected)
    }
}

impl std::error::Error for ConfigError {}
