//! The future of a reply.

use super::{CircuitOpen, ResponseBody, pace::Pace, permit::Permit};
use crate::{
    BoxError,
    classify::{Classify, Head, Vote},
};
use http::Response;
use http_body::Body;
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project! {
    /// The reply of a [`CircuitBreakerService`](super::CircuitBreakerService): ready at once with
    /// [`CircuitOpen`] where the circuit was open. Dropped, it is no vote.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, C> {
        #[pin]
        kind: Kind<F>,
        classifier: C,
    }
}

pin_project! {
    #[project = KindProj]
    #[derive(Debug)]
    enum Kind<F> {
        Called { #[pin] future: F, permit: Option<Permit>, pace: Pace },
        Rejected { open: Option<CircuitOpen> },
    }
}

impl<F, C> ResponseFuture<F, C> {
    pub(super) fn new(future: F, permit: Permit, pace: Pace, classifier: C) -> Self {
        Self { kind: Kind::Called { future, permit: Some(permit), pace }, classifier }
    }

    pub(super) fn rejected(open: CircuitOpen, classifier: C) -> Self {
        Self { kind: Kind::Rejected { open: Some(open) }, classifier }
    }
}

impl<F, C, B, E> Future for ResponseFuture<F, C>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: Into<BoxError>,
    C: Classify + Clone,
    B: Body,
{
    type Output = Result<Response<ResponseBody<B, C>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let (future, permit, pace) = match this.kind.project() {
            KindProj::Called { future, permit, pace } => (future, permit, pace),
            KindProj::Rejected { open } => {
                return match open.take() {
                    Some(open) => Poll::Ready(Err(open.into())),
                    None => Poll::Pending,
                };
            }
        };
        let reply = match ready!(future.poll(cx)) {
            Ok(reply) => reply,
            Err(error) => {
                let error = error.into();
                if let Some(permit) = permit.take() {
                    let verdict = this.classifier.error(&*error);
                    permit.cast(verdict.vote(), verdict.wait, pace.content());
                }
                return Poll::Ready(Err(error));
            }
        };
        pace.head(reply.extensions());
        let (vote, wait) = this.classifier.vote(Head::of(&reply));
        // A head that is no success has said all there is to say. A success is one only when its body has ended well.
        let over = vote != Vote::Success || reply.body().is_end_stream();
        if over {
            if let Some(permit) = permit.take() {
                permit.cast(vote, wait, pace.content());
            }
        }
        let (permit, pace, classifier) = (permit.take(), *pace, this.classifier.clone());
        Poll::Ready(Ok(reply.map(|body| ResponseBody::new(body, permit, pace, classifier))))
    }
}
