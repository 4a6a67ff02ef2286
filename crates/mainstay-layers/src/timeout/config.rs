//! How long each clock may run.

use std::time::Duration;

/// How long each clock may run; `None` and zero are off. See the [module](super) for what they count.
///
/// On the layer it holds for all calls; in the extensions of a request it replaces the layer's for that call, whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeoutConfig {
    /// From the moment the request was sent whole to the last byte of a reply that is no stream.
    pub attempt: Option<Duration>,
    /// The longest silence of a stream, the wait for its head included, while the reader waits.
    pub idle: Option<Duration>,
    /// From the moment the request was sent whole to the first content of a stream.
    pub first_event: Option<Duration>,
    /// After the first content of a stream: the longest time without more.
    pub progress: Option<Duration>,
}

impl TimeoutConfig {
    /// All clocks off.
    pub const fn new() -> Self {
        Self { attempt: None, idle: None, first_event: None, progress: None }
    }

    /// Sets `attempt`; zero is off.
    #[must_use]
    pub const fn with_attempt(mut self, attempt: Duration) -> Self {
        self.attempt = on(attempt);
        self
    }

    /// Sets `idle`; zero is off.
    #[must_use]
    pub const fn with_idle(mut self, idle: Duration) -> Self {
        self.idle = on(idle);
        self
    }

    /// Sets `first_event`; zero is off.
    #[must_use]
    pub const fn with_first_event(mut self, first_event: Duration) -> Self {
        self.first_event = on(first_event);
        self
    }

    /// Sets `progress`; zero is off.
    #[must_use]
    pub const fn with_progress(mut self, progress: Duration) -> Self {
        self.progress = on(progress);
        self
    }

    /// Whether no clock is set.
    pub fn is_off(&self) -> bool {
        self.without_zeros() == Self::new()
    }

    /// The shortest time that any clock is set to.
    pub(super) fn shortest(&self) -> Option<Duration> {
        [self.attempt, self.idle, self.first_event, self.progress].into_iter().flatten().min()
    }

    /// The same with zeros, which may have been written into the fields, as `None`.
    pub(super) fn without_zeros(self) -> Self {
        let on = |clock: Option<Duration>| clock.filter(|limit| !limit.is_zero());
        Self {
            attempt: on(self.attempt),
            idle: on(self.idle),
            first_event: on(self.first_event),
            progress: on(self.progress),
        }
    }
}

const fn on(limit: Duration) -> Option<Duration> {
    if limit.is_zero() { None } else { Some(limit) }
}
