//! Which of several HTTP/2 connections a call goes over.

use std::{
    hash::{BuildHasher, Hash, RandomState},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// Origins are hashed into so many rows: bounded whatever is asked for, and without a lock. Two origins in one row only
/// open their further connections a little sooner.
const ROWS: usize = 64;

/// Calls in flight, per origin and connection. A call is in flight until the body of its reply has ended.
#[derive(Debug)]
pub(super) struct Load {
    /// `ROWS` rows of `slots` counters.
    cells: Arc<[AtomicUsize]>,
    hasher: RandomState,
    slots: usize,
    streams: usize,
}

impl Load {
    /// `slots` connections per origin, each with room for `streams` calls. Both at least 1.
    pub(super) fn new(slots: usize, streams: usize) -> Self {
        let cells = (0..ROWS * slots).map(|_| AtomicUsize::new(0)).collect();
        Self { cells, hasher: RandomState::new(), slots, streams }
    }

    /// Takes a place on the first connection that has one, so that no more are opened than are needed; where all are
    /// full, on the least loaded.
    pub(super) fn enter(&self, origin: impl Hash) -> InFlight {
        let row = (self.hasher.hash_one(origin) % ROWS as u64) as usize;
        let row = row * self.slots..(row + 1) * self.slots;
        let cells = self.cells.get(row.clone()).unwrap_or_default();

        let room = |n: usize| (n < self.streams).then_some(n + 1);
        let slot = cells.iter().position(|cell| cell.fetch_update(Relaxed, Relaxed, room).is_ok());
        let slot = slot.unwrap_or_else(|| {
            let least = cells.iter().enumerate().min_by_key(|(_, cell)| cell.load(Relaxed));
            least.map_or(0, |(slot, cell)| {
                cell.fetch_add(1, Relaxed);
                slot
            })
        });
        InFlight { cells: Arc::clone(&self.cells), at: row.start + slot, slot }
    }
}

/// A place on a connection; given back on drop.
#[derive(Debug)]
pub(super) struct InFlight {
    cells: Arc<[AtomicUsize]>,
    at: usize,
    slot: usize,
}

impl InFlight {
    /// Which connection it is.
    pub(super) fn slot(&self) -> usize {
        self.slot
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(cell) = self.cells.get(self.at) {
            cell.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_connection_is_used_only_when_those_before_are_full() {
        let load = Load::new(3, 2);
        let held: Vec<_> = (0..6).map(|_| load.enter("a")).collect();
        assert_eq!(held.iter().map(InFlight::slot).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn a_place_that_is_given_back_is_taken_first() {
        let load = Load::new(2, 1);
        let (first, _second) = (load.enter("a"), load.enter("a"));
        drop(first);
        assert_eq!(load.enter("a").slot(), 0);
    }

    #[test]
    fn beyond_all_limits_the_least_loaded_takes_it() {
        let load = Load::new(2, 1);
        let held: Vec<_> = (0..4).map(|_| load.enter("a")).collect();
        assert_eq!(held.iter().map(InFlight::slot).collect::<Vec<_>>(), [0, 1, 0, 1]);
        drop(held);
        assert!(load.cells.iter().all(|c| c.load(Relaxed) == 0));
    }
}
