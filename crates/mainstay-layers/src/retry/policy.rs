//! What a layer was told, and the decision that follows from it.

use super::{
    backoff::Random,
    budget::RetryBudget,
    config::RetryConfig,
    event::{GiveUp, RetryEvent},
};
use crate::classify::{Class, Verdict};
use http::{HeaderName, request::Parts};
use http_body::SizeHint;
use std::{fmt, sync::Arc, time::Duration};
use tokio::time::Instant;

type CostFn = dyn Fn(&Parts, &SizeHint) -> f64 + Send + Sync;
type Hook = dyn Fn(&RetryEvent<'_>) + Send + Sync;

/// All options of a layer.
#[derive(Clone)]
pub(super) struct Policy<C> {
    pub(super) config: RetryConfig,
    pub(super) classifier: C,
    pub(super) budget: Option<Arc<dyn RetryBudget>>,
    pub(super) cost: Option<Arc<CostFn>>,
    pub(super) hook: Option<Arc<Hook>>,
    pub(super) random: Random,
    pub(super) key_header: HeaderName,
    pub(super) replay_cap: usize,
    pub(super) drain: Drain,
}

/// How far a failed reply is read so that its connection can be used again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    pub(super) bytes: usize,
    pub(super) time: Duration,
}

impl Drain {
    /// More frames than this are not read, whatever they hold: an empty one costs a turn too.
    pub(super) const FRAMES: usize = 1024;
}

impl<C> Policy<C> {
    pub(super) fn tell(&self, event: &RetryEvent<'_>) {
        match event {
            RetryEvent::Retry { attempt, verdict, delay, free } => tracing::debug!(
                attempt,
                free,
                class = verdict.class.as_str(),
                delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                "the try failed: trying again"
            ),
            RetryEvent::GiveUp { attempts, verdict, reason } => tracing::debug!(
                attempts,
                class = verdict.class.as_str(),
                reason = reason.as_str(),
                "the call failed: not trying again"
            ),
        }
        if let Some(hook) = &self.hook {
            hook(event);
        }
    }
}

impl<C> fmt::Debug for Policy<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("config", &self.config)
            .field("budget", &self.budget.is_some())
            .field("replay_cap", &self.replay_cap)
            .field("drain", &self.drain)
            .finish_non_exhaustive()
    }
}

/// What is known of a call when one of its tries has failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// The tries that were made.
    pub(super) attempts: u32,
    pub(super) now: Instant,
    /// No try begins at or after this.
    pub(super) limit: Option<Instant>,
    /// The request carries an idempotency key.
    pub(super) keyed: bool,
    /// Another target is left.
    pub(super) next_target: bool,
    /// The request body can be sent again.
    pub(super) replayable: bool,
    /// The free replay was used.
    pub(super) replayed: bool,
}

/// The next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Again {
    pub(super) delay: Duration,
    /// A replay on a stale connection: it counts as no try and costs nothing.
    pub(super) free: bool,
}

/// Whether a failure is worth another try, and after what delay. The budget is asked by the caller, last.
pub(super) fn decide(
    config: &RetryConfig,
    verdict: &Verdict,
    facts: &Facts,
    random: &Random,
) -> Result<Again, GiveUp> {
    if verdict.committed {
        return Err(GiveUp::Committed);
    }
    if verdict.class == Class::Cancelled {
        return Err(GiveUp::NotRetryable);
    }
    if verdict.stale && !facts.replayed && config.replay_stale {
        let again = Again { delay: Duration::ZERO, free: true };
        return feasible(again, facts);
    }
    if !verdict.is_retryable() {
        return Err(GiveUp::NotRetryable);
    }
    if verdict.class == Class::Timeout && facts.next_target && verdict.retry != Some(true) {
        return Err(GiveUp::NextTarget);
    }
    if !config.safety.allows(verdict, facts.keyed) {
        return Err(GiveUp::Unsafe);
    }
    if facts.attempts >= config.attempts.max(1) {
        return Err(GiveUp::Attempts);
    }
    let backoff = config.backoff();
    let mut delay = backoff.delay(facts.attempts, random);
    if let Some(wait) = verdict.wait {
        if wait > config.max_wait {
            return Err(GiveUp::WaitTooLong);
        }
        // A server that asks for less than we would wait by ourselves does not make us wait less.
        if !wait.is_zero() {
            delay = delay.max(wait.saturating_add(backoff.extra(random)));
        }
    }
    feasible(Again { delay, free: false }, facts)
}

fn feasible(again: Again, facts: &Facts) -> Result<Again, GiveUp> {
    if !facts.replayable {
        return Err(GiveUp::BodyLost);
    }
    let begins = facts.now.checked_add(again.delay);
    if begins.is_none() || facts.limit.is_some_and(|limit| begins >= Some(limit)) {
        return Err(GiveUp::NoTime);
    }
    Ok(again)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retry::{Jitter, RetrySafety};

    fn facts() -> Facts {
        Facts {
            attempts: 1,
            now: Instant::now(),
            limit: None,
            keyed: false,
            next_target: false,
            replayable: true,
            replayed: false,
        }
    }

    fn config() -> RetryConfig {
        RetryConfig { jitter: Jitter::None, ..RetryConfig::new() }
    }

    fn ask(config: &RetryConfig, verdict: Verdict, facts: &Facts) -> Result<Again, GiveUp> {
        decide(config, &verdict, facts, &Random::shared())
    }

    fn seconds(delay: u64) -> Result<Again, GiveUp> {
        Ok(Again { delay: Duration::from_secs(delay), free: false })
    }

    #[test]
    fn each_class_is_retried_as_its_row_says() {
        for class in Class::ALL {
            let retried = ask(&config(), Verdict::new(class), &facts()).is_ok();
            assert_eq!(retried, class.is_retryable(), "{class}");
        }
    }

    #[test]
    fn a_caller_that_left_causes_no_try_whatever_the_server_says() {
        let verdict = Verdict::new(Class::Cancelled).with_retry(Some(true));
        assert_eq!(ask(&config(), verdict, &facts()), Err(GiveUp::NotRetryable));
    }

    #[test]
    fn what_is_committed_is_never_replayed_not_even_for_free() {
        let verdict =
            Verdict::new(Class::Transport).with_stale(true).with_committed(true).with_retry(Some(true));
        assert_eq!(ask(&config(), verdict, &facts()), Err(GiveUp::Committed));
    }

    #[test]
    fn pitfall_25_a_server_that_forbids_a_retry_gets_none() {
        let verdict = Verdict::new(Class::Overloaded).with_retry(Some(false));
        assert_eq!(ask(&config(), verdict, &facts()), Err(GiveUp::NotRetryable));
    }

    #[test]
    fn a_timeout_is_left_to_the_next_target_if_there_is_one() {
        let timeout = Verdict::new(Class::Timeout);
        let with_next = Facts { next_target: true, ..facts() };
        assert_eq!(ask(&config(), timeout.clone(), &facts()), seconds(1));
        assert_eq!(ask(&config(), timeout.clone(), &with_next), Err(GiveUp::NextTarget));
        assert_eq!(ask(&config(), timeout.with_retry(Some(true)), &with_next), seconds(1));
        assert_eq!(ask(&config(), Verdict::new(Class::Transport), &with_next), seconds(1));
    }

    #[test]
    fn unsent_only_repeats_nothing_that_the_server_may_have_acted_on() {
        use crate::classify::Sent;
        let config = RetryConfig { safety: RetrySafety::UnsentOnly, ..config() };
        let keyed = Facts { keyed: true, ..facts() };
        for (verdict, safe) in [
            (Verdict::new(Class::Transport), false),
            (Verdict::new(Class::Transport).with_sent(Sent::No), true),
            (Verdict::new(Class::Timeout), false),
            (Verdict::new(Class::ServerError), false),
            (Verdict::new(Class::Malformed), false),
            (Verdict::new(Class::RateLimited), true),
            (Verdict::new(Class::Overloaded), true),
        ] {
            let expected = if safe { seconds(1) } else { Err(GiveUp::Unsafe) };
            assert_eq!(ask(&config, verdict.clone(), &facts()), expected, "{verdict:?}");
            assert_eq!(ask(&config, verdict.clone(), &keyed), expected, "a key changes nothing: {verdict:?}");
        }
    }

    #[test]
    fn keyed_repeats_the_ambiguous_only_with_a_key() {
        let config = RetryConfig { safety: RetrySafety::Keyed, ..config() };
        let keyed = Facts { keyed: true, ..facts() };
        assert_eq!(ask(&config, Verdict::new(Class::ServerError), &facts()), Err(GiveUp::Unsafe));
        assert_eq!(ask(&config, Verdict::new(Class::ServerError), &keyed), seconds(1));
        assert_eq!(ask(&config, Verdict::new(Class::RateLimited), &facts()), seconds(1));
    }

    #[test]
    fn attempts_counts_the_first_try_and_zero_is_one() {
        for (attempts, made, retried) in [(3, 2, true), (3, 3, false), (1, 1, false), (0, 1, false)] {
            let config = RetryConfig { attempts, ..config() };
            let facts = Facts { attempts: made, ..facts() };
            assert_eq!(ask(&config, Verdict::new(Class::ServerError), &facts).is_ok(), retried);
        }
    }

    #[test]
    fn pitfall_24_a_wait_over_the_cap_is_no_sooner_try_but_none() {
        let wait = |seconds| Verdict::new(Class::RateLimited).with_wait(Some(Duration::from_secs(seconds)));
        assert_eq!(ask(&config(), wait(60), &facts()), seconds(60));
        assert_eq!(ask(&config(), wait(61), &facts()), Err(GiveUp::WaitTooLong));
    }

    #[test]
    fn a_hint_never_shortens_the_backoff_and_zero_is_no_hint() {
        let third = Facts { attempts: 3, ..facts() };
        let config = RetryConfig { attempts: 9, ..config() };
        let wait = |wait| Verdict::new(Class::RateLimited).with_wait(Some(wait));
        assert_eq!(ask(&config, wait(Duration::from_secs(2)), &third), seconds(4));
        assert_eq!(ask(&config, wait(Duration::ZERO), &third), seconds(4));
        assert_eq!(ask(&config, wait(Duration::from_secs(7)), &third), seconds(7));
    }

    #[test]
    fn a_hint_is_lengthened_by_at_most_the_base_delay() {
        let config = RetryConfig { jitter: Jitter::Full, ..config() };
        let verdict = Verdict::new(Class::RateLimited).with_wait(Some(Duration::from_secs(10)));
        let most = decide(&config, &verdict, &facts(), &Random::from_fn(|| u64::MAX)).unwrap();
        let least = decide(&config, &verdict, &facts(), &Random::from_fn(|| 0)).unwrap();
        assert_eq!(least.delay, Duration::from_secs(10));
        assert_eq!(most.delay, Duration::from_secs(11));
    }

    #[test]
    fn pitfall_22_a_sleep_that_would_cross_the_limit_is_not_begun() {
        let now = Instant::now();
        let until = |millis| Facts { now, limit: Some(now + Duration::from_millis(millis)), ..facts() };
        assert_eq!(ask(&config(), Verdict::new(Class::ServerError), &until(1001)), seconds(1));
        assert_eq!(ask(&config(), Verdict::new(Class::ServerError), &until(1000)), Err(GiveUp::NoTime));
    }

    #[test]
    fn a_stale_connection_is_replayed_at_once_for_free_and_the_second_time_as_any_failure() {
        let stale = Verdict::new(Class::Transport).with_stale(true);
        let free = Ok(Again { delay: Duration::ZERO, free: true });
        let one_try = RetryConfig { attempts: 1, ..config() };
        assert_eq!(ask(&one_try, stale.clone(), &facts()), free);
        let replayed = Facts { replayed: true, ..facts() };
        assert_eq!(ask(&one_try, stale.clone(), &replayed), Err(GiveUp::Attempts));
        assert_eq!(ask(&config(), stale.clone(), &replayed), seconds(1));
        assert_eq!(ask(&RetryConfig::off(), stale, &facts()), Err(GiveUp::Attempts));
    }

    #[test]
    fn a_body_that_is_lost_is_not_sent_by_halves() {
        let lost = Facts { replayable: false, ..facts() };
        assert_eq!(ask(&config(), Verdict::new(Class::Overloaded), &lost), Err(GiveUp::BodyLost));
        let stale = Verdict::new(Class::Transport).with_stale(true);
        assert_eq!(ask(&config(), stale, &lost), Err(GiveUp::BodyLost));
    }
}
