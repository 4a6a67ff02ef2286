//! What happened of late: calls, failures and slow calls over a window of exact time buckets.
//!
//! A bucket leaves as a whole when its time is over, whatever was in it, so a million old successes weigh nothing.
//! With ten buckets the window looks back over between nine and ten tenths of its length.

use std::time::Duration;

/// In how many buckets a window is cut.
pub(super) const BUCKETS: u64 = 10;

/// Counts over a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) calls: u32,
    pub(super) failures: u32,
    pub(super) slow: u32,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.calls = self.calls.saturating_add(other.calls);
        self.failures = self.failures.saturating_add(other.failures);
        self.slow = self.slow.saturating_add(other.slow);
    }
}

/// One bucket: the number of its time slice since the start, and what was counted in it.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    slice: u64,
    counts: Counts,
}

/// A ring of buckets. Knows the time only as it is told.
#[derive(Debug)]
pub(super) struct Window {
    width: u64,
    latest: u64,
    ring: [Bucket; BUCKETS as usize],
}

impl Window {
    pub(super) fn new(length: Duration) -> Self {
        let nanos = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        Self { width: (nanos / BUCKETS).max(1), latest: 0, ring: [Bucket::default(); BUCKETS as usize] }
    }

    /// Counts one call and returns what the window holds now.
    pub(super) fn record(&mut self, now: u64, failed: bool, slow: bool) -> Counts {
        // A caller that read its clock before another took the lock is counted in the other's slice: slices never
        // go backwards.
        self.latest = self.latest.max(now / self.width);
        let latest = self.latest;
        let mut sum = Counts::default();
        for (place, bucket) in self.ring.iter_mut().enumerate() {
            if place as u64 == latest % BUCKETS {
                if bucket.slice != latest {
                    *bucket = Bucket { slice: latest, counts: Counts::default() };
                }
                bucket.counts.add(Counts { calls: 1, failures: failed.into(), slow: slow.into() });
            }
            if bucket.slice + BUCKETS > latest {
                sum.add(bucket.counts);
            }
        }
        sum
    }

    pub(super) fn clear(&mut self) {
        self.ring = [Bucket::default(); BUCKETS as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_calls_weigh_nothing_once_their_bucket_is_over() {
        let mut window = Window::new(Duration::from_nanos(100));
        for _ in 0..1_000 {
            window.record(5, false, false);
        }
        assert_eq!(window.record(99, true, true).calls, 1_001, "still within the window");
        assert_eq!(window.record(105, true, false), Counts { calls: 2, failures: 2, slow: 1 });
        assert_eq!(window.record(1_000_000, false, false), Counts { calls: 1, failures: 0, slow: 0 });
    }

    #[test]
    fn a_clock_read_early_counts_in_the_latest_slice() {
        let mut window = Window::new(Duration::from_nanos(100));
        window.record(950, true, false);
        assert_eq!(window.record(0, true, false).failures, 2);
    }
}
