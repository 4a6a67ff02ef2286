//! The last good answer to the same call.
//!
//! An [`AnswerCache`] keeps whole answers of a route, and streams that were read to their end: for the time in which every
//! target fails or the deadline is over, or, by [`Serve::Always`], instead of asking again. A stream is given as the stream
//! that it was, byte for byte. One that was cut, or that another target went on with, is not kept, nor is an answer that is
//! larger than [`AnswerCache::with_max_entry`]; while a stream passes, a copy of so much of it is held. An answer is given
//! only to the very same request with the very same
//! credential: the key is a SHA-256 of path, credential, the headers that change an API's answers, and the body with its
//! top-level fields in order. So neither prompts nor credentials are kept, but answers are: in memory, bounded, for a
//! limited time.
//!
//! A caller's own mistakes, refused keys and missing models are told, never covered by an old answer. `cache-control:
//! no-store` on a request keeps it out, `no-cache` has it asked anew.
//!
//! A kept answer costs no tokens: nothing is told to a [`UsageCell`](crate::judge::UsageCell).
//!
//! Where answers are kept is an [`AnswerStore`]; feature `cache` has one in memory, `MemoryStore`.

mod keep;
mod key;
#[cfg(feature = "cache")]
mod memory;
mod serve;

#[cfg(test)]
#[cfg(feature = "cache")]
mod tests;
#[cfg(test)]
#[cfg(feature = "cache")]
mod tests_stream;

pub use self::key::CacheKey;
#[cfg(feature = "cache")]
pub use self::memory::MemoryStore;
pub(super) use self::serve::cached;

use super::attempt::TargetName;
use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

/// A future of a store.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where answers are kept. Its failures are its own: a store that cannot be reached, or takes longer than 250 ms, has
/// nothing.
pub trait AnswerStore: Send + Sync {
    /// The answer under `key`, with its age, unless it is too old.
    fn get(&self, key: CacheKey) -> StoreFuture<'_, Option<Answer>>;

    /// Keeps an answer.
    fn put(&self, key: CacheKey, answer: Answer) -> StoreFuture<'_, ()>;
}

/// A whole answer.
#[derive(Clone)]
#[non_exhaustive]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its content type.
    pub content_type: HeaderValue,
    /// Its body.
    pub body: Bytes,
    /// Who gave it.
    pub target: Arc<TargetName>,
    /// The model that was asked.
    pub model: Arc<str>,
    /// How long ago.
    pub age: Duration,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the body.
        write!(f, "Answer({} bytes, {:?} old)", self.body.len(), self.age)
    }
}

/// When a kept answer is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Serve {
    /// When every target has failed.
    #[default]
    OnFailure,
    /// Before any target is asked, too.
    Always,
}

/// The answers of a route. Clones share them.
#[derive(Clone)]
pub struct AnswerCache {
    store: Arc<dyn AnswerStore>,
    serve: Serve,
    max_entry: usize,
}

/// Longer than this nobody waits for a store.
const PATIENCE: Duration = Duration::from_millis(250);

impl AnswerCache {
    /// Answers in `store`.
    pub fn new(store: impl AnswerStore + 'static, serve: Serve) -> Self {
        Self { store: Arc::new(store), serve, max_entry: 1024 * 1024 }
    }

    /// The largest answer that is kept, in bytes. Default 1 MiB.
    #[must_use]
    pub fn with_max_entry(mut self, bytes: usize) -> Self {
        self.max_entry = bytes;
        self
    }

    async fn find(&self, key: CacheKey) -> Option<Answer> {
        tokio::time::timeout(PATIENCE, self.store.get(key)).await.ok().flatten()
    }

    async fn put(&self, key: CacheKey, answer: Answer) {
        if tokio::time::timeout(PATIENCE, self.store.put(key, answer)).await.is_err() {
            tracing::debug!("the store of answers is too slow");
        }
    }
}

impl fmt::Debug for AnswerCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerCache").field("serve", &self.serve).finish_non_exhaustive()
    }
}

/// The reply is a kept answer. In the extensions of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cached {
    /// How old it is.
    pub age: Duration,
    /// No target could answer. Otherwise none was asked.
    pub stale: bool,
}
