//! What a call carries: its permit, or its place in line.

use super::ConcurrencyLimit;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::time::Instant;

/// A call in flight. Two words, since it goes from the future to the body by copying: the semaphores are the limit's, and
/// what was taken from them is given back here.
pub(super) struct Permit {
    limit: ConcurrencyLimit,
    /// The bytes it counts for.
    weight: u32,
}

impl Permit {
    /// Of a call for which one place, and so many bytes, have been taken from the limit.
    #[inline]
    pub(super) fn new(limit: ConcurrencyLimit, weight: u32) -> Self {
        limit.begin();
        Self { limit, weight }
    }

    #[inline]
    pub(super) fn limit(&self) -> &ConcurrencyLimit {
        &self.limit
    }
}

impl Drop for Permit {
    #[inline]
    fn drop(&mut self) {
        self.limit.end(self.weight);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}

/// A place in line. Dropped, it is given up.
pub(super) struct Place {
    limit: ConcurrencyLimit,
    since: Instant,
    enter: Enter,
}

/// `None`: the time was up first.
type Enter = Pin<Box<dyn Future<Output = Option<Permit>> + Send>>;

impl Place {
    pub(super) fn new(limit: ConcurrencyLimit, enter: Enter) -> Self {
        Self { limit, since: Instant::now(), enter }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Permit>> {
        self.enter.as_mut().poll(cx)
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.limit.leave_line();
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("since", &self.since).finish_non_exhaustive()
    }
}
