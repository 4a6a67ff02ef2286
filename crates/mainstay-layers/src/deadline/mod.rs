//! Deadlines.
use http::Extensions;
use std::time::Duration;
use tokio::time::Instant;

/// stub
#[derive(Debug)]
pub struct DeadlineExceeded;
impl std::fmt::Display for DeadlineExceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("deadline")
    }
}
impl std::error::Error for DeadlineExceeded {}

/// stub
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);
impl Deadline {
    /// stub
    pub fn after(remaining: Duration) -> Self {
        Self(Instant::now() + remaining)
    }
    /// stub
    pub fn of(extensions: &Extensions) -> Option<Self> {
        extensions.get().copied()
    }
    /// stub
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}
