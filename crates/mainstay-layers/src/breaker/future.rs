//! The future of a reply.

use super::{CircuitOpen, ResponseBody, call::Call};
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
    task::{Context, Poll},
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
        Called { #[pin] future: F, call: Option<Call> },
        Rejected { open: Option<CircuitOpen> },
    }
}

impl<F, C> ResponseFuture<F, C> {
    #[inline]
    pub(super) fn new(future: F, call: Call, classifier: C) -> Self {
        Self { kind: Kind::Called { future, call: Some(call) }, classifier }
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

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let (future, call) = match this.kind.project() {
            KindProj::Called { future, call } => (future, call),
            KindProj::Rejected { open } => {
                return match open.take() {
                    Some(open) => Poll::Ready(Err(open.into())),
                    None => Poll::Pending,
                };
            }
        };
        match future.poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(reply)) => {
                let (vote, wait) = this.classifier.vote(Head::of(&reply));
                // A head that is no success has said all there is to say. A success is one only when its body has
                // ended well.
                let over = vote != Vote::Success || reply.body().is_end_stream();
                let mut call = call.take();
                if let Some(call) = &mut call {
                    call.head(reply.extensions());
                }
                if over {
                    if let Some(call) = call.take() {
                        call.end(vote, wait);
                    }
                }
                let classifier = this.classifier.clone();
                Poll::Ready(Ok(reply.map(|body| ResponseBody::new(body, call, classifier))))
            }
            Poll::Ready(Err(error)) => {
                let error = error.into();
                judge_error(call, &error, this.classifier);
                Poll::Ready(Err(error))
            }
        }
    }
}

#[cold]
fn judge_error<C: Classify>(call: &mut Option<Call>, error: &BoxError, classifier: &C) {
    if let Some(call) = call.take() {
        let verdict = classifier.error(&**error);
        call.end(verdict.vote(), verdict.wait);
    }
}
