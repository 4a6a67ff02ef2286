//! How many more tries all callers together may add.
//!
//! One call's `attempts` bound what that call costs; a budget bounds what an outage costs, when every call fails and
//! every caller would multiply the load on a server that is down already. One handle serves all layers that add
//! calls: retries, hedges and fallbacks of one provider, so that nested ones do not multiply. Retries and hedges are
//! refused where the tokens are missing; a fallback takes what there is and is made all the same.

mod bucket;
mod grpc;

pub use self::bucket::Budget;
pub use self::grpc::GrpcThrottle;

use crate::classify::Verdict;
use http::request::Parts;
use http_body::SizeHint;
use std::sync::Arc;

/// The policy that grants or refuses retries over all calls: [`Budget`], [`GrpcThrottle`] or your own.
pub trait RetryBudget: Send + Sync {
    /// A call of this cost begins. Once for each call, not for its retries.
    fn deposit(&self, cost: f64);

    /// Whether one more try of this cost may be made; if so it is paid for.
    fn try_withdraw(&self, cost: f64) -> bool;

    /// Gives back what was withdrawn for a try that was not made after all: its caller left, or its time was over.
    fn refund(&self, cost: f64);

    /// The outcome of a try, before anyone asks whether another may follow.
    fn record(&self, verdict: &Verdict) {
        let _ = verdict;
    }
}

impl<T: RetryBudget + ?Sized> RetryBudget for Arc<T> {
    fn deposit(&self, cost: f64) {
        (**self).deposit(cost);
    }

    fn try_withdraw(&self, cost: f64) -> bool {
        (**self).try_withdraw(cost)
    }

    fn refund(&self, cost: f64) {
        (**self).refund(cost);
    }

    fn record(&self, verdict: &Verdict) {
        (**self).record(verdict);
    }
}

/// The cost of a call by the size of its body: one for each `unit` bytes, at least 1.
///
/// For [`RetryLayer::with_cost`](super::RetryLayer::with_cost). The size is the body's own or that of
/// `content-length`; an unknown size costs 1.
///
/// ```
/// use mainstay_layers::retry::{Budget, RetryLayer, cost_by_size};
///
/// let layer = RetryLayer::new().with_budget(Budget::new(0.2, 10.0)).with_cost(cost_by_size(64 * 1024));
/// ```
pub fn cost_by_size(unit: u64) -> impl Fn(&Parts, &SizeHint) -> f64 + Send + Sync + 'static {
    move |head, size| {
        let declared = || head.headers.get(http::header::CONTENT_LENGTH)?.to_str().ok()?.parse::<u64>().ok();
        let bytes = size.exact().or_else(declared).unwrap_or(size.lower());
        (bytes as f64 / unit.max(1) as f64).max(1.0)
    }
}
