//! What can be asked of the state machine. But for [`snapshot`](Machine::snapshot), without its lock.

use super::{
    super::{observe::State, sync::Ordering},
    Machine, Snapshot, nanos,
    word::{Mode, is_closed, mode_of},
};
use std::time::Duration;

/// What a call is told that comes while all probes are on their way: nobody knows when they will end.
const A_MOMENT: Duration = Duration::from_secs(1);

impl Machine {
    pub(in super::super) fn state(&self, now: Duration) -> State {
        let word = self.word.load(Ordering::Acquire);
        match mode_of(word) {
            Mode::Open if nanos(now) >= self.until.load(Ordering::Acquire) => State::HalfOpen,
            mode => mode.state(),
        }
    }

    /// For how long calls are rejected yet; `None`: the next one passes.
    pub(in super::super) fn retry_in(&self, now: Duration) -> Option<Duration> {
        if is_closed(self.word.load(Ordering::Acquire)) { None } else { self.shut(nanos(now)) }
    }

    pub(in super::super) fn snapshot(&self, now: Duration) -> Snapshot {
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
    pub(super) fn shut(&self, now: u64) -> Option<Duration> {
        let word = self.word.load(Ordering::Acquire);
        let until = self.until.load(Ordering::Acquire);
        // `word` and `until` are two loads. A transition between them can at worst turn away a call that came while it
        // was under way; never let one through, since passing is decided under the lock.
        (!is_closed(word) && now < until).then(|| self.wait(mode_of(word), until, now))
    }

    pub(super) fn wait(&self, mode: Mode, until: u64, now: u64) -> Duration {
        let left = Duration::from_nanos(until.saturating_sub(now));
        match mode {
            Mode::HeldOpen => self.rules.open_for,
            Mode::HalfOpen => left.min(A_MOMENT).min(self.rules.open_for),
            _ => left,
        }
    }
}
