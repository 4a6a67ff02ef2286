//! Whether a connection has sent a request yet.

use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// Set once, by the first request, and waited for by one.
#[derive(Debug, Default)]
pub(super) struct Spoke {
    said: AtomicBool,
    told: Notify,
}

impl Spoke {
    /// There is a request. From the second on this is one load.
    pub(super) fn set(&self) {
        if !self.said.load(Ordering::Relaxed) {
            self.said.store(true, Ordering::Release);
            self.told.notify_one();
        }
    }

    pub(super) fn is_set(&self) -> bool {
        self.said.load(Ordering::Acquire)
    }

    /// Waits for the first request.
    pub(super) async fn wait(&self) {
        if !self.is_set() {
            // One that came meanwhile has left its permit.
            self.told.notified().await;
        }
    }
}
