//! An error that carries its verdict.

use super::Verdict;
use crate::BoxError;
use std::{error::Error, fmt};

/// An error together with the [`Verdict`] on it. It may stand anywhere in a chain of sources:
/// [`HttpClassifier`](super::HttpClassifier) finds it there.
#[derive(Debug)]
pub struct Failed {
    verdict: Verdict,
    source: BoxError,
}

impl Failed {
    /// `source`, judged as `verdict`.
    pub fn new(verdict: Verdict, source: impl Into<BoxError>) -> Self {
        Self { verdict, source: source.into() }
    }

    /// The verdict on the error.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// The error alone.
    pub fn into_source(self) -> BoxError {
        self.source
    }

    /// Both parts.
    pub fn into_parts(self) -> (Verdict, BoxError) {
        (self.verdict, self.source)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}
