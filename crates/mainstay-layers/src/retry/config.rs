//! What may be set, for a layer or for one request.

use super::backoff::{Backoff, Jitter};
use crate::classify::{Class, Sent, Verdict};
use std::time::Duration;

/// What a failure must be like for another try to be safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RetrySafety {
    /// Whatever may be retried is. Right for calls that may run twice, as a chat completion may.
    #[default]
    Always,
    /// Only what the server cannot have acted on: nothing of the request was sent, or the reply refuses it (429, 503
    /// and their like).
    UnsentOnly,
    /// As `UnsentOnly`; and everything that may be retried if the request carries an idempotency key.
    Keyed,
}

impl RetrySafety {
    pub(super) fn allows(self, verdict: &Verdict, keyed: bool) -> bool {
        let not_acted_on =
            verdict.sent == Sent::No || matches!(verdict.class, Class::RateLimited | Class::Overloaded);
        match self {
            Self::Always => true,
            Self::UnsentOnly => not_acted_on,
            Self::Keyed => keyed || not_acted_on,
        }
    }
}

/// How often and after what delays a call is tried again.
///
/// Set on the layer by [`RetryLayer::with_config`](super::RetryLayer::with_config) and its finer setters. Put into a
/// request's extensions it replaces the layer's for that call.
///
/// ```
/// use mainstay_layers::retry::RetryConfig;
///
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(RetryConfig::off());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryConfig {
    /// All tries of a call, the first one counted. Default 3; 0 is 1.
    pub attempts: u32,
    /// The delay after the first try, before jitter. Default 1 s.
    pub base_delay: Duration,
    /// The longest delay of our own, before jitter. Default 30 s.
    pub max_delay: Duration,
    /// How delays are spread. Default [`Jitter::Full`].
    pub jitter: Jitter,
    /// The longest wait asked for by the server that is waited out. Default 60 s. A longer one ends the tries.
    pub max_wait: Duration,
    /// No try begins later than this after the call did. Default 5 min; `None`: off.
    pub within: Option<Duration>,
    /// What a failure must be like for another try to be safe. Default [`RetrySafety::Always`].
    pub safety: RetrySafety,
    /// Whether a call that met a kept connection which the server had closed is sent again, once, at no cost. Default
    /// `true`.
    pub replay_stale: bool,
}

impl RetryConfig {
    /// The defaults.
    pub const fn new() -> Self {
        Self {
            attempts: 3,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(30),
            jitter: Jitter::Full,
            max_wait: Duration::from_secs(60),
            within: Some(Duration::from_secs(300)),
            safety: RetrySafety::Always,
            replay_stale: true,
        }
    }

    /// One try, and no replay of any kind; the request body is not recorded.
    pub const fn off() -> Self {
        let mut config = Self::new();
        config.attempts = 1;
        config.replay_stale = false;
        config
    }

    pub(super) const fn is_off(&self) -> bool {
        self.attempts <= 1 && !self.replay_stale
    }

    pub(super) const fn backoff(&self) -> Backoff {
        Backoff::new(self.base_delay, self.max_delay, self.jitter)
    }
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self::new()
    }
}
