//! The body under the deadline.

use super::{Deadline, future::Limit};
use crate::BoxError;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project! {
    /// A body that ends with [`DeadlineExceeded`](super::DeadlineExceeded) when its deadline has passed while it is
    /// being waited for.
    ///
    /// What is there already is handed on however late it is read. Trailers, `size_hint` and `is_end_stream` are those
    /// of the inner body. After an error it is at its end, and the inner body is gone.
    #[derive(Debug)]
    pub struct DeadlineBody<B> {
        #[pin]
        inner: Option<B>,
        limit: Option<Limit>,
    }
}

impl<B> DeadlineBody<B> {
    /// Puts `body` under `deadline`; `None`: under none.
    pub fn new(body: B, deadline: Option<Deadline>) -> Self {
        Self::with_limit(body, deadline.map(Limit::new))
    }

    pub(super) fn with_limit(body: B, limit: Option<Limit>) -> Self {
        Self { inner: Some(body), limit }
    }
}

impl<B> Body for DeadlineBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let mut this = self.project();
        let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        let end = match (inner.poll_frame(cx), this.limit.as_mut()) {
            (Poll::Ready(Some(Ok(frame))), _) => return Poll::Ready(Some(Ok(frame))),
            (Poll::Ready(Some(Err(error))), _) => Some(Err(error.into())),
            (Poll::Ready(None), _) => None,
            (Poll::Pending, Some(limit)) => Some(Err(ready!(limit.poll(cx)))),
            (Poll::Pending, None) => return Poll::Pending,
        };
        this.inner.set(None);
        *this.limit = None;
        Poll::Ready(end)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}
