//! The future of a reply: waits in line, calls, hands the permit to the body.

use super::{
    ConcurrencyLimit, Overloaded, ResponseBody,
    permit::{Permit, Place},
};
use crate::{
    BoxError,
    classify::{Class, Classify, Head},
};
use http::{Extensions, Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::Instant;
use tower_service::Service;

pin_project! {
    /// The reply of a [`Concurrency`](super::Concurrency). Dropped at any point, it leaves the line and gives back what
    /// it holds.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, B, C>
    where
        S: Service<Request<B>>,
    {
        limit: ConcurrencyLimit,
        classifier: C,
        #[pin]
        stage: Stage<S, Request<B>, S::Future>,
    }
}

pin_project! {
    // The request lies where the call will: the two are never there at once.
    #[project = StageProj]
    #[project_replace = StageOwn]
    enum Stage<S, R, F> {
        Start { service: S, request: R },
        InLine { service: S, request: R, place: Place },
        Called { #[pin] future: F, permit: Option<Permit>, began: Option<Instant> },
        Over,
    }
}

impl<S: Service<Request<B>>, B, C> ResponseFuture<S, B, C> {
    #[inline]
    pub(super) fn new(service: S, request: Request<B>, limit: ConcurrencyLimit, classifier: C) -> Self {
        Self { limit, classifier, stage: Stage::Start { service, request } }
    }
}

impl<S: Service<Request<B>>, B, C> fmt::Debug for ResponseFuture<S, B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the request: it holds keys and prompts.
        f.debug_struct("ResponseFuture").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl<S, B, C, RB> Future for ResponseFuture<S, B, C>
where
    S: Service<Request<B>, Response = Response<RB>>,
    S::Error: Into<BoxError>,
    C: Classify,
    B: Body,
    RB: Body,
{
    type Output = Result<Response<ResponseBody<RB>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let permit = match this.stage.as_mut().project() {
                StageProj::Start { request, .. } => {
                    let weight = this.limit.weight(&request.body().size_hint());
                    match this.limit.try_enter(weight) {
                        Some(permit) => permit,
                        None => {
                            let wait = longest_wait(this.limit.queue_wait(), request.extensions());
                            let place = if wait.is_zero() { None } else { this.limit.line_up(weight, wait) };
                            let start = this.stage.as_mut().project_replace(Stage::Over);
                            let (StageOwn::Start { service, request }, Some(place)) = (start, place) else {
                                return Poll::Ready(Err(overloaded(this.limit, Duration::ZERO)));
                            };
                            this.stage.set(Stage::InLine { service, request, place });
                            continue;
                        }
                    }
                }
                StageProj::InLine { place, .. } => match ready!(place.poll(cx)) {
                    Some(permit) => permit,
                    None => {
                        let waited = place.since().elapsed();
                        this.stage.set(Stage::Over);
                        return Poll::Ready(Err(overloaded(this.limit, waited)));
                    }
                },
                StageProj::Called { future, permit, began } => {
                    let outcome = ready!(future.poll(cx)).map_err(Into::into);
                    let (permit, began) = (permit.take(), began.take());
                    this.stage.set(Stage::Over);
                    return Poll::Ready(finish(outcome, permit, began, this.classifier));
                }
                StageProj::Over => return Poll::Pending,
            };
            let began = this.limit.is_adaptive().then(Instant::now);
            let future = match this.stage.as_mut().project_replace(Stage::Over) {
                StageOwn::Start { mut service, request } | StageOwn::InLine { mut service, request, .. } => {
                    service.call(request)
                }
                StageOwn::Called { .. } | StageOwn::Over => return Poll::Pending,
            };
            this.stage.set(Stage::Called { future, permit: Some(permit), began });
        }
    }
}

/// What came of the call; the permit goes on with the body.
fn finish<RB: Body, C: Classify>(
    outcome: Result<Response<RB>, BoxError>,
    permit: Option<Permit>,
    mut began: Option<Instant>,
    classifier: &C,
) -> Result<Response<ResponseBody<RB>>, BoxError> {
    if let (Some(permit), Some(at)) = (&permit, began) {
        let class = match &outcome {
            Ok(reply) => classifier.head(Head::of(reply)).class,
            Err(error) => classifier.error(&**error).class,
        };
        match class {
            // Only its first content says how crowded the service is.
            Class::Success => {}
            Class::RateLimited => {
                permit.limit().crowded(at);
                began = None;
            }
            _ => began = None,
        }
    }
    outcome.map(|reply| reply.map(|body| ResponseBody::new(body, permit, began)))
}

fn overloaded(limit: &ConcurrencyLimit, waited: Duration) -> BoxError {
    Overloaded { limit: limit.limit(), waited }.into()
}

/// How long a call may wait in line: `queue_wait`, and no longer than its deadline.
#[cfg(feature = "deadline")]
fn longest_wait(queue_wait: Duration, extensions: &Extensions) -> Duration {
    crate::deadline::Deadline::of(extensions)
        .map_or(queue_wait, |deadline| deadline.remaining().min(queue_wait))
}

/// How long a call may wait in line.
#[cfg(not(feature = "deadline"))]
fn longest_wait(queue_wait: Duration, _: &Extensions) -> Duration {
    queue_wait
}
