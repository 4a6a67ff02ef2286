//! How long to wait before the next try, as far as we alone decide it.

use std::{fmt, sync::Arc, time::Duration};

/// How a delay is spread, so that callers that failed together do not come back together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Jitter {
    /// Anything from zero to the delay. Spreads best.
    #[default]
    Full,
    /// Anything from half the delay to the delay.
    Equal,
    /// The delay itself, and nothing on top of a wait that the server asked for. For tests, and for callers that are
    /// spread already.
    None,
}

/// Exponential backoff: before try n+1 it is `base · 2^(n-1)`, at most `max`, then the jitter.
///
/// ```
/// use mainstay_layers::retry::{Backoff, Jitter, Random};
/// use std::time::Duration;
///
/// let backoff = Backoff::new(Duration::from_millis(300), Duration::from_secs(30), Jitter::None);
/// let random = Random::shared();
/// assert_eq!(backoff.delay(1, &random), Duration::from_millis(300));
/// assert_eq!(backoff.delay(2, &random), Duration::from_millis(600));
/// assert_eq!(backoff.delay(u32::MAX, &random), Duration::from_secs(30));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    base: Duration,
    max: Duration,
    jitter: Jitter,
}

impl Backoff {
    /// Doubles from `base` up to `max`; a `max` below `base` wins.
    pub const fn new(base: Duration, max: Duration, jitter: Jitter) -> Self {
        Self { base, max, jitter }
    }

    /// The delay after the try with this number has failed; the first try is 1 (and 0 counts as 1).
    pub fn delay(&self, attempt: u32, random: &Random) -> Duration {
        let delay = self.ceiling(attempt);
        match self.jitter {
            Jitter::Full => random.up_to(delay),
            Jitter::Equal => {
                let half = delay / 2;
                half + random.up_to(delay.saturating_sub(half))
            }
            Jitter::None => delay,
        }
    }

    /// The delay before jitter: the longest that [`delay`](Self::delay) may return.
    pub fn ceiling(&self, attempt: u32) -> Duration {
        let exponent = attempt.saturating_sub(1);
        let base = self.base.as_nanos();
        let doubled = if exponent < base.leading_zeros() { base << exponent } else { u128::MAX };
        if base == 0 { Duration::ZERO } else { from_nanos(doubled.min(self.max.as_nanos())) }
    }

    /// What is added to a wait that the server asked for: at most `base`, nothing without jitter. The server tells
    /// everybody the same wait; this keeps them from coming back as one.
    pub fn extra(&self, random: &Random) -> Duration {
        match self.jitter {
            Jitter::None => Duration::ZERO,
            _ => random.up_to(self.base.min(self.max)),
        }
    }
}

/// The source of random numbers for jitter.
///
/// There is one for all callers: the generator of the running thread. A generator that is cloned with its layer would
/// hand the same numbers to each clone.
#[derive(Clone, Default)]
pub struct Random(Option<Arc<dyn Fn() -> u64 + Send + Sync>>);

impl Random {
    /// The running thread's own generator.
    pub const fn shared() -> Self {
        Self(None)
    }

    /// Numbers from `source`, evenly spread over all of `u64`; for tests that want to know what comes.
    pub fn from_fn(source: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(source)))
    }

    /// A random part of the whole of `duration`, to the nanosecond.
    pub(crate) fn up_to(&self, duration: Duration) -> Duration {
        let number = self.0.as_ref().map_or_else(|| fastrand::u64(..), |source| source());
        // The upper 32 bits: a duration has at most 94 bits of nanoseconds, so the product fits.
        from_nanos((duration.as_nanos() * u128::from(number >> 32)).div_ceil(1 << 32))
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Random(from_fn)" } else { "Random(shared)" })
    }
}

/// Takes nanoseconds that came from a `Duration`, and so fit one.
fn from_nanos(nanos: u128) -> Duration {
    const SECOND: u128 = 1_000_000_000;
    Duration::new(u64::try_from(nanos / SECOND).unwrap_or(u64::MAX), (nanos % SECOND) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn durations() -> impl Strategy<Value = Duration> {
        prop_oneof![
            Just(Duration::ZERO),
            Just(Duration::MAX),
            (0..100_000u64).prop_map(Duration::from_millis),
            (any::<u64>(), 0..1_000_000_000u32).prop_map(|(s, n)| Duration::new(s, n)),
        ]
    }

    fn attempts() -> impl Strategy<Value = u32> {
        prop_oneof![0..70u32, any::<u32>(), Just(u32::MAX)]
    }

    proptest! {
        #[test]
        fn the_delay_is_within_its_bounds_for_every_attempt(
            base in durations(), max in durations(), attempt in attempts(), number in any::<u64>(),
        ) {
            let random = Random::from_fn(move || number);
            let full = Backoff::new(base, max, Jitter::Full);
            let ceiling = full.ceiling(attempt);
            prop_assert!(ceiling <= max);
            prop_assert!(attempt < 2 || ceiling >= full.ceiling(attempt - 1), "never shorter than before");
            prop_assert!(full.delay(attempt, &random) <= ceiling);
            let equal = Backoff::new(base, max, Jitter::Equal).delay(attempt, &random);
            prop_assert!(equal >= ceiling / 2 && equal <= ceiling);
            let none = Backoff::new(base, max, Jitter::None);
            prop_assert_eq!(none.delay(attempt, &random), ceiling);
            prop_assert_eq!(none.extra(&random), Duration::ZERO);
            prop_assert!(full.extra(&random) <= base);
        }
    }

    #[test]
    fn the_delay_doubles_up_to_its_maximum() {
        let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1), Jitter::None);
        let millis: Vec<_> = (1..=6).map(|n| backoff.delay(n, &Random::shared()).as_millis()).collect();
        assert_eq!(millis, [100, 200, 400, 800, 1000, 1000]);
    }

    #[test]
    fn jitter_scales_the_whole_duration_and_not_its_seconds() {
        let backoff = Backoff::new(Duration::from_millis(1900), Duration::from_secs(30), Jitter::Full);
        let half = backoff.delay(1, &Random::from_fn(|| 1 << 63));
        assert_eq!(half, Duration::from_millis(950));
    }

    #[test]
    fn clones_of_the_source_do_not_repeat_each_other() {
        let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(1), Jitter::Full);
        let mut seen: Vec<_> = (0..1000).map(|_| backoff.delay(1, &Random::shared().clone())).collect();
        seen.sort_unstable();
        seen.dedup();
        assert!(seen.len() > 990, "{} distinct delays", seen.len());
    }
}
