//! Deadlines.
/// stub
#[derive(Debug)]
pub struct DeadlineExceeded;
impl std::fmt::Display for DeadlineExceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("deadline")
    }
}
impl std::error::Error for DeadlineExceeded {}
