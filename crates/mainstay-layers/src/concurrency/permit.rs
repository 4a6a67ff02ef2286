//! What a call carries: its permit, or its place in line.

use super::ConcurrencyLimit;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

/// A call in flight.
pub(super) struct Permit {
    limit: ConcurrencyLimit,
    calls: Option<OwnedSemaphorePermit>,
    _bytes: Option<OwnedSemaphorePermit>,
}

impl Permit {
    pub(super) fn new(
        limit: ConcurrencyLimit,
        calls: Option<OwnedSemaphorePermit>,
        bytes: Option<OwnedSemaphorePermit>,
    ) -> Self {
        limit.begin();
        Self { limit, calls, _bytes: bytes }
    }

    pub(super) fn limit(&self) -> &ConcurrencyLimit {
        &self.limit
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.limit.end(self.calls.take());
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

type Enter = Pin<Box<dyn Future<Output = Permit> + Send>>;

impl Place {
    pub(super) fn new(limit: ConcurrencyLimit, enter: Enter) -> Self {
        Self { limit, since: Instant::now(), enter }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Permit> {
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
