//! One value for each runtime that asks for one.
//!
//! A connection lives on the runtime that opened it: its task runs there and its socket is polled there. Used from another
//! one, each request would change threads twice, and a runtime that ends would take others' connections with it.

use parking_lot::RwLock;
use std::sync::Arc;
use tokio::runtime::{Handle, Id};

/// How many runtimes are known at a time. Beyond it the one that came first is forgotten, which most likely has ended; if
/// not, it begins anew.
const MOST: usize = 256;

/// A value for each runtime, made when it first asks.
pub(super) struct PerRuntime<T>(RwLock<Vec<(Option<Id>, Arc<T>)>>);

impl<T> PerRuntime<T> {
    pub(super) fn new() -> Self {
        Self(RwLock::new(Vec::new()))
    }

    /// The value of the runtime that this is called on. Outside of any there is one more.
    pub(super) fn get(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let id = Handle::try_current().ok().map(|handle| handle.id());
        let find = |known: &[(Option<Id>, Arc<T>)]| {
            known.iter().find(|(other, _)| *other == id).map(|(_, value)| value.clone())
        };
        if let Some(found) = find(&self.0.read()) {
            return found;
        }
        let mut known = self.0.write();
        // Another thread of the same runtime may have been first.
        if let Some(found) = find(&known) {
            return found;
        }
        if known.len() >= MOST {
            known.remove(0);
        }
        let made = Arc::new(make());
        known.push((id, made.clone()));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Builder;

    #[test]
    fn each_runtime_has_its_own_and_keeps_it() {
        let values = PerRuntime::new();
        let next = std::sync::atomic::AtomicUsize::new(0);
        let get = || *values.get(|| next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let runtimes = [(); 3].map(|()| Builder::new_current_thread().build().unwrap());
        for _ in 0..2 {
            let got: Vec<usize> = runtimes.iter().map(|runtime| runtime.block_on(async { get() })).collect();
            assert_eq!(got, [0, 1, 2]);
        }
        assert_eq!((get(), get()), (3, 3), "outside of any");
    }

    #[test]
    fn runtimes_without_end_do_not_make_it_grow() {
        let values = PerRuntime::new();
        for _ in 0..MOST + 20 {
            Builder::new_current_thread().build().unwrap().block_on(async { values.get(|| ()) });
        }
        assert_eq!(values.0.read().len(), MOST);
    }
}
