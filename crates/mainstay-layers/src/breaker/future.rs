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
    mem,
    pin::Pin,
    task::{Context, Poll},
};

pin_project! {
    /// The reply of a [`CircuitBreakerService`](super::CircuitBreakerService): ready at once with
    /// [`CircuitOpen`] where the circuit was open. Dropped, it is no vote.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, C> {
        // By itself, not a part of an enum: so it is built where it stays.
        #[pin]
        inner: Option<F>,
        admission: Admission,
        classifier: C,
    }
}

#[derive(Debug)]
enum Admission {
    Admitted(Call),
    Rejected(CircuitOpen),
    /// The future has given its result.
    Over,
}

impl Admission {
    #[inline]
    fn take(&mut self) -> Option<Call> {
        match mem::replace(self, Self::Over) {
            Self::Admitted(call) => Some(call),
            Self::Rejected(_) | Self::Over => None,
        }
    }
}

impl<F, C> ResponseFuture<F, C> {
    #[inline]
    pub(super) fn new(inner: F, call: Call, classifier: C) -> Self {
        Self { inner: Some(inner), admission: Admission::Admitted(call), classifier }
    }

    pub(super) fn rejected(open: CircuitOpen, classifier: C) -> Self {
        Self { inner: None, admission: Admission::Rejected(open), classifier }
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
        let Some(inner) = this.inner.as_pin_mut() else { return rejection(this.admission) };
        match inner.poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(reply)) => {
                let (vote, wait) = this.classifier.vote(Head::of(&reply));
                // A head that is no success has said all there is to say. A success is one only when its body has
                // ended well.
                let over = vote != Vote::Success || reply.body().is_end_stream();
                let mut call = this.admission.take();
                if let Some(call) = &mut call {
                    call.head(reply.extensions());
                }
                if over {
                    if let Some(mut call) = call.take() {
                        call.end(vote, wait);
                    }
                }
                let classifier = this.classifier.clone();
                Poll::Ready(Ok(reply.map(|body| ResponseBody::new(body, call, classifier))))
            }
            Poll::Ready(Err(error)) => {
                let error = error.into();
                judge_error(this.admission.take(), &error, this.classifier);
                Poll::Ready(Err(error))
            }
        }
    }
}

#[cold]
fn judge_error<C: Classify>(call: Option<Call>, error: &BoxError, classifier: &C) {
    if let Some(mut call) = call {
        let verdict = classifier.error(&**error);
        call.end(verdict.vote(), verdict.wait);
    }
}

#[inline]
fn rejection<T>(admission: &mut Admission) -> Poll<Result<T, BoxError>> {
    match mem::replace(admission, Admission::Over) {
        Admission::Rejected(open) => Poll::Ready(Err(open.into())),
        Admission::Admitted(_) | Admission::Over => Poll::Pending,
    }
}
