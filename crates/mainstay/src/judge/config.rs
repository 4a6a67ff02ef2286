//! The bounds of a judge.

use std::time::Duration;

/// How much a judge reads, holds and waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JudgeConfig {
    /// How long an error reply's body is read; then its status stands alone. Default: 5 s.
    pub error_body: Duration,
    /// How much of an error reply's body is read. Default: 256 KiB.
    pub max_error_body: usize,
    /// How many events of a stream are held before its first content. Default: 64.
    pub hold_events: usize,
    /// How many bytes of a stream are held before its first content. Default: 256 KiB.
    pub hold_bytes: usize,
    /// The largest single event of a stream. Default: 8 MiB.
    pub max_event: usize,
    /// How long a stream's connection is given to end its message after the terminal event. Default: 100 ms.
    pub linger: Duration,
}

impl Default for JudgeConfig {
    fn default() -> Self {
        Self {
            error_body: Duration::from_secs(5),
            max_error_body: 256 << 10,
            hold_events: 64,
            hold_bytes: 256 << 10,
            max_event: 8 << 20,
            linger: Duration::from_millis(100),
        }
    }
}
