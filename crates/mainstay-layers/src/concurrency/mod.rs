//! Concurrency.
/// stub
#[derive(Debug)]
pub struct Overloaded;
impl std::fmt::Display for Overloaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("overloaded")
    }
}
impl std::error::Error for Overloaded {}
