//! The handle on a circuit: shared by all who use it, and by those who watch it.

use super::{
    config::Config,
    error::CircuitOpen,
    machine::{Ballot, Change, Machine, Ticket},
    observe::{Cause, Metrics, State, Transition},
    permit::Permit,
};
use crate::classify::Vote;
use std::{fmt, sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

pub(super) type Observer = Arc<dyn Fn(&Transition) + Send + Sync>;

/// A handle on one circuit. Clones share it; so do all clones of a layer made with it.
///
/// It shows the state, opens and closes the circuit by hand, and lets a call be tried without any HTTP:
///
/// ```
/// use mainstay_layers::breaker::{CircuitBreaker, State};
///
/// let breaker = CircuitBreaker::new("search");
/// for _ in 0..5 {
///     breaker.try_enter()?.failure(None);
/// }
/// assert_eq!(breaker.state(), State::Open);
/// assert!(breaker.try_enter().is_err());
/// # Ok::<(), mainstay_layers::breaker::CircuitOpen>(())
/// ```
#[derive(Clone)]
pub struct CircuitBreaker {
    shared: Arc<Shared>,
}

struct Shared {
    machine: Machine,
    name: Arc<str>,
    start: Instant,
    slow_after: Option<Duration>,
    observers: Vec<Observer>,
    latest: watch::Sender<Transition>,
}

impl CircuitBreaker {
    /// A closed circuit with the defaults of [`Config`].
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self::of(name.into(), Config::new())
    }

    pub(super) fn of(name: Arc<str>, config: Config) -> Self {
        let first = Transition {
            name: name.clone(),
            from: State::Closed,
            to: State::Closed,
            cause: Cause::Start,
            serial: 0,
        };
        let shared = Shared {
            machine: Machine::new(config.rules),
            name,
            start: Instant::now(),
            slow_after: config.slow_after,
            observers: config.observers,
            latest: watch::Sender::new(first),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The name it was made with.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The state as the next call will find it: an open circuit whose time is up reads
    /// [`HalfOpen`](State::HalfOpen). Takes no lock.
    pub fn state(&self) -> State {
        self.shared.machine.state(self.now())
    }

    /// Its counters now.
    pub fn metrics(&self) -> Metrics {
        let seen = self.shared.machine.snapshot(self.now());
        Metrics {
            state: seen.state,
            failures_in_a_row: seen.streak,
            opened_total: seen.opened,
            rejected_total: seen.rejected,
            since: self.shared.start + seen.since,
            retry_in: seen.retry_in,
            probes_in_flight: seen.probes,
            forced: seen.forced,
        }
    }

    /// Whether a call that came now would pass. Takes nothing and changes nothing, costs nanoseconds: for a fallback
    /// that wants to skip a target.
    #[inline]
    pub fn would_admit(&self) -> bool {
        self.retry_in().is_none()
    }

    /// For how long calls are rejected yet; `None`: the next one passes. Costs what
    /// [`would_admit`](Self::would_admit) costs.
    #[inline]
    pub fn retry_in(&self) -> Option<Duration> {
        if self.shared.machine.pass().is_some() {
            return None;
        }
        self.shared.machine.retry_in(self.now())
    }

    /// Opens the circuit and holds it open, whatever happens, until [`force_close`](Self::force_close) or
    /// [`automatic`](Self::automatic). Rejected calls are told to come again after `open_for`.
    pub fn force_open(&self) {
        self.tell(self.shared.machine.force(Some(true), self.now()));
    }

    /// Closes the circuit and holds it closed, whatever happens, until [`force_open`](Self::force_open) or
    /// [`automatic`](Self::automatic).
    pub fn force_close(&self) {
        self.tell(self.shared.machine.force(Some(false), self.now()));
    }

    /// Ends [`force_open`](Self::force_open) and [`force_close`](Self::force_close): the circuit starts closed, with
    /// fresh counters, and goes its own way. Does nothing to a circuit that is not held.
    pub fn automatic(&self) {
        self.tell(self.shared.machine.force(None, self.now()));
    }

    /// Watches its transitions: the latest one is kept, earlier ones that were not looked at in time are skipped (their
    /// serials show it). Never slows a call down. See also [`Config::with_observer`].
    pub fn subscribe(&self) -> watch::Receiver<Transition> {
        self.shared.latest.subscribe()
    }

    /// Asks for a call to pass. The permit must travel with the call and say at its end what became of it; dropped, it
    /// says nothing and gives its probe slot back.
    ///
    /// # Errors
    /// The circuit is open.
    #[inline]
    pub fn try_enter(&self) -> Result<Permit, CircuitOpen> {
        let ticket = match self.shared.machine.pass() {
            Some(ticket) => ticket,
            None => self.admit()?,
        };
        Ok(Permit::new(self.clone(), ticket))
    }

    #[cold]
    fn admit(&self) -> Result<Ticket, CircuitOpen> {
        let (admitted, change) = self.shared.machine.admit(self.now());
        self.tell(change);
        admitted.map_err(|retry_in| CircuitOpen::new(self.shared.name.clone(), retry_in))
    }

    /// Rejects a call that was found unwelcome before it came.
    pub(super) fn reject(&self) -> CircuitOpen {
        self.shared.machine.count_rejection();
        CircuitOpen::new(self.shared.name.clone(), self.retry_in().unwrap_or_default())
    }

    // Apart: the success of a call on a well circuit, where no rate is taken, does not come here.
    #[inline(never)]
    pub(super) fn count(&self, ticket: Ticket, ballot: Ballot) {
        self.tell(self.shared.machine.vote(ticket, ballot, self.now()));
    }

    /// A vote outside of any call.
    pub(super) fn cast(&self, vote: Vote, wait: Option<Duration>) {
        if vote == Vote::Failure {
            let ballot = Ballot { vote, slow: false, wait };
            self.tell(self.shared.machine.fail(ballot, self.now()));
        }
    }

    #[inline]
    pub(super) fn machine(&self) -> &Machine {
        &self.shared.machine
    }

    /// Whether anybody else holds this circuit.
    pub(super) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    /// After which time a first content is slow, if that is counted.
    #[inline]
    pub(super) fn slow_after(&self) -> Option<Duration> {
        self.shared.slow_after
    }

    /// Nanoseconds since it was made: enough for 584 years.
    pub(super) fn nanos(&self) -> u64 {
        u64::try_from(self.now().as_nanos()).unwrap_or(u64::MAX)
    }

    fn now(&self) -> Duration {
        Instant::now().saturating_duration_since(self.shared.start)
    }

    #[inline]
    fn tell(&self, change: Option<Change>) {
        if let Some(change) = change {
            self.announce(change);
        }
    }

    #[cold]
    fn announce(&self, Change { from, to, cause, epoch }: Change) {
        let shared = &*self.shared;
        if to == State::Open {
            tracing::warn!(breaker = %shared.name, %from, %to, %cause, "circuit opened");
        } else {
            tracing::info!(breaker = %shared.name, %from, %to, %cause, "circuit changed");
        }
        let transition = Transition { name: shared.name.clone(), from, to, cause, serial: epoch };
        // Two threads may come here in the wrong order: the later transition stays.
        shared.latest.send_if_modified(|latest| {
            let newer = transition.serial > latest.serial;
            if newer {
                *latest = transition.clone();
            }
            newer
        });
        for observer in &shared.observers {
            observer(&transition);
        }
    }
}

impl fmt::Debug for CircuitBreaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitBreaker").field("name", &self.name()).field("state", &self.state()).finish()
    }
}
