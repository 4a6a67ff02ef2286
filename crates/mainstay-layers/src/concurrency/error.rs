//! The error of a call that found no room.

use std::{error::Error, fmt, time::Duration};

/// There was no room in time: the line was full, or the wait in it too long. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overloaded {
    /// How many calls may be in flight.
    pub limit: usize,
    /// How long this one waited; zero if the line was full.
    pub waited: Duration,
}

impl fmt::Display for Overloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no room among {} calls in flight after a wait of {:.1?}", self.limit, self.waited)
    }
}

impl Error for Overloaded {}
