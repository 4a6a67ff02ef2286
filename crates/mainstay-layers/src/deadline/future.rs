//! The wait for the head.

use super::{Deadline, DeadlineBody, DeadlineExceeded};
use crate::{BoxError, timer::Timer};
use http::Response;
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project! {
    /// The future of [`WithDeadline`](super::WithDeadline). The inner future is dropped as soon as the deadline has
    /// passed. Pending for ever once it has given its result.
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        inner: Option<F>,
        rejected: Option<DeadlineExceeded>,
        limit: Option<Limit>,
    }
}

/// A deadline with the timer that watches it.
#[derive(Debug)]
pub(super) struct Limit {
    deadline: Deadline,
    timer: Timer,
}

impl Limit {
    pub(super) fn new(deadline: Deadline) -> Self {
        Self { deadline, timer: Timer::default() }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<BoxError> {
        self.timer.arm_by(self.deadline.instant());
        ready!(self.timer.poll(cx));
        Poll::Ready(DeadlineExceeded::new().into())
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn new(inner: F, deadline: Option<Deadline>) -> Self {
        Self { inner: Some(inner), rejected: None, limit: deadline.map(Limit::new) }
    }

    pub(super) fn rejected(error: DeadlineExceeded) -> Self {
        Self { inner: None, rejected: Some(error), limit: None }
    }
}

impl<F, E, R> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    E: Into<BoxError>,
{
    type Output = Result<Response<DeadlineBody<R>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(error) = this.rejected.take() {
            return Poll::Ready(Err(error.into()));
        }
        let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Pending };
        let result = match (inner.poll(cx), this.limit.as_mut()) {
            (Poll::Ready(result), _) => result.map_err(Into::into),
            (Poll::Pending, Some(limit)) => Err(ready!(limit.poll(cx))),
            (Poll::Pending, None) => return Poll::Pending,
        };
        this.inner.set(None);
        let limit = this.limit.take();
        Poll::Ready(result.map(|reply| reply.map(|body| DeadlineBody::with_limit(body, limit))))
    }
}
