//! A token bucket in one atomic.

use super::RetryBudget;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::time::Instant;

/// Tokens are counted in millionths.
const TOKEN: f64 = 1e6;
/// How many seconds of the floor can be saved up.
const SAVED_SECONDS: f64 = 10.0;
/// A floor above this bounds nothing; it keeps the arithmetic far from overflow.
const MAX_FLOOR: f64 = 1e5;

/// A budget of retries: a share of the calls, plus a floor per second. A handle; clones share the tokens.
///
/// Each call deposits `ratio` × its cost, each second `floor`; each retry and each hedge withdraws its cost, and is not
/// made where the tokens are missing. A call that goes on to another target after a failed try takes its cost as well
/// ([`withdraw_up_to`](Self::withdraw_up_to)), but is never refused: it is the last way to an answer, and there is one
/// for each target at most. So retries and hedges yield first, and when everything fails, calls sent to a provider /
/// calls offered to it stays under `1 + ratio`, plus the floor.
///
/// It starts with one second of floor (one token at least, where there is a floor: "5/m" grants the first retry), so a cold
/// start grants no storm, and holds at most ten seconds of it (or 10 tokens, if that is more), so that a quiet hour pays for
/// none either. A cost above that counts as that.
///
/// Withdrawing is one compare-and-swap; no lock, no task.
///
/// ```
/// use mainstay_layers::retry::Budget;
///
/// let budget = Budget::new(0.5, 0.0);
/// assert!(!budget.try_withdraw(1.0), "nothing was called yet");
/// budget.deposit(1.0);
/// budget.deposit(1.0);
/// assert!(budget.try_withdraw(1.0), "two calls pay for one retry");
/// assert!(!budget.try_withdraw(1.0));
/// ```
#[derive(Clone)]
pub struct Budget(Arc<Bucket>);

struct Bucket {
    /// Millionths of a token per token of cost.
    ratio: f64,
    /// Millionths per second.
    floor: f64,
    /// The most that it holds, in millionths.
    cap: u64,
    epoch: Instant,
    /// What had accrued from the floor by the time at which the bucket would have been empty. The tokens that there
    /// are now are what has accrued by now less this: so time and tokens change in one step. Wraps.
    empty_at: AtomicU64,
}

impl Budget {
    /// Retries may be `ratio` (0.2: one for five calls) of the calls, plus `floor_per_second`. Negative and NaN are 0;
    /// the floor is at most 100,000.
    pub fn new(ratio: f64, floor_per_second: f64) -> Self {
        let floor = floor_per_second.clamp(0.0, MAX_FLOOR);
        let floor = if floor.is_nan() { 0.0 } else { floor };
        let ratio = ratio.clamp(0.0, 1e3);
        let ratio = if ratio.is_nan() { 0.0 } else { ratio };
        let cap = (SAVED_SECONDS * floor.max(1.0) * TOKEN) as u64;
        let first = if floor > 0.0 { floor.max(1.0) } else { 0.0 };
        Self(Arc::new(Bucket {
            ratio,
            floor: floor * TOKEN,
            cap,
            epoch: Instant::now(),
            empty_at: AtomicU64::new(0u64.wrapping_sub((first * TOKEN) as u64)),
        }))
    }

    /// A call of this cost (1 for a usual one) begins.
    pub fn deposit(&self, cost: f64) {
        self.put((self.0.ratio * self.0.micros(cost) as f64) as u64);
    }

    /// Pays for one more try of this cost, if the tokens are there.
    #[must_use]
    pub fn try_withdraw(&self, cost: f64) -> bool {
        let cost = self.0.micros(cost);
        self.0.change(|tokens| tokens.checked_sub(cost))
    }

    /// Takes this cost, or what is left of the tokens where that is less. For what is done in any case, so that what
    /// can be left undone is left undone sooner.
    ///
    /// ```
    /// use mainstay_layers::retry::Budget;
    ///
    /// let budget = Budget::new(1.0, 0.0);
    /// budget.deposit(1.5);
    /// budget.withdraw_up_to(1.0);
    /// assert!(!budget.try_withdraw(1.0), "half a token is left");
    /// budget.withdraw_up_to(1.0);
    /// assert_eq!(budget.available(), 0.0);
    /// ```
    pub fn withdraw_up_to(&self, cost: f64) {
        let cost = self.0.micros(cost);
        self.0.change(|tokens| Some(tokens.saturating_sub(cost)));
    }

    /// Gives back what was withdrawn for a try that was not made after all.
    pub fn refund(&self, cost: f64) {
        self.put(self.0.micros(cost));
    }

    /// The tokens that are left just now.
    pub fn available(&self) -> f64 {
        let bucket = &*self.0;
        bucket.tokens(bucket.accrued(), bucket.empty_at.load(Ordering::Relaxed)) as f64 / TOKEN
    }

    fn put(&self, micros: u64) {
        self.0.change(|tokens| Some(tokens.saturating_add(micros)));
    }
}

impl Bucket {
    fn micros(&self, cost: f64) -> u64 {
        // NaN is the dearest, lest a fault in a cost function make retries free.
        if cost.is_nan() { self.cap } else { ((cost * TOKEN) as u64).min(self.cap) }
    }

    fn accrued(&self) -> u64 {
        let elapsed = Instant::now().saturating_duration_since(self.epoch);
        (elapsed.as_secs_f64() * self.floor) as u64
    }

    fn tokens(&self, accrued: u64, empty_at: u64) -> u64 {
        // Negative if another thread has read a later time than we have: empty for now.
        let tokens = accrued.wrapping_sub(empty_at) as i64;
        u64::try_from(tokens).unwrap_or(0).min(self.cap)
    }

    fn change(&self, f: impl Fn(u64) -> Option<u64>) -> bool {
        let accrued = self.accrued();
        // Relaxed: the tokens guard no other memory.
        self.empty_at
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |empty_at| {
                let tokens = f(self.tokens(accrued, empty_at))?;
                Some(accrued.wrapping_sub(tokens))
            })
            .is_ok()
    }
}

impl RetryBudget for Budget {
    fn deposit(&self, cost: f64) {
        Budget::deposit(self, cost);
    }

    fn try_withdraw(&self, cost: f64) -> bool {
        Budget::try_withdraw(self, cost)
    }

    fn refund(&self, cost: f64) {
        Budget::refund(self, cost);
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("ratio", &self.0.ratio)
            .field("floor_per_second", &(self.0.floor / TOKEN))
            .field("available", &self.available())
            .finish()
    }
}
