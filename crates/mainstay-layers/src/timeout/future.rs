//! The wait for the head.

use super::{TimeoutBody, watch::Watch};
use crate::{BoxError, media::Media};
use http::Response;
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project! {
    /// The future of [`Timeout`](super::Timeout). The inner future is dropped as soon as a clock has run out. Pending
    /// for ever once it has given its result.
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        inner: Option<F>,
        watch: Option<Watch>,
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn new(inner: F, watch: Option<Watch>) -> Self {
        Self { inner: Some(inner), watch }
    }
}

impl<F, E, R> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    E: Into<BoxError>,
{
    type Output = Result<Response<TimeoutBody<R>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Pending };
        let result = match (inner.poll(cx), this.watch.as_mut()) {
            (Poll::Ready(result), _) => result.map_err(Into::into),
            (Poll::Pending, Some(watch)) => Err(ready!(watch.poll_waiting(cx))),
            (Poll::Pending, None) => return Poll::Pending,
        };
        this.inner.set(None);
        let watch = this.watch.take();
        Poll::Ready(result.map(|reply| {
            let watch = watch.and_then(|watch| watch.into_body(Media::of(reply.headers())));
            reply.map(|body| TimeoutBody::watched(body, watch))
        }))
    }
}
