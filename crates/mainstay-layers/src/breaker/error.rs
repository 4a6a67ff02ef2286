//! The error of a call that an open circuit rejected.

use std::{error::Error, fmt, sync::Arc, time::Duration};

/// The circuit is open: the call was rejected at once, nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CircuitOpen {
    retry_in: Duration,
    name: Arc<str>,
}

impl CircuitOpen {
    pub(super) fn new(name: Arc<str>, retry_in: Duration) -> Self {
        Self { retry_in, name }
    }

    /// After which time a call may pass; a moment where probes are on their way and nobody can know.
    pub fn retry_in(&self) -> Duration {
        self.retry_in
    }

    /// The breaker's name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for CircuitOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "circuit `{}` is open, retry in {:.1?}", self.name, self.retry_in)
    }
}

impl Error for CircuitOpen {}
