//! One call over a route's targets until one answers.

mod refusal;
mod run;

#[cfg(test)]
mod tests;

pub(super) use self::refusal::Refusal;
pub(super) use self::run::{Outcome, Run, ask};

use super::{
    attempt::{Observe, TargetName},
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
/// # Errors
/// [`CallFailed`](super::CallFailed), boxed, if none answers.
#[derive(Clone)]
pub struct Fallback(Arc<Settings>);

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) targets: Arc<[Target]>,
    pub(super) observer: Arc<dyn Observe>,
    pub(super) recovery: bool,
}

impl Fallback {
    /// Asks `targets` in this order.
    pub fn new(targets: impl Into<Arc<[Target]>>) -> Self {
        Self(Arc::new(Settings { targets: targets.into(), observer: Arc::new(()), recovery: false }))
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
        let run = Run::new(self.clone(), request);
        FallbackFuture(Box::pin(async move { run.first().await.map_err(|failed| failed as BoxError) }))
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
