//! How long a target takes until its first content.

use parking_lot::Mutex;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// Buckets of a quarter of an octave each, from 1 ms to some 4 hours.
const BUCKETS: usize = 96;
/// With so many samples all counts are halved, so that what is long ago fades.
const FADE_AT: u32 = 1000;
/// A quantile of fewer samples says nothing.
const FEWEST: u32 = 20;
/// In this time the memory of a slow answer fades to a third, so that a slow target gets another chance.
const MEMORY: Duration = Duration::from_secs(30);

/// The times to first content of one target, of streams and of whole replies apart. Clones share them.
///
/// Memory is fixed; recording takes no allocation.
#[derive(Clone, Debug, Default)]
pub struct Pace(Arc<[Sketch; 2]>);

#[derive(Debug)]
struct Sketch {
    counts: [AtomicU32; BUCKETS],
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    /// Seconds.
    mean: f64,
    at: Option<Instant>,
}

impl Default for Sketch {
    fn default() -> Self {
        Self { counts: std::array::from_fn(|_| AtomicU32::new(0)), recent: Mutex::default() }
    }
}

impl Pace {
    fn of(&self, stream: bool) -> &Sketch {
        let [whole, events] = &*self.0;
        if stream { events } else { whole }
    }

    /// The first content of a stream came after `took`; or all of a reply that is none.
    pub fn record(&self, stream: bool, took: Duration) {
        self.of(stream).record(took);
    }

    /// The time within which this share of the answers came (0.95: of 20, the slowest but one), to a fifth of it.
    /// `None` for fewer than 20 answers.
    pub fn quantile(&self, stream: bool, share: f64) -> Option<Duration> {
        self.of(stream).quantile(share)
    }

    /// What the next call may expect: the recent times, a slow one at once and a fast one by and by, forgotten in some
    /// 30 s. Zero while nothing is known.
    pub fn expected(&self, stream: bool) -> Duration {
        self.of(stream).expected()
    }
}

impl Sketch {
    fn record(&self, took: Duration) {
        let millis = took.as_secs_f64() * 1000.0;
        let bucket = (millis.max(1.0).log2() * 4.0).floor() as usize;
        if let Some(count) = self.counts.get(bucket.min(BUCKETS - 1)) {
            // Relaxed: counts guard no other memory, and one that is lost to fading is no harm.
            if count.fetch_add(1, Ordering::Relaxed) >= FADE_AT {
                self.counts.iter().for_each(|count| {
                    count.store(count.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
                });
            }
        }
        let now = Instant::now();
        let seconds = took.as_secs_f64();
        let mut recent = self.recent.lock();
        let kept = recent.faded(now);
        // A peak counts at once, as in the balancers of Finagle and linkerd.
        recent.mean = if seconds > kept { seconds } else { kept * 0.9 + seconds * 0.1 };
        recent.at = Some(now);
    }

    fn quantile(&self, share: f64) -> Option<Duration> {
        let counts: Vec<u32> = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let all: u32 = counts.iter().sum();
        if all < FEWEST {
            return None;
        }
        let wanted = (f64::from(all) * share.clamp(0.0, 1.0)).ceil() as u32;
        let mut seen = 0;
        let bucket = counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(Duration::from_secs_f64(((bucket + 1) as f64 / 4.0).exp2() / 1000.0))
    }

    fn expected(&self) -> Duration {
        Duration::try_from_secs_f64(self.recent.lock().faded(Instant::now())).unwrap_or_default()
    }
}

impl Recent {
    fn faded(&self, now: Instant) -> f64 {
        let Some(at) = self.at else { return 0.0 };
        let age = now.saturating_duration_since(at);
        self.mean * (-age.as_secs_f64() / MEMORY.as_secs_f64()).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn quantiles_are_right_to_a_fifth_and_need_twenty_answers() {
        let pace = Pace::default();
        for n in 1..=19 {
            pace.record(true, MS * n * 10);
        }
        assert_eq!(pace.quantile(true, 0.5), None);
        for n in 20..=100 {
            pace.record(true, MS * n * 10);
        }
        for (share, exact) in [(0.5, 500.0), (0.95, 950.0)] {
            let got = pace.quantile(true, share).unwrap().as_secs_f64() * 1000.0;
            assert!((exact..exact * 1.2).contains(&got), "{share}: {got}");
        }
        assert_eq!(pace.quantile(false, 0.5), None, "whole replies are another matter");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_long_ago_fades() {
        let pace = Pace::default();
        (0..5000).for_each(|_| pace.record(true, MS * 10));
        (0..1500).for_each(|_| pace.record(true, MS * 1000));
        assert!(pace.quantile(true, 0.5).unwrap() > MS * 900);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_answer_counts_at_once_and_is_forgotten_in_time() {
        let pace = Pace::default();
        assert_eq!(pace.expected(true), Duration::ZERO);
        pace.record(true, MS * 100);
        pace.record(true, MS * 2000);
        assert_eq!(pace.expected(true), MS * 2000);
        pace.record(true, MS * 100);
        assert!(pace.expected(true) > MS * 1500);
        tokio::time::advance(Duration::from_secs(300)).await;
        assert!(pace.expected(true) < MS);
    }

    #[tokio::test(start_paused = true)]
    async fn no_duration_is_too_short_or_too_long() {
        let pace = Pace::default();
        (0..20).for_each(|_| pace.record(false, Duration::ZERO));
        assert!(pace.quantile(false, 1.0).unwrap() < MS * 2);
        (0..80).for_each(|_| pace.record(false, Duration::MAX));
        assert!(pace.quantile(false, 1.0).unwrap() > Duration::from_secs(3600));
    }
}
