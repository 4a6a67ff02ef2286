//! A call that was let through, on its way from the service to the end of its body.

use super::{pace::Pace, permit::Permit};
use crate::classify::Vote;
use http::Extensions;
use std::time::Duration;

/// The permit of a call and how fast it is. Dropped, it is no vote.
#[derive(Debug)]
pub(super) struct Call {
    permit: Permit,
    pace: Pace,
}

impl Call {
    #[inline]
    pub(super) fn start(permit: Permit) -> Self {
        let pace = Pace::start(permit.breaker());
        Self { permit, pace }
    }

    /// The head has come.
    #[inline]
    pub(super) fn head(&mut self, extensions: &Extensions) {
        self.pace.head(self.permit.breaker(), extensions);
    }

    /// Somebody waits for the body.
    #[inline]
    pub(super) fn pending(&mut self) {
        self.pace.pending(self.permit.breaker());
    }

    /// A frame has come.
    #[inline]
    pub(super) fn content(&mut self) {
        self.pace.content(self.permit.breaker());
    }

    /// It is over, and this is what became of it. Said once: then it is to be let go.
    #[inline]
    pub(super) fn end(&mut self, vote: Vote, wait: Option<Duration>) {
        let slow = self.pace.content(self.permit.breaker());
        self.permit.cast(vote, wait, slow);
    }
}
