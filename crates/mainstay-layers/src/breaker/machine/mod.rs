//! The state machine: admit, vote, release, force. Plain and synchronous, the time is an argument.
//!
//! Every transition begins an *epoch*. A call carries the epoch it was admitted in, and what it says later counts only
//! in that epoch: a success from before the trip closes nothing, a straggler from before the closing opens nothing.
//!
//! `word` holds epoch and mode, so that a closed circuit admits with one load. `until` is the moment before which
//! nobody passes a circuit that is not closed, so that rejections take no lock either. Both are written under the lock
//! only, `until` first.

mod trip;
mod values;
mod view;
mod word;

pub(super) use self::values::{Ballot, Change, Snapshot, Ticket};

use self::word::{Mode, epoch_of, is_closed, pack};
use super::{
    config::Rules,
    observe::Cause,
    sync::{AtomicU32, AtomicU64, Mutex, Ordering},
    window::Window,
};
use crate::classify::Vote;
use std::time::Duration;

const FOR_EVER: u64 = u64::MAX;

pub(super) struct Machine {
    rules: Rules,
    /// Whether any rate is taken, so that successes count too.
    counted: bool,
    word: AtomicU64,
    until: AtomicU64,
    /// Failures in a row; written under the lock, read outside to see that a success has nothing to reset.
    streak: AtomicU32,
    rejected: AtomicU64,
    inner: Mutex<Inner>,
}

struct Inner {
    mode: Mode,
    epoch: u64,
    since: u64,
    opened: u64,
    /// The latest end of a wait that a server asked for with one of the failures in a row.
    floor: u64,
    /// How often in a row a probe failed.
    relapses: i32,
    window: Option<Window>,
    probes: Vec<Probe>,
    next_probe: u64,
}

#[derive(Clone, Copy)]
struct Probe {
    number: u64,
    lapses: u64,
}

impl Machine {
    pub(super) fn new(rules: Rules) -> Self {
        let rates = rules.failure_rate.is_some() || rules.slow_rate.is_some();
        let inner = Inner {
            mode: Mode::Closed,
            epoch: 0,
            since: 0,
            opened: 0,
            floor: 0,
            relapses: 0,
            window: rates.then(|| Window::new(rules.window)),
            probes: Vec::new(),
            next_probe: 1,
        };
        Self {
            rules,
            counted: rates,
            word: AtomicU64::new(pack(0, Mode::Closed)),
            until: AtomicU64::new(0),
            streak: AtomicU32::new(0),
            rejected: AtomicU64::new(0),
            inner: Mutex::new(inner),
        }
    }

    /// Admits a call if the circuit is closed. One load, no clock.
    #[inline]
    pub(super) fn pass(&self) -> Option<Ticket> {
        let word = self.word.load(Ordering::Acquire);
        is_closed(word).then_some(Ticket { epoch: epoch_of(word), probe: 0 })
    }

    /// Admits a call, or says after which time to come again.
    pub(super) fn admit(&self, now: Duration) -> (Result<Ticket, Duration>, Option<Change>) {
        if let Some(ticket) = self.pass() {
            return (Ok(ticket), None);
        }
        let now = nanos(now);
        if let Some(wait) = self.shut(now) {
            self.count_rejection();
            return (Err(wait), None);
        }
        let mut inner = self.inner.lock();
        let mut change = None;
        if inner.mode == Mode::Open && now >= self.until.load(Ordering::Relaxed) {
            change = Some(self.change(&mut inner, Mode::HalfOpen, now, 0, Cause::Elapsed));
        }
        let admitted = match inner.mode {
            Mode::Closed | Mode::HeldClosed => Ok(Ticket { epoch: inner.epoch, probe: 0 }),
            Mode::Open | Mode::HeldOpen => Err(()),
            Mode::HalfOpen => {
                inner.probes.retain(|probe| probe.lapses > now);
                if inner.probes.len() < self.probes() {
                    let probe = Probe {
                        number: inner.next_probe,
                        lapses: now.saturating_add(nanos(self.rules.probe_deadline)),
                    };
                    inner.next_probe += 1;
                    inner.probes.push(probe);
                    self.until.store(self.room_at(&inner), Ordering::Release);
                    Ok(Ticket { epoch: inner.epoch, probe: probe.number })
                } else {
                    Err(())
                }
            }
        };
        let admitted = admitted.map_err(|()| {
            self.count_rejection();
            self.wait(inner.mode, self.until.load(Ordering::Relaxed), now)
        });
        (admitted, change)
    }

    /// Counts a rejection that was decided outside.
    pub(super) fn count_rejection(&self) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a success with this ticket changes nothing, so that neither lock nor clock is needed.
    #[inline]
    pub(super) fn is_settled(&self, ticket: Ticket) -> bool {
        let word = self.word.load(Ordering::Acquire);
        let stale = epoch_of(word) != ticket.epoch;
        stale || (is_closed(word) && !self.counted && self.streak.load(Ordering::Relaxed) == 0)
    }

    /// Counts what a call has to say, if its epoch still runs, and frees its probe slot.
    pub(super) fn vote(&self, ticket: Ticket, ballot: Ballot, now: Duration) -> Option<Change> {
        if ballot.vote == Vote::Neutral {
            self.release(ticket);
            return None;
        }
        let now = nanos(now);
        let mut inner = self.inner.lock();
        if inner.epoch != ticket.epoch {
            return None;
        }
        let failed = ballot.vote == Vote::Failure;
        match inner.mode {
            Mode::Closed => self.count(&mut inner, failed, ballot, now),
            Mode::HalfOpen if failed => {
                inner.relapses = inner.relapses.saturating_add(1);
                self.raise_floor(&mut inner, ballot, now);
                Some(self.trip(&mut inner, now, Cause::ProbeFailed))
            }
            Mode::HalfOpen => {
                inner.relapses = 0;
                Some(self.change(&mut inner, Mode::Closed, now, 0, Cause::ProbeSucceeded))
            }
            Mode::Open | Mode::HeldOpen | Mode::HeldClosed => None,
        }
    }

    /// A failure seen outside of any call, such as by `poll_ready`: a vote in the epoch that runs now.
    pub(super) fn fail(&self, ballot: Ballot, now: Duration) -> Option<Change> {
        let epoch = epoch_of(self.word.load(Ordering::Acquire));
        self.vote(Ticket { epoch, probe: 0 }, ballot, now)
    }

    /// Takes a call back that has nothing to say: its probe slot is free again.
    #[inline]
    pub(super) fn release(&self, ticket: Ticket) {
        if ticket.is_probe() {
            self.free(ticket);
        }
    }

    #[cold]
    fn free(&self, ticket: Ticket) {
        let mut inner = self.inner.lock();
        if inner.epoch == ticket.epoch {
            inner.probes.retain(|probe| probe.number != ticket.probe);
            self.until.store(self.room_at(&inner), Ordering::Release);
        }
    }

    /// Holds the circuit open (`Some(true)`) or closed (`Some(false)`), or lets it go its own way again, closed.
    pub(super) fn force(&self, open: Option<bool>, now: Duration) -> Option<Change> {
        let (mode, until, cause) = match open {
            Some(true) => (Mode::HeldOpen, FOR_EVER, Cause::Forced),
            Some(false) => (Mode::HeldClosed, 0, Cause::Forced),
            None => (Mode::Closed, 0, Cause::Automatic),
        };
        let mut inner = self.inner.lock();
        let held = matches!(inner.mode, Mode::HeldClosed | Mode::HeldOpen);
        if inner.mode == mode || (open.is_none() && !held) {
            return None;
        }
        inner.relapses = 0;
        Some(self.change(&mut inner, mode, nanos(now), until, cause))
    }

    /// Begins a new epoch in `mode`, with fresh counters.
    fn change(&self, inner: &mut Inner, mode: Mode, now: u64, until: u64, cause: Cause) -> Change {
        let from = inner.mode.state();
        inner.mode = mode;
        inner.epoch += 1;
        inner.since = now;
        inner.floor = 0;
        inner.probes.clear();
        if let Some(window) = &mut inner.window {
            window.clear();
        }
        self.streak.store(0, Ordering::Relaxed);
        self.until.store(until, Ordering::Release);
        self.word.store(pack(inner.epoch, mode), Ordering::Release);
        Change { from, to: mode.state(), cause, epoch: inner.epoch }
    }

    /// When a half-open circuit has room for another probe: at once, or when the oldest one lapses.
    fn room_at(&self, inner: &Inner) -> u64 {
        if inner.probes.len() < self.probes() {
            return 0;
        }
        inner.probes.iter().map(|probe| probe.lapses).min().unwrap_or(0)
    }

    fn probes(&self) -> usize {
        usize::try_from(self.rules.probes).unwrap_or(usize::MAX)
    }
}

/// Nanoseconds since the start: enough for 584 years.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
