//! The layer and its options.

use super::{
    Retry,
    backoff::{Jitter, Random},
    budget::RetryBudget,
    config::{RetryConfig, RetrySafety},
    event::RetryEvent,
    policy::{Drain, Policy},
};
use crate::classify::{Classify, HttpClassifier};
use http::{HeaderName, request::Parts};
use http_body::SizeHint;
use std::{sync::Arc, time::Duration};
use tower_layer::Layer;

/// Tries failed calls again; see the [module](super).
///
/// Clones of a layer, and all services that it makes, share its budget.
#[derive(Clone, Debug)]
pub struct RetryLayer<C = HttpClassifier> {
    policy: Policy<C>,
}

impl RetryLayer {
    /// Three tries, judged by [`HttpClassifier`], without a budget; all defaults are in [`RetryConfig`].
    pub fn new() -> Self {
        Self {
            policy: Policy {
                config: RetryConfig::new(),
                classifier: HttpClassifier::new(),
                budget: None,
                cost: None,
                hook: None,
                random: Random::shared(),
                key_header: super::idempotency::HEADER,
                replay_cap: 32 * 1024 * 1024,
                drain: Drain { bytes: 64 * 1024, time: Duration::from_millis(100) },
            },
        }
    }
}

impl Default for RetryLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<C> RetryLayer<C> {
    /// All tries of a call, the first one counted. Default 3; 0 is 1.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.policy.config.attempts = attempts;
        self
    }

    /// The delay after the first try, before jitter; it doubles from try to try. Default 1 s.
    #[must_use]
    pub fn with_base_delay(mut self, delay: Duration) -> Self {
        self.policy.config.base_delay = delay;
        self
    }

    /// The longest delay of our own, before jitter. Default 30 s.
    #[must_use]
    pub fn with_max_delay(mut self, delay: Duration) -> Self {
        self.policy.config.max_delay = delay;
        self
    }

    /// How delays are spread. Default [`Jitter::Full`].
    #[must_use]
    pub fn with_jitter(mut self, jitter: Jitter) -> Self {
        self.policy.config.jitter = jitter;
        self
    }

    /// The longest wait asked for by the server that is waited out; a longer one ends the tries at once. Default 60 s.
    #[must_use]
    pub fn with_max_wait(mut self, wait: Duration) -> Self {
        self.policy.config.max_wait = wait;
        self
    }

    /// No try begins later than this after the call did. Default 5 min; `None`: off.
    #[must_use]
    pub fn with_within(mut self, within: impl Into<Option<Duration>>) -> Self {
        self.policy.config.within = within.into();
        self
    }

    /// What a failure must be like for another try to be safe. Default [`RetrySafety::Always`].
    #[must_use]
    pub fn with_safety(mut self, safety: RetrySafety) -> Self {
        self.policy.config.safety = safety;
        self
    }

    /// All of the above at once.
    #[must_use]
    pub fn with_config(mut self, config: RetryConfig) -> Self {
        self.policy.config = config;
        self
    }

    /// Judges outcomes by `classifier`. Default [`HttpClassifier`].
    #[must_use]
    pub fn with_classifier<D: Classify>(self, classifier: D) -> RetryLayer<D> {
        let Policy { config, classifier: _, budget, cost, hook, random, key_header, replay_cap, drain } =
            self.policy;
        RetryLayer {
            policy: Policy { config, classifier, budget, cost, hook, random, key_header, replay_cap, drain },
        }
    }

    /// Bounds the retries of all callers together. Default: no bound.
    #[must_use]
    pub fn with_budget(mut self, budget: impl RetryBudget + 'static) -> Self {
        self.policy.budget = Some(Arc::new(budget));
        self
    }

    /// What a call costs the budget, by its head and the size of its body; a usual call is 1. Default: each costs 1.
    #[must_use]
    pub fn with_cost(mut self, cost: impl Fn(&Parts, &SizeHint) -> f64 + Send + Sync + 'static) -> Self {
        self.policy.cost = Some(Arc::new(cost));
        self
    }

    /// Is told of each decision, as it is taken. It runs in the call's own future: it must not block.
    #[must_use]
    pub fn with_hook(mut self, hook: impl Fn(&RetryEvent<'_>) + Send + Sync + 'static) -> Self {
        self.policy.hook = Some(Arc::new(hook));
        self
    }

    /// Where jitter takes its numbers from. Default [`Random::shared`].
    #[must_use]
    pub fn with_random(mut self, random: Random) -> Self {
        self.policy.random = random;
        self
    }

    /// The header that makes a request `Keyed` for [`RetrySafety::Keyed`]. Default `idempotency-key`.
    #[must_use]
    pub fn with_key_header(mut self, name: HeaderName) -> Self {
        self.policy.key_header = name;
        self
    }

    /// How many bytes of a streamed request body are recorded. Default 32 MiB. A longer one is not tried again once
    /// some of it was sent.
    #[must_use]
    pub fn with_replay_cap(mut self, bytes: usize) -> Self {
        self.policy.replay_cap = bytes;
        self
    }

    /// How much of a failed reply is read, and for how long, so that its connection can be used again; past either it
    /// is dropped. Default 64 KiB and 100 ms. A reply that was read whole can still be the one that is handed up, should
    /// the next try not be possible.
    #[must_use]
    pub fn with_drain(mut self, bytes: usize, time: Duration) -> Self {
        self.policy.drain = Drain { bytes, time };
        self
    }
}

impl<S, C: Clone> Layer<S> for RetryLayer<C> {
    type Service = Retry<S, C>;

    fn layer(&self, inner: S) -> Self::Service {
        Retry::from_policy(inner, Arc::new(self.policy.clone()))
    }
}
