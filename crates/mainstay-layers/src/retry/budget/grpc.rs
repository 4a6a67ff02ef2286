//! gRPC's own throttling of retries.

use super::RetryBudget;
use crate::classify::Verdict;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// gRPC's retry throttling (gRFC A6, "Throttling Retry Attempts and Hedged RPCs"). A handle; clones share the tokens.
///
/// Starts with `max_tokens`. A try that fails in a way that may be retried, or whose server forbids a retry, takes one;
/// a success gives `token_ratio` back. Retries are made only while more than half of `max_tokens` is there. What a
/// call costs does not matter here.
///
/// ```
/// use mainstay_layers::retry::{GrpcThrottle, RetryLayer};
///
/// let layer = RetryLayer::new().with_budget(GrpcThrottle::new(10, 0.1));
/// ```
#[derive(Clone, Debug)]
pub struct GrpcThrottle(Arc<Tokens>);

#[derive(Debug)]
struct Tokens {
    /// In thousandths, as A6 wants it: `tokenRatio` has three decimals.
    max: u64,
    ratio: u64,
    left: AtomicU64,
}

impl GrpcThrottle {
    /// `max_tokens` is 1 to 1000; `token_ratio` is above 0 and read to three decimals.
    pub fn new(max_tokens: u32, token_ratio: f64) -> Self {
        let max = u64::from(max_tokens.clamp(1, 1000)) * 1000;
        let ratio = ((token_ratio * 1000.0) as u64).clamp(1, max);
        Self(Arc::new(Tokens { max, ratio, left: AtomicU64::new(max) }))
    }

    /// Whether retries are granted just now.
    pub fn is_open(&self) -> bool {
        self.0.left.load(Ordering::Relaxed) > self.0.max / 2
    }

    fn change(&self, f: impl Fn(u64) -> u64) {
        let _ = self
            .0
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(f(left).min(self.0.max)));
    }
}

impl RetryBudget for GrpcThrottle {
    fn deposit(&self, _cost: f64) {}

    fn try_withdraw(&self, _cost: f64) -> bool {
        self.is_open()
    }

    fn refund(&self, _cost: f64) {}

    fn record(&self, verdict: &Verdict) {
        if verdict.is_success() {
            self.change(|left| left + self.0.ratio);
        } else if verdict.is_retryable() || verdict.retry == Some(false) {
            self.change(|left| left.saturating_sub(1000));
        }
    }
}
