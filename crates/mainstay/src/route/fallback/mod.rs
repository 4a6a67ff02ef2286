//! One call over a route's targets until one answers.

mod order;
mod race;
mod refusal;
mod run;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_budget;
#[cfg(test)]
mod tests_choice;
#[cfg(test)]
mod tests_hedge;

pub(super) use self::refusal::Refusal;
pub(super) use self::run::{Outcome, Run, ask};

use super::{
    attempt::{Observe, TargetName},
    cache::{AnswerCache, cached},
    options::{Failover, Hedge, Sticky, Strategy, WhenExhausted},
    target::{ReplyBody, Target},
};
use crate::body::RequestBody;
use http::{Request, Response};
use mainstay_layers::BoxError;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tower_service::Service;

/// Who answered, in the extensions of a reply.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Served {
    /// The target that answered.
    pub target: Arc<TargetName>,
    /// The model that was asked of it.
    pub model: Arc<str>,
    /// How many tries were made, at all targets.
    pub tries: u32,
}

/// Asks one target after another until one answers.
///
/// Always ready: a target's own readiness is driven when it is asked, and an open circuit or a cooling target is passed by
/// in nanoseconds. The caller's own mistakes go back at once; see the table of
/// [`Class`](mainstay_layers::classify::Class). A request body is held in memory, so each target gets the whole of it.
///
/// To go on to another target after a failed try takes from the failed target's budget, so that retries and hedges there
/// yield first, but is never refused for lack of tokens; see [`Target::with_budget`]. A target whose
/// [`Capabilities`](super::Capabilities) rule the call out is passed by. A [`Deadline`](mainstay_layers::deadline::Deadline)
/// in the request's extensions ends all of it.
///
/// # Errors
/// [`CallFailed`](super::CallFailed), boxed, if none answers; with [`Incapable`](super::Incapable) as its source where no
/// target can do what the call asks for.
#[derive(Clone)]
pub struct Fallback(Arc<Settings>);

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) targets: Arc<[Target]>,
    pub(super) observer: Arc<dyn Observe>,
    pub(super) recovery: bool,
    pub(super) strategy: Strategy,
    pub(super) sticky: Option<Sticky>,
    pub(super) failover: Failover,
    pub(super) exhausted: WhenExhausted,
    pub(super) hedge: Option<Hedge>,
    pub(super) cache: Option<AnswerCache>,
}

impl Fallback {
    /// Asks `targets` in this order.
    pub fn new(targets: impl Into<Arc<[Target]>>) -> Self {
        Self(Arc::new(Settings {
            targets: targets.into(),
            observer: Arc::new(()),
            recovery: false,
            strategy: Strategy::default(),
            sticky: None,
            failover: Failover::default(),
            exhausted: WhenExhausted::default(),
            hedge: None,
            cache: None,
        }))
    }

    /// Tells `observer` when a call goes on to another target.
    #[must_use]
    pub fn with_observer(self, observer: Arc<dyn Observe>) -> Self {
        self.with(|settings| settings.observer = observer)
    }

    /// Lets the next target go on where a stream of text was cut; see [`RecoverBody`](super::RecoverBody). Default:
    /// `false`.
    #[must_use]
    pub fn with_recovery(self, recovery: bool) -> Self {
        self.with(|settings| settings.recovery = recovery)
    }

    /// In which order they are asked. Default [`Strategy::Order`].
    #[must_use]
    pub fn with_strategy(self, strategy: Strategy) -> Self {
        self.with(|settings| settings.strategy = strategy)
    }

    /// What keeps a caller's calls at one target where the strategy has a choice. Default: nothing.
    #[must_use]
    pub fn with_sticky(self, sticky: impl Into<Option<Sticky>>) -> Self {
        self.with(|settings| settings.sticky = sticky.into())
    }

    /// When the next target is asked. Default [`Failover::AfterRetries`].
    #[must_use]
    pub fn with_failover(self, failover: Failover) -> Self {
        self.with(|settings| settings.failover = failover)
    }

    /// What happens while every target is open or cooling. Default [`WhenExhausted::Fail`].
    #[must_use]
    pub fn when_exhausted(self, exhausted: WhenExhausted) -> Self {
        self.with(|settings| settings.exhausted = exhausted)
    }

    /// Starts another target while no content has come. Default: off.
    #[must_use]
    pub fn with_hedge(self, hedge: impl Into<Option<Hedge>>) -> Self {
        self.with(|settings| settings.hedge = hedge.into())
    }

    /// Keeps whole answers for the time in which every target fails. Default: none.
    #[must_use]
    pub fn with_cache(self, cache: impl Into<Option<AnswerCache>>) -> Self {
        self.with(|settings| settings.cache = cache.into())
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// The targets, in order.
    pub fn targets(&self) -> &[Target] {
        &self.0.targets
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.0
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback")
            .field("targets", &self.0.targets)
            .field("recovery", &self.0.recovery)
            .finish_non_exhaustive()
    }
}

impl Service<Request<RequestBody>> for Fallback {
    type Response = Response<ReplyBody>;
    type Error = BoxError;
    type Future = FallbackFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> FallbackFuture {
        // Boxed: it is handed from one to the next, as far as to the body of a reply that may have to be gone on with.
        let run = Box::new(Run::new(self.clone(), request));
        let answered = |outcome: Result<_, Box<_>>| outcome.map_err(|failed| failed as BoxError);
        FallbackFuture(match self.0.cache.clone() {
            None => Box::pin(async move { answered(run.answered().await) }),
            Some(cache) => Box::pin(async move { answered(cached(cache, run).await) }),
        })
    }
}

/// The future of [`Fallback`].
pub struct FallbackFuture(Pin<Box<dyn Future<Output = Result<Response<ReplyBody>, BoxError>> + Send>>);

impl fmt::Debug for FallbackFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FallbackFuture")
    }
}

impl Future for FallbackFuture {
    type Output = Result<Response<ReplyBody>, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}
