//! Limits.
/// stub
#[derive(Debug)]
pub struct BodyTooLarge;
impl std::fmt::Display for BodyTooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("too large")
    }
}
impl std::error::Error for BodyTooLarge {}
