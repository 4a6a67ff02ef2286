//! What is held of the try before, and for the try that is to come.

use super::budget::RetryBudget;
use crate::{BoxError, classify::Verdict};
use http::response;
use http_body::{Body, Frame};
use std::sync::Arc;

/// The outcome of the try before the one that is to come: handed up if that one turns out not to be possible.
pub(super) enum Earlier<RB: Body> {
    /// Its frames are all here, or are being read.
    Reply { parts: Box<response::Parts>, frames: Vec<Frame<RB::Data>>, verdict: Verdict },
    /// It was let go before it was read whole.
    Gone { verdict: Verdict },
    /// An error can always be handed up.
    Error { error: BoxError, verdict: Verdict },
}

impl<RB: Body> Earlier<RB> {
    pub(super) fn reply(parts: response::Parts, verdict: Verdict) -> Self {
        Self::Reply { parts: Box::new(parts), frames: Vec::new(), verdict }
    }

    pub(super) fn is_whole(&self) -> bool {
        !matches!(self, Self::Gone { .. })
    }

    /// What there is of a reply must not pass for all of it.
    pub(super) fn let_go(self) -> Self {
        match self {
            Self::Reply { parts, verdict, .. } => {
                let status = verdict.status.unwrap_or(parts.status);
                Self::Gone { verdict: verdict.with_status(Some(status)) }
            }
            other => other,
        }
    }
}

/// Tokens for the try that is to come; back they go if it is never made, because its caller left.
pub(super) struct Paid {
    budget: Option<Arc<dyn RetryBudget>>,
    cost: f64,
}

impl Paid {
    pub(super) fn new(budget: Arc<dyn RetryBudget>, cost: f64) -> Self {
        Self { budget: Some(budget), cost }
    }

    /// The try is made.
    pub(super) fn spend(mut self) {
        self.budget = None;
    }
}

impl Drop for Paid {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.refund(self.cost);
        }
    }
}
