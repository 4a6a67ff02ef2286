//! The state machine: admit, vote, release, force. Plain and synchronous, the time is an argument.
//!
//! Every transition begins an *epoch*. A call carries the epoch it was admitted in, and what it says later counts only
//! in that epoch: a success from before the trip closes nothing, a straggler from before the closing opens nothing.
//!
//! `word` holds epoch and mode, so that a closed circuit admits with one load. `until` is the moment before which
//! nobody passes a circuit that is not closed, so that rejections take no lock either. Both are written under the lock
//! only, `until` first.

use super::{
    config::Rules,
    observe::{Cause, State},
    sync::{AtomicU32, AtomicU64, Mutex, Ordering},
    window::{Counts, Window},
};
use crate::classify::Vote;
use std::time::Duration;

/// What a call is told that comes while all probes are on their way: nobody knows when they will end.
const A_MOMENT: Duration = Duration::from_secs(1);
const FOR_EVER: u64 = u64::MAX;
const MODE_BITS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Closed = 0,
    HalfOpen = 1,
    Open = 2,
    HeldClosed = 3,
    HeldOpen = 4,
}

impl Mode {
    fn state(self) -> State {
        match self {
            Mode::Closed | Mode::HeldClosed => State::Closed,
            Mode::HalfOpen => State::HalfOpen,
            Mode::Open | Mode::HeldOpen => State::Open,
        }
    }
}

/// What an admitted call carries until it votes or leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    epoch: u64,
    /// The number of the probe; 0: no probe.
    probe: u64,
}

impl Ticket {
    pub(super) fn is_probe(self) -> bool {
        self.probe != 0
    }
}

/// What a call has to say at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ballot {
    pub(super) vote: Vote,
    pub(super) slow: bool,
    pub(super) wait: Option<Duration>,
}

/// A transition that has just taken place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) from: State,
    pub(super) to: State,
    pub(super) cause: Cause,
    pub(super) epoch: u64,
}

/// Counters at one moment; times since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) state: State,
    pub(super) streak: u32,
    pub(super) opened: u64,
    pub(super) rejected: u64,
    pub(super) since: Duration,
    pub(super) retry_in: Option<Duration>,
    pub(super) probes: u32,
    pub(super) forced: bool,
}

pub(super) struct Machine {
    rules: Rules,
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
            word: AtomicU64::new(Mode::Closed as u64),
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
        is_closed(word).then_some(Ticket { epoch: word >> MODE_BITS, probe: 0 })
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
        let stale = word >> MODE_BITS != ticket.epoch;
        let counted = self.rules.failure_rate.is_some() || self.rules.slow_rate.is_some();
        stale || (is_closed(word) && !counted && self.streak.load(Ordering::Relaxed) == 0)
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
        let epoch = self.word.load(Ordering::Acquire) >> MODE_BITS;
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

    pub(super) fn state(&self, now: Duration) -> State {
        let word = self.word.load(Ordering::Acquire);
        match mode_of(word) {
            Mode::Open if nanos(now) >= self.until.load(Ordering::Acquire) => State::HalfOpen,
            mode => mode.state(),
        }
    }

    /// For how long calls are rejected yet; `None`: the next one passes.
    pub(super) fn retry_in(&self, now: Duration) -> Option<Duration> {
        if is_closed(self.word.load(Ordering::Acquire)) { None } else { self.shut(nanos(now)) }
    }

    pub(super) fn snapshot(&self, now: Duration) -> Snapshot {
        let at = nanos(now);
        let inner = self.inner.lock();
        Snapshot {
            state: self.state(now),
            streak: self.streak.load(Ordering::Relaxed),
            opened: inner.opened,
            rejected: self.rejected.load(Ordering::Relaxed),
            since: Duration::from_nanos(inner.since),
            retry_in: self.retry_in(now),
            probes: inner.probes.iter().filter(|probe| probe.lapses > at).count() as u32,
            forced: matches!(inner.mode, Mode::HeldClosed | Mode::HeldOpen),
        }
    }

    /// The wait that a circuit that is not closed imposes now, if it does. Takes no lock.
    fn shut(&self, now: u64) -> Option<Duration> {
        let word = self.word.load(Ordering::Acquire);
        let until = self.until.load(Ordering::Acquire);
        // `word` and `until` are two loads. A transition between them can at worst turn away a call that came while it
        // was under way; never let one through, since passing is decided under the lock.
        (!is_closed(word) && now < until).then(|| self.wait(mode_of(word), until, now))
    }

    fn wait(&self, mode: Mode, until: u64, now: u64) -> Duration {
        let left = Duration::from_nanos(until.saturating_sub(now));
        match mode {
            Mode::HeldOpen => self.rules.open_for,
            Mode::HalfOpen => left.min(A_MOMENT).min(self.rules.open_for),
            _ => left,
        }
    }

    fn count(&self, inner: &mut Inner, failed: bool, ballot: Ballot, now: u64) -> Option<Change> {
        let streak = if failed { self.streak.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
        self.streak.store(streak, Ordering::Relaxed);
        if failed {
            self.raise_floor(inner, ballot, now);
        } else {
            inner.floor = 0;
        }
        let counts = match &mut inner.window {
            Some(window) => window.record(now, failed, ballot.slow),
            None => Counts::default(),
        };
        let enough = counts.calls >= self.rules.min_calls;
        let over = |part: u32, rate: Option<f64>| {
            enough && rate.is_some_and(|rate| f64::from(part) >= rate * f64::from(counts.calls))
        };
        let cause = if failed && self.rules.failures > 0 && streak >= self.rules.failures {
            Cause::Failures
        } else if over(counts.failures, self.rules.failure_rate) {
            Cause::FailureRate
        } else if over(counts.slow, self.rules.slow_rate) {
            Cause::SlowRate
        } else {
            return None;
        };
        Some(self.trip(inner, now, cause))
    }

    fn raise_floor(&self, inner: &mut Inner, ballot: Ballot, now: u64) {
        if let Some(wait) = ballot.wait {
            inner.floor = inner.floor.max(now.saturating_add(nanos(wait.min(self.rules.max_wait))));
        }
    }

    fn trip(&self, inner: &mut Inner, now: u64, cause: Cause) -> Change {
        let grown = self.rules.open_for.as_secs_f64() * self.rules.growth.powi(inner.relapses);
        let mut open_for = match Duration::try_from_secs_f64(grown) {
            // Exactly as it was set where nothing grows: no rounding on the way through floats.
            _ if self.rules.growth == 1.0 => self.rules.open_for,
            Ok(grown) => grown.min(self.rules.max_open_for),
            Err(_) => self.rules.max_open_for,
        };
        if self.rules.jitter > 0.0 {
            open_for = open_for.saturating_add(
                Duration::try_from_secs_f64(open_for.as_secs_f64() * self.rules.jitter * fastrand::f64())
                    .unwrap_or_default(),
            );
        }
        let until = now.saturating_add(nanos(open_for)).max(inner.floor);
        inner.opened += 1;
        self.change(inner, Mode::Open, now, until, cause)
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
        self.word.store(inner.epoch << MODE_BITS | mode as u64, Ordering::Release);
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

fn is_closed(word: u64) -> bool {
    matches!(mode_of(word), Mode::Closed | Mode::HeldClosed)
}

fn mode_of(word: u64) -> Mode {
    match word & ((1 << MODE_BITS) - 1) {
        1 => Mode::HalfOpen,
        2 => Mode::Open,
        3 => Mode::HeldClosed,
        4 => Mode::HeldOpen,
        _ => Mode::Closed,
    }
}

/// Nanoseconds since the start: enough for 584 years.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
