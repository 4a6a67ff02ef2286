//! What a call that was let through carries.

use super::{
    CircuitBreaker,
    machine::{Ballot, Ticket},
};
use crate::classify::Vote;
use std::{fmt, time::Duration};

/// A call that was let through. It votes at most once; dropped, it is no vote and its probe slot is free again.
#[must_use = "a permit that is dropped at once says nothing about the call"]
pub struct Permit {
    breaker: CircuitBreaker,
    ticket: Ticket,
}

impl Permit {
    #[inline]
    pub(super) fn new(breaker: CircuitBreaker, ticket: Ticket) -> Self {
        Self { breaker, ticket }
    }

    /// The call succeeded.
    pub fn success(mut self) {
        self.cast(Vote::Success, None, false);
    }

    /// The call failed, and the server may have asked for a wait: a floor under `open_for`.
    pub fn failure(mut self, wait: Option<Duration>) {
        self.cast(Vote::Failure, wait, false);
    }

    /// Whether the call was a probe of a half-open circuit.
    pub fn is_probe(&self) -> bool {
        self.ticket.is_probe()
    }

    #[inline]
    pub(super) fn breaker(&self) -> &CircuitBreaker {
        &self.breaker
    }

    /// Votes, and holds nothing from then on but the circuit.
    #[inline]
    pub(super) fn cast(&mut self, vote: Vote, wait: Option<Duration>, slow: bool) {
        // The vote gives the slot back, so the drop need not.
        let ticket = self.ticket.spend();
        if vote != Vote::Success || !self.breaker.machine().is_settled(ticket) {
            self.breaker.count(ticket, Ballot { vote, slow, wait });
        }
    }
}

impl Drop for Permit {
    #[inline]
    fn drop(&mut self) {
        self.breaker.machine().release(self.ticket);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("breaker", &self.breaker).field("ticket", &self.ticket).finish()
    }
}
