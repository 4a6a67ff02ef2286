//! How a concurrency limit is set up.

use super::{Adaptive, ConcurrencyLimit};
use std::time::Duration;

/// How a [`ConcurrencyLimit`] is set up.
///
/// ```
/// use mainstay_layers::concurrency::Config;
/// use std::time::Duration;
///
/// let limit = Config::new(8).with_queue_wait(Duration::from_millis(200)).with_max_waiting(16).build();
/// assert_eq!(limit.limit(), 8);
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    pub(super) limit: usize,
    pub(super) queue_wait: Duration,
    pub(super) max_waiting: usize,
    pub(super) request_bytes: Option<u32>,
    pub(super) adaptive: Option<Adaptive>,
}

impl Config {
    /// At most `limit` calls in flight; 0 is taken as 1.
    pub fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            queue_wait: Duration::from_secs(1),
            max_waiting: 1024,
            request_bytes: None,
            adaptive: None,
        }
    }

    /// How long a call may wait in line. Default 1 s; zero: it does not wait.
    #[must_use]
    pub fn with_queue_wait(mut self, wait: Duration) -> Self {
        self.queue_wait = wait;
        self
    }

    /// How many calls may wait in line. Default 1024.
    #[must_use]
    pub fn with_max_waiting(mut self, calls: usize) -> Self {
        self.max_waiting = calls;
        self
    }

    /// Limits the request bytes of all calls in flight as well. Off by default.
    ///
    /// A body counts as what its size hint says: the upper bound, or where there is none the lower. A body that is
    /// larger than the whole limit counts as all of it: it passes alone.
    #[must_use]
    pub fn with_request_bytes(mut self, bytes: u32) -> Self {
        self.request_bytes = Some(bytes.max(1));
        self
    }

    /// Lets the limit adapt itself; it starts at the one given to [`new`](Self::new). Off by default.
    #[must_use]
    pub fn with_adaptive(mut self, adaptive: Adaptive) -> Self {
        self.adaptive = Some(adaptive);
        self
    }

    /// A limit of this configuration.
    pub fn build(self) -> ConcurrencyLimit {
        ConcurrencyLimit::of(self)
    }
}
