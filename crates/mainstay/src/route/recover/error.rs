//! A stream that was cut and could not be continued.

use mainstay_layers::BoxError;
use std::fmt;

/// A stream was cut, and nobody could go on with it. The source is what cut it.
#[derive(Debug)]
#[non_exhaustive]
pub struct RecoveryFailed {
    /// Why nobody went on, for people.
    pub why: &'static str,
    source: BoxError,
}

impl RecoveryFailed {
    pub(super) fn new(why: &'static str, source: BoxError) -> Self {
        Self { why, source }
    }
}

impl fmt::Display for RecoveryFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; it was not continued: {}", self.source, self.why)
    }
}

impl std::error::Error for RecoveryFailed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}
