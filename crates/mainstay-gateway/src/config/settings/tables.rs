//! The four tables of a provider, which `[defaults]` and a target may have too.

use std::time::Duration;

use super::MIB;

/// The four tables together: what a provider starts from, and what a target makes of its provider's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Tries.
    pub retry: Retry,
    /// Clocks.
    pub timeout: Timeout,
    /// The circuit.
    pub breaker: Breaker,
    /// Bounds.
    pub limits: Limits,
}

/// `[providers.NAME.retry]`
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// All tries, the first included. Default 3.
    pub attempts: u32,
    /// Wait before the second try; doubles from there. Default 1 s.
    pub base_delay: Duration,
    /// Longest wait of our own choice. Default 30 s.
    pub max_delay: Duration,
    /// How waits are spread. Default [`Jitter::Full`].
    pub jitter: Jitter,
    /// Longest wait that a server may ask for; a longer one ends the tries. Default 60 s.
    pub max_wait: Duration,
    /// Over all tries and waits. Default 5 min.
    pub within: Option<Duration>,
    /// What may be tried again at all. Default [`Safety::Always`].
    pub safety: Safety,
    /// What retries may be drawn from.
    pub budget: Budget,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 3,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(30),
            jitter: Jitter::Full,
            max_wait: Duration::from_secs(60),
            within: Some(Duration::from_secs(300)),
            safety: Safety::Always,
            budget: Budget::default(),
        }
    }
}

/// `[providers.NAME.retry.budget]`
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Retries per call. Default 0.2.
    pub ratio: f64,
    /// Retries per second that are always there. Default 10 (`"10/s"`).
    pub floor: f64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { ratio: 0.2, floor: 10.0 }
    }
}

/// How a wait is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// Anything from nothing to the whole wait.
    Full,
    /// From half to the whole wait.
    Equal,
    /// Exactly the wait.
    None,
}

/// Which failures another try may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safety {
    /// All that a try may mend.
    Always,
    /// Only those in which the provider cannot have begun to answer.
    UnsentOnly,
}

/// `[providers.NAME.timeout]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// For DNS, TCP, proxy and TLS together. Default 5 s.
    pub connect: Duration,
    /// From the request sent to the last byte of a reply that is no stream. Default 2 min.
    pub attempt: Option<Duration>,
    /// Longest silence of a stream, the wait for its head included. Default 30 s.
    pub idle: Option<Duration>,
    /// Until a stream has content; keep-alives do not count. Default off.
    pub first_event: Option<Duration>,
    /// After the first content, the longest time without more. Default off.
    pub progress: Option<Duration>,
    /// For the body of an error reply; then its status stands alone. Default 5 s.
    pub error_body: Duration,
}

impl Default for Timeout {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            attempt: Some(Duration::from_secs(120)),
            idle: Some(Duration::from_secs(30)),
            first_event: None,
            progress: None,
            error_body: Duration::from_secs(5),
        }
    }
}

/// `[providers.NAME.breaker]`
#[derive(Clone, Debug, PartialEq)]
pub struct Breaker {
    /// Whether there is a circuit at all. Default true.
    pub enabled: bool,
    /// Failures in a row that open it. Default 5.
    pub failures: u32,
    /// How long it stays open. Default 30 s.
    pub open_for: Duration,
    /// Calls that may pass while half-open. Default 5.
    pub probes: u32,
    /// After which time a probe that has neither ended nor been dropped makes room for another. Default 60 s.
    pub probe_deadline: Duration,
    /// Factor on `open_for` for each relapse. Default 1: it does not grow.
    pub growth: f64,
    /// Where growing ends. Default 5 min. Not less than `open_for` where `growth` is more than 1.
    pub max_open_for: Duration,
    /// Random extra of up to this share of the time for which it opens, from 0 to 1. Default 0.
    pub jitter: f64,
    /// Share of failures over `window` that opens it, more than 0 and at most 1. Default off.
    pub failure_rate: Option<f64>,
    /// Share of slow calls over `window` that opens it, more than 0 and at most 1. Default off.
    pub slow_rate: Option<f64>,
    /// Until the first content; what takes longer is slow. Default 30 s.
    pub slow_after: Duration,
    /// What the rates look back on. Default 60 s.
    pub window: Duration,
    /// Calls in `window` below which the rates say nothing. Default 10.
    pub min_calls: u32,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            enabled: true,
            failures: 5,
            open_for: Duration::from_secs(30),
            probes: 5,
            probe_deadline: Duration::from_secs(60),
            growth: 1.0,
            max_open_for: Duration::from_secs(300),
            jitter: 0.0,
            failure_rate: None,
            slow_rate: None,
            slow_after: Duration::from_secs(30),
            window: Duration::from_secs(60),
            min_calls: 10,
        }
    }
}

/// `[providers.NAME.limits]`
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Largest reply that is no stream, in bytes after decompression. Default 16 MiB.
    pub response_body: u64,
    /// Largest event of a stream, in bytes. Default 8 MiB.
    pub sse_event: u64,
    /// Largest whole stream, in bytes. Default off.
    pub stream: Option<u64>,
    /// Calls in flight until their bodies end. Default off. Of an adaptive limit: where it starts.
    pub concurrency: Option<usize>,
    /// Bytes of all requests in flight together. Default off.
    pub bytes_in_flight: Option<u32>,
    /// Wait for a place; then 503 `overloaded`. Default 1 s; zero refuses at once.
    pub queue_wait: Duration,
    /// Calls that may wait for a place at one time; more are refused at once. Default 1024.
    pub max_waiting: usize,
    /// A limit on calls that finds its own height. Default off.
    pub adaptive: Adaptive,
}

impl Limits {
    /// How many calls may be in flight at first, if they are limited at all.
    #[must_use]
    pub fn places(&self) -> Option<usize> {
        match self.adaptive.ceiling {
            Some(ceiling) => Some(self.concurrency.unwrap_or(ceiling)),
            None => self.concurrency,
        }
    }

    /// Whether a target with these has a limit on calls or bytes of its own, within that of its provider.
    #[must_use]
    pub fn within(&self, provider: &Self) -> bool {
        let bounded = self.places().is_some() || self.bytes_in_flight.is_some();
        let of = |limits: &Self| (limits.places(), limits.bytes_in_flight, limits.adaptive.clone());
        bounded && of(self) != of(provider)
    }
}

/// `[providers.NAME.limits]`, `adaptive`: additive increase, multiplicative decrease.
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptive {
    /// Where cuts end. Default 1.
    pub floor: usize,
    /// Where growth ends. Default `None`: the limit does not adapt itself.
    pub ceiling: Option<usize>,
    /// A first content that is later than this counts as a sign of crowding, as a rate limit does. Default off.
    pub slow_after: Option<Duration>,
    /// The factor of a cut. Default 0.7.
    pub decrease: f64,
}

impl Default for Adaptive {
    fn default() -> Self {
        Self { floor: 1, ceiling: None, slow_after: None, decrease: 0.7 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            response_body: 16 * MIB,
            sse_event: 8 * MIB,
            stream: None,
            concurrency: None,
            bytes_in_flight: None,
            queue_wait: Duration::from_secs(1),
            max_waiting: 1024,
            adaptive: Adaptive::default(),
        }
    }
}
