//! The lock and the atomics of the state machine: loom's own under `cfg(loom)`, so that it can be model-checked.

#[cfg(not(all(loom, test)))]
mod real {
    pub(crate) use parking_lot::Mutex;
    pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
}

#[cfg(all(loom, test))]
mod real {
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    /// loom's mutex behind `parking_lot`'s signature.
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }
    }
}

pub(super) use real::*;
