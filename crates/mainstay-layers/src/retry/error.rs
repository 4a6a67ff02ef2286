//! The error that the tries ended with.

use super::event::RetryOutcome;
use crate::BoxError;
use http::StatusCode;
use std::{error::Error, fmt};

/// The last error of a call, together with how many tries were made and why there were no more.
///
/// Its source is the error of the layer below: `find_cause` finds everything that was in that chain, a
/// [`Failed`](crate::classify::Failed) included.
#[derive(Debug)]
pub struct RetryError {
    outcome: RetryOutcome,
    source: BoxError,
}

impl RetryError {
    pub(super) fn new(outcome: RetryOutcome, source: BoxError) -> Self {
        Self { outcome, source }
    }

    /// How the call ended.
    pub fn outcome(&self) -> &RetryOutcome {
        &self.outcome
    }

    /// The error of the layer below.
    pub fn into_source(self) -> BoxError {
        self.source
    }
}

impl fmt::Display for RetryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RetryOutcome { attempts, reason, wait, .. } = self.outcome;
        let tries = if attempts == 1 { "try" } else { "tries" };
        write!(f, "{} (after {attempts} {tries}", self.source)?;
        if let Some(reason) = reason {
            write!(f, ", {reason}")?;
        }
        if let Some(wait) = wait {
            write!(f, ", asked to wait {wait:?}")?;
        }
        f.write_str(")")
    }
}

impl Error for RetryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

/// Stands for a failed reply that was let go for the sake of another try, which then was not possible.
#[derive(Debug)]
pub(super) struct ReplyGone {
    status: Option<StatusCode>,
    because: Option<BoxError>,
}

impl ReplyGone {
    pub(super) fn new(status: Option<StatusCode>, because: Option<BoxError>) -> Self {
        Self { status, because }
    }
}

impl fmt::Display for ReplyGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "the server answered {status}")?,
            None => f.write_str("the call failed")?,
        }
        f.write_str(", and another try was not possible")
    }
}

impl Error for ReplyGone {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.because.as_deref().map(|because| because as &(dyn Error + 'static))
    }
}
