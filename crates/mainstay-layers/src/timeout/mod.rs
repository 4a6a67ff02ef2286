//! Timeouts.
use crate::classify::{Class, Verdict};
/// stub
#[derive(Debug)]
pub struct TimeoutError;
impl TimeoutError {
    /// stub
    pub fn verdict(&self) -> Verdict {
        Verdict::new(Class::Timeout)
    }
}
impl std::fmt::Display for TimeoutError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("timeout")
    }
}
impl std::error::Error for TimeoutError {}
