//! Breaker.
/// stub
#[derive(Debug)]
pub struct CircuitOpen;
impl CircuitOpen {
    /// stub
    pub fn retry_in(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}
impl std::fmt::Display for CircuitOpen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("open")
    }
}
impl std::error::Error for CircuitOpen {}
