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

/// More models than this are not told apart; the one that is free again first is forgotten.
const MOST: usize = 64;

/// What cools at one target, or with one key. Clones share it.
#[derive(Clone, Debug)]
pub struct Cooldown(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    start: Instant,
    /// Milliseconds after `start` until which anything here cools. What is asked on every call is this one load.
    until: AtomicU64,
    entries: Mutex<Vec<Entry>>,
}

#[derive(Debug)]
struct Entry {
    /// The model that it concerns; `None`: all.
    model: Option<Arc<str>>,
    until: Duration,
    status: StatusCode,
    verdict: Verdict,
}

impl Entry {
    fn cooling(&self, now: Duration) -> Cooling {
        Cooling { left: self.until.saturating_sub(now), status: self.status, verdict: self.verdict.clone() }
    }
}

/// Whose key and model a call used: what its failure says about the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The key is the target's own, the same for every caller.
    pub own_key: bool,
    /// The model is the target's own, the same for every caller.
    pub own_model: bool,
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
    /// Nothing cools.
    pub fn new() -> Self {
        let entries = Mutex::new(Vec::new());
        Self(Arc::new(Shared { start: Instant::now(), until: AtomicU64::new(0), entries }))
    }

    /// Whether a call for `model` would have to wait, and for how long.
    pub fn cooling_for(&self, model: &str) -> Option<Cooling> {
        self.longest(|entry| entry.model.as_deref().is_none_or(|cools| cools == model))
    }

    /// What cools longest here, whatever model it concerns.
    pub fn cooling(&self) -> Option<Cooling> {
        self.longest(|_| true)
    }

    /// All that cools here, each with the model that it concerns; `None`: all models.
    pub fn all(&self) -> Vec<(Option<Arc<str>>, Cooling)> {
        let now = self.0.start.elapsed();
        let entries = self.0.entries.lock();
        let left = entries.iter().filter(|entry| entry.until > now);
        left.map(|entry| (entry.model.clone(), entry.cooling(now))).collect()
    }

    fn longest(&self, concerns: impl Fn(&Entry) -> bool) -> Option<Cooling> {
        let until = self.0.until.load(Ordering::Acquire);
        // Nothing ever cooled: the clock need not be asked.
        if until == 0 {
            return None;
        }
        let now = self.0.start.elapsed();
        if Duration::from_millis(until) <= now {
            return None;
        }
        let entries = self.0.entries.lock();
        let entry = entries.iter().filter(|entry| entry.until > now && concerns(entry));
        let entry = entry.max_by_key(|entry| entry.until)?;
        Some(entry.cooling(now))
    }

    /// Begins a cooldown if `verdict`, on a call for `model`, asks for one; the later end wins.
    ///
    /// A rate limit cools for the wait that it named, a missing model where another target exists: both only that model.
    /// What no wait cures cools only where another target exists to answer meanwhile, or where the reply named a wait. What
    /// concerns a key cools nothing if the key was the caller's own: one caller's mistake is no other's wait.
    pub fn begin(
        &self,
        status: StatusCode,
        verdict: &Verdict,
        another_target: bool,
        scope: Scope,
        model: &Arc<str>,
    ) {
        let of_key = matches!(verdict.class, Class::RateLimited | Class::QuotaExhausted | Class::Auth);
        if of_key && !scope.own_key {
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
        let of_model = matches!(verdict.class, Class::RateLimited | Class::NotFound);
        let model = (of_model && !scope.own_model).then(|| model.clone());
        let now = self.0.start.elapsed();
        let mut entries = self.0.entries.lock();
        entries.retain(|entry| entry.until > now);
        let until = now + span;
        match entries.iter_mut().find(|entry| entry.model == model) {
            Some(entry) if entry.until >= until => return,
            Some(entry) => *entry = Entry { model, until, status, verdict: verdict.clone() },
            None => {
                if entries.len() >= MOST {
                    let soonest = entries.iter().enumerate().min_by_key(|(_, entry)| entry.until);
                    if let Some((soonest, _)) = soonest {
                        entries.swap_remove(soonest);
                    }
                }
                entries.push(Entry { model, until, status, verdict: verdict.clone() });
            }
        }
        let last = entries.iter().map(|entry| entry.until).max().unwrap_or_default();
        self.0.until.store(u64::try_from(last.as_millis()).unwrap_or(u64::MAX), Ordering::Release);
    }

    /// Ends every cooldown: an operator has mended what was wrong.
    pub fn clear(&self) {
        self.0.entries.lock().clear();
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
        cooldown.begin(StatusCode::TOO_MANY_REQUESTS, &limited(10), false, OWN, &"m".into());
        cooldown.begin(StatusCode::TOO_MANY_REQUESTS, &limited(3), false, OWN, &"m".into());
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(cooldown.cooling().unwrap().left, Duration::from_secs(6));
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(cooldown.cooling().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_no_wait_cures_cools_only_where_another_target_is() {
        for class in [Class::QuotaExhausted, Class::Auth, Class::NotFound] {
            let cooldown = Cooldown::new();
            cooldown.begin(StatusCode::UNAUTHORIZED, &class.into(), false, OWN, &"m".into());
            assert!(cooldown.cooling().is_none(), "{class}");
            cooldown.begin(StatusCode::UNAUTHORIZED, &class.into(), true, OWN, &"m".into());
            assert!(cooldown.cooling().is_some(), "{class}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_callers_key_is_no_other_callers_wait() {
        let cooldown = Cooldown::new();
        let theirs = Scope { own_key: false, own_model: false };
        for verdict in [limited(9), Class::Auth.into(), Class::QuotaExhausted.into()] {
            cooldown.begin(StatusCode::UNAUTHORIZED, &verdict, true, theirs, &"m".into());
        }
        assert!(cooldown.cooling().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_of_one_model_leaves_the_others_alone_and_names_made_up_by_callers_are_bounded() {
        let theirs = Scope { own_key: true, own_model: false };
        let cooldown = Cooldown::new();
        cooldown.begin(StatusCode::TOO_MANY_REQUESTS, &limited(9), false, theirs, &"big".into());
        assert!(cooldown.cooling_for("big").is_some() && cooldown.cooling_for("small").is_none());
        for n in 0..1000 {
            let name = format!("made-up-{n}").into();
            cooldown.begin(StatusCode::NOT_FOUND, &Class::NotFound.into(), true, theirs, &name);
        }
        assert_eq!(cooldown.0.entries.lock().len(), MOST);
        cooldown.begin(StatusCode::UNAUTHORIZED, &Class::Auth.into(), true, theirs, &"big".into());
        assert!(cooldown.cooling_for("small").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_or_a_rate_limit_without_a_wait_cools_nothing() {
        let cooldown = Cooldown::new();
        for class in [Class::ServerError, Class::RateLimited, Class::InvalidRequest, Class::Timeout] {
            cooldown.begin(StatusCode::BAD_GATEWAY, &class.into(), true, OWN, &"m".into());
        }
        assert!(cooldown.cooling().is_none());
    }
}
