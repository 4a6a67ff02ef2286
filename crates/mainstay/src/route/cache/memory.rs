//! Answers in memory.

use super::{Answer, AnswerStore, CacheKey, StoreFuture};
use moka::sync::Cache;
use std::{fmt, time::Duration};
use tokio::time::Instant;

/// Keeps answers in memory: at most so many bytes of them, each for a limited time.
#[derive(Clone)]
pub struct MemoryStore {
    answers: Cache<CacheKey, (Answer, Instant)>,
    ttl: Duration,
}

/// What an answer weighs besides its body.
const OVERHEAD: usize = 512;

impl MemoryStore {
    /// At most `max_bytes` of answers, each for `ttl`.
    pub fn new(max_bytes: u64, ttl: Duration) -> Self {
        /// Moka takes no longer one.
        const LONGEST: Duration = Duration::from_secs(86_400 * 365);
        let answers = Cache::builder()
            .max_capacity(max_bytes)
            .weigher(|_, (answer, _): &(Answer, Instant)| {
                u32::try_from(answer.body.len() + OVERHEAD).unwrap_or(u32::MAX)
            })
            .time_to_live(ttl.min(LONGEST))
            .build();
        Self { answers, ttl }
    }

    #[cfg(test)]
    pub(super) fn answers_for_test(&self) -> &Cache<CacheKey, (Answer, Instant)> {
        &self.answers
    }
}

impl AnswerStore for MemoryStore {
    fn get(&self, key: CacheKey) -> StoreFuture<'_, Option<Answer>> {
        let found = self.answers.get(&key).and_then(|(answer, since)| {
            // Moka has a clock of its own; this one is the one that tests can turn.
            let age = since.elapsed();
            (age < self.ttl).then_some(Answer { age, ..answer })
        });
        Box::pin(std::future::ready(found))
    }

    fn put(&self, key: CacheKey, answer: Answer) -> StoreFuture<'_, ()> {
        self.answers.insert(key, (answer, Instant::now()));
        Box::pin(std::future::ready(()))
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("ttl", &self.ttl).finish_non_exhaustive()
    }
}
