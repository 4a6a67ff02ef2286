//! The handle on a limit.

use super::{
    Config,
    adaptive::{Adaptive, Progress},
    permit::{Permit, Place},
};
use http_body::SizeHint;
use parking_lot::Mutex;
use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

/// A handle on one limit. Clones share it; so do all clones of a layer made with it.
#[derive(Clone)]
pub struct ConcurrencyLimit {
    shared: Arc<Shared>,
}

struct Shared {
    calls: Semaphore,
    bytes: Option<(Semaphore, u32)>,
    queue_wait: Duration,
    max_waiting: usize,
    waiting: AtomicUsize,
    in_flight: AtomicUsize,
    limit: AtomicUsize,
    /// Permits in use that must not come back, since the limit was lowered meanwhile.
    debt: AtomicUsize,
    adaptive: Option<Adaptive>,
    /// Also guards changes of the limit.
    progress: Mutex<Progress>,
}

impl ConcurrencyLimit {
    /// At most `limit` calls in flight, with the defaults of [`Config`].
    pub fn new(limit: usize) -> Self {
        Self::of(Config::new(limit))
    }

    pub(super) fn of(config: Config) -> Self {
        let limit = config.adaptive.as_ref().map_or(config.limit, |rules| rules.clamp(config.limit));
        let limit = limit.min(Semaphore::MAX_PERMITS);
        let shared = Shared {
            calls: Semaphore::new(limit),
            bytes: config.request_bytes.map(|most| {
                let permits = usize::try_from(most).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
                (Semaphore::new(permits), most)
            }),
            queue_wait: config.queue_wait,
            max_waiting: config.max_waiting,
            waiting: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit),
            debt: AtomicUsize::new(0),
            adaptive: config.adaptive,
            progress: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// How many calls may be in flight.
    pub fn limit(&self) -> usize {
        self.shared.limit.load(Ordering::Relaxed)
    }

    /// Whether there is a limit on calls at all: one that is larger than any machine is none, and only counts.
    pub fn is_bounded(&self) -> bool {
        self.shared.adaptive.is_some() || self.limit() < Semaphore::MAX_PERMITS
    }

    /// How it adapts itself, if it does.
    pub fn adaptive(&self) -> Option<&Adaptive> {
        self.shared.adaptive.as_ref()
    }

    /// The request bytes of all calls in flight, and how many there may be, if they are limited.
    pub fn request_bytes(&self) -> Option<(u32, u32)> {
        let (bytes, most) = self.shared.bytes.as_ref()?;
        let free = u32::try_from(bytes.available_permits()).unwrap_or(u32::MAX);
        Some((most.saturating_sub(free), *most))
    }

    /// Whether both are handles on the same limit.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// How many calls are in flight: sent, and their reply's body has not ended.
    pub fn in_flight(&self) -> usize {
        self.shared.in_flight.load(Ordering::Relaxed)
    }

    /// How many calls wait in line.
    pub fn waiting(&self) -> usize {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// Changes the limit; 0 is taken as 1, an adaptive limit stays between its floor and its ceiling. Calls in flight
    /// stay: a lower limit holds as soon as enough of them have ended.
    pub fn set_limit(&self, limit: usize) {
        let _guard = self.shared.progress.lock();
        let limit = self.shared.adaptive.as_ref().map_or(limit.max(1), |rules| rules.clamp(limit));
        self.resize(limit);
    }

    pub(super) fn queue_wait(&self) -> Duration {
        self.shared.queue_wait
    }

    /// As how many bytes a body of this size counts.
    pub(super) fn weight(&self, size: &SizeHint) -> u32 {
        let Some((_, most)) = &self.shared.bytes else { return 0 };
        let bytes = size.upper().unwrap_or(size.lower());
        u32::try_from(bytes).unwrap_or(u32::MAX).min(*most)
    }

    /// Enters if there is room now. The semaphores give free permits to those in line first, so this overtakes nobody.
    pub(super) fn try_enter(&self, weight: u32) -> Option<Permit> {
        let calls = self.shared.calls.try_acquire().ok()?;
        if let Some((bytes, _)) = &self.shared.bytes {
            bytes.try_acquire_many(weight).ok()?.forget();
        }
        calls.forget();
        Some(Permit::new(self.clone(), weight))
    }

    /// A place in line for at most `wait`, if the line is not full.
    pub(super) fn line_up(&self, weight: u32, wait: Duration) -> Option<Place> {
        let most = self.shared.max_waiting;
        let place = self.shared.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |waiting| {
            (waiting < most).then_some(waiting + 1)
        });
        place.is_ok().then(|| Place::new(self.clone(), Box::pin(self.clone().enter(weight, wait))))
    }

    /// `None`: the time is up.
    async fn enter(self, weight: u32, wait: Duration) -> Option<Permit> {
        let (mut entered, mut over) = (pin!(self.take(weight)), pin!(sleep(wait)));
        let entered = poll_fn(|cx| match entered.as_mut().poll(cx) {
            // The permit first: one that came in time is good, however late we look.
            Poll::Ready(taken) => Poll::Ready(taken),
            Poll::Pending => over.as_mut().poll(cx).map(|()| None),
        });
        entered.await.map(|()| Permit::new(self.clone(), weight))
    }

    /// Takes a place and the bytes, for whoever gives them back: what is dropped half-way has taken nothing.
    async fn take(&self, weight: u32) -> Option<()> {
        // Neither semaphore is ever closed, so this never fails.
        let calls = self.shared.calls.acquire().await.ok()?;
        if let Some((bytes, _)) = &self.shared.bytes {
            bytes.acquire_many(weight).await.ok()?.forget();
        }
        calls.forget();
        Some(())
    }

    /// Somebody left the line, one way or the other.
    pub(super) fn leave_line(&self) {
        self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// One more call is in flight.
    pub(super) fn begin(&self) {
        self.shared.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    /// A call that took a place and so many bytes has ended.
    pub(super) fn end(&self, weight: u32) {
        // Before the permit is back, so that those it lets in never make the count exceed the limit.
        self.shared.in_flight.fetch_sub(1, Ordering::Relaxed);
        if !self.pay() {
            self.shared.calls.add_permits(1);
        }
        if let Some((bytes, _)) = &self.shared.bytes {
            bytes.add_permits(weight as usize);
        }
    }

    /// Whether calls are to be measured.
    pub(super) fn is_adaptive(&self) -> bool {
        self.shared.adaptive.is_some()
    }

    /// A call that began at `began` gave its first content now.
    pub(super) fn answered(&self, began: Instant) {
        let Some(rules) = &self.shared.adaptive else { return };
        if rules.is_slow(began.elapsed()) {
            return self.crowded(began);
        }
        let mut progress = self.shared.progress.lock();
        if let Some(limit) = progress.good(rules, self.limit(), self.in_flight()) {
            self.resize(limit);
        }
    }

    /// A call that began at `began` was told to slow down, or was slow.
    pub(super) fn crowded(&self, began: Instant) {
        let Some(rules) = &self.shared.adaptive else { return };
        let mut progress = self.shared.progress.lock();
        if let Some(limit) = progress.crowded(rules, self.limit(), began) {
            self.resize(limit);
        }
    }

    /// Only with `progress` locked.
    fn resize(&self, limit: usize) {
        let shared = &*self.shared;
        let limit = limit.min(Semaphore::MAX_PERMITS);
        let before = shared.limit.swap(limit, Ordering::Relaxed);
        if limit < before {
            let forgotten = shared.calls.forget_permits(before - limit);
            shared.debt.fetch_add(before - limit - forgotten, Ordering::Relaxed);
        } else {
            let mut more = limit - before;
            // What is still owed is forgiven first.
            while more > 0 && self.pay() {
                more -= 1;
            }
            shared.calls.add_permits(more);
        }
    }

    /// Takes one off the debt, if there is any.
    #[inline]
    fn pay(&self) -> bool {
        let debt = &self.shared.debt;
        debt.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |debt| debt.checked_sub(1)).is_ok()
    }
}

impl fmt::Debug for ConcurrencyLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConcurrencyLimit")
            .field("limit", &self.limit())
            .field("in_flight", &self.in_flight())
            .field("waiting", &self.waiting())
            .finish()
    }
}
