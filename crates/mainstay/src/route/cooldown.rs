//! A target that is left alone for a while: rate limited for longer than a call can wait, out of credit, with a refused
//! key, without the model.
//!
//! That is not ill health, so it is no breaker's business; but asking again before the time is over is wasted.

use http::StatusCode;
use mainstay_layers::classify::{Class, Verdict};
use parking_lot::Mutex;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// How long a target cools whose reply named no time: out of credit, a refused key, a missing model.
const UNTIMED: Duration = Duration::from_secs(30);

/// The cooldown of one target. Clones share it.
#[derive(Clone, Debug)]
pub struct Cooldown(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    start: Instant,
    /// Milliseconds after `start` until which the target cools. What is asked on every call is this one load.
    until: AtomicU64,
    why: Mutex<Option<Why>>,
}

/// Whose key and model a call used: what its failure says about the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The key is the target's own, the same for every caller.
    pub own_key: bool,
    /// The model is the target's own, the same for every caller.
    pub own_model: bool,
}

#[derive(Clone, Debug)]
struct Why {
    status: StatusCode,
    verdict: Verdict,
}

/// A target that cools, and why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cooling {
    /// How long it still takes.
    pub left: Duration,
    /// The status of the reply that began it.
    pub status: StatusCode,
    /// The judgement on that reply.
    pub verdict: Verdict,
}

impl Default for Cooldown {
    fn default() -> Self {
        Self::new()
    }
}

impl Cooldown {
    /// A target that does not cool.
    pub fn new() -> Self {
        Self(Arc::new(Shared { start: Instant::now(), until: AtomicU64::new(0), why: Mutex::new(None) }))
    }

    /// Whether the target cools, and for how long.
    pub fn cooling(&self) -> Option<Cooling> {
        let until = self.0.until.load(Ordering::Acquire);
        if until == 0 {
            return None;
        }
        let left = Duration::from_millis(until).checked_sub(self.0.start.elapsed())?;
        if left.is_zero() {
            return None;
        }
        let why = self.0.why.lock().clone()?;
        Some(Cooling { left, status: why.status, verdict: why.verdict })
    }

    /// Begins a cooldown if `verdict` calls for one; the later end wins.
    ///
    /// A rate limit cools for the wait that it named. What no wait cures cools only where another target exists to
    /// answer meanwhile, or where the reply named a wait. What concerns a key cools nothing if the key was the caller's
    /// own, what concerns a model nothing if the caller chose the name: one caller's mistake is no other's wait.
    pub fn begin(&self, status: StatusCode, verdict: &Verdict, another_target: bool, scope: Scope) {
        let concerns_others = match verdict.class {
            Class::NotFound => scope.own_model,
            Class::RateLimited | Class::QuotaExhausted | Class::Auth => scope.own_key,
            _ => true,
        };
        if !concerns_others {
            return;
        }
        let span = match (verdict.class, verdict.wait) {
            (Class::RateLimited | Class::QuotaExhausted | Class::Auth | Class::NotFound, Some(wait)) => wait,
            // Overload is ill health, and the circuit's business; but where another target answers meanwhile, a server that
            // named a time is not asked before it.
            (Class::Overloaded, Some(wait)) if another_target => wait,
            (Class::QuotaExhausted | Class::Auth | Class::NotFound, None) if another_target => UNTIMED,
            // A daily limit.
            (Class::RateLimited, None) if another_target && verdict.retry == Some(false) => UNTIMED,
            _ => return,
        };
        let until = u64::try_from((self.0.start.elapsed() + span).as_millis()).unwrap_or(u64::MAX);
        let mut why = self.0.why.lock();
        if self.0.until.load(Ordering::Relaxed) < until {
            *why = Some(Why { status, verdict: verdict.clone() });
            self.0.until.store(until, Ordering::Release);
        }
    }

    /// Ends the cooldown: an operator has mended what was wrong.
    pub fn clear(&self) {
        self.0.until.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Scope = Scope { own_key: true, own_model: true };

    fn limited(seconds: u64) -> Verdict {
        Verdict::new(Class::RateLimited).with_wait(Some(Duration::from_secs(seconds)))
    }

    #[tokio::test(start_paused = true)]
    async fn the_later_end_wins_and_time_ends_it() {
        let cooldown = Cooldown::new();
        assert!(cooldown.cooling().is_none());
        cooldown.begin(StatusCode::TOO_MANY_REQUESTS, &limited(10), false, OWN);
        cooldown.begin(StatusCode::TOO_MANY_REQUESTS, &limited(3), false, OWN);
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(cooldown.cooling().unwrap().left, Duration::from_secs(6));
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(cooldown.cooling().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_no_wait_cures_cools_only_where_another_target_is() {
        for class in [Class::QuotaExhausted, Class::Auth, Class::NotFound] {
            let cooldown = Cooldown::new();
            cooldown.begin(StatusCode::UNAUTHORIZED, &class.into(), false, OWN);
            assert!(cooldown.cooling().is_none(), "{class}");
            cooldown.begin(StatusCode::UNAUTHORIZED, &class.into(), true, OWN);
            assert!(cooldown.cooling().is_some(), "{class}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_callers_key_or_model_is_no_other_callers_wait() {
        let cooldown = Cooldown::new();
        let theirs = Scope { own_key: false, own_model: false };
        for verdict in [limited(9), Class::Auth.into(), Class::NotFound.into(), Class::QuotaExhausted.into()]
        {
            cooldown.begin(StatusCode::UNAUTHORIZED, &verdict, true, theirs);
        }
        assert!(cooldown.cooling().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_or_a_rate_limit_without_a_wait_cools_nothing() {
        let cooldown = Cooldown::new();
        for class in [Class::ServerError, Class::RateLimited, Class::InvalidRequest, Class::Timeout] {
            cooldown.begin(StatusCode::BAD_GATEWAY, &class.into(), true, OWN);
        }
        assert!(cooldown.cooling().is_none());
    }
}
