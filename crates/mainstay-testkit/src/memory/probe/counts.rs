//! What a probe counts.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// What was counted; shared by all clones of the probe.
#[derive(Clone, Debug, Default)]
pub struct Probe(pub(super) Arc<Counts>);

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) clones: AtomicUsize,
    pub(super) calls: AtomicUsize,
    pub(super) unready_calls: AtomicUsize,
    pub(super) unused_readiness: AtomicUsize,
    pub(super) in_flight: AtomicUsize,
    pub(super) most_in_flight: AtomicUsize,
    pub(super) dropped_futures: AtomicUsize,
    pub(super) open_bodies: AtomicUsize,
    pub(super) most_open_bodies: AtomicUsize,
    pub(super) dropped_bodies: AtomicUsize,
    pub(super) late_body_polls: AtomicUsize,
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident)*) => {
        $($(#[$doc])* pub fn $name(&self) -> usize { self.0.$name.load(Relaxed) })*
    };
}

impl Probe {
    counts! {
        /// How often the service was cloned.
        clones
        /// How often it was called.
        calls
        /// How often it was called without having been ready since its last call: must be 0.
        unready_calls
        /// How many instances were dropped ready, without a call. No fault by itself, but whatever readiness reserved was
        /// held for nothing.
        unused_readiness
        /// How many futures have neither ended nor been dropped.
        in_flight
        /// The most that were in flight at one moment.
        most_in_flight
        /// How many futures were dropped before they ended.
        dropped_futures
        /// How many bodies have neither ended nor been dropped.
        open_bodies
        /// The most that were open at one moment.
        most_open_bodies
        /// How many bodies were dropped before they ended.
        dropped_bodies
        /// How often a body was polled after its end or its error: must be 0.
        late_body_polls
    }

    /// What breaks the contract, in words; empty when nothing does. To be asked when all is over: what is still in
    /// flight then has leaked.
    pub fn violations(&self) -> Vec<String> {
        let all = [
            (self.unready_calls(), "calls of a service that was not ready"),
            (self.late_body_polls(), "polls of a body after its end"),
            (self.in_flight(), "futures still in flight"),
            (self.open_bodies(), "bodies still open"),
        ];
        all.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
    }
}

type Trio = fn(&Counts) -> (&AtomicUsize, &AtomicUsize, &AtomicUsize);

/// Something that is held until it ends or is dropped.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) probe: Probe,
    trio: Trio,
    ended: bool,
}

impl Held {
    pub(super) fn new(probe: &Probe, trio: Trio) -> Self {
        let (now, most, _) = trio(&probe.0);
        most.fetch_max(now.fetch_add(1, Relaxed) + 1, Relaxed);
        Self { probe: probe.clone(), trio, ended: false }
    }

    pub(super) fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            (self.trio)(&self.probe.0).0.fetch_sub(1, Relaxed);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.ended {
            (self.trio)(&self.probe.0).2.fetch_add(1, Relaxed);
        }
        self.end();
    }
}
