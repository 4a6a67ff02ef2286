//! The body, whose errors are trailers.

use super::status;
use crate::{BoxError, deadline::Deadline, grpc::GrpcStatus};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project! {
    /// A reply's body. An error of this crate's layers in it is handed on as the trailers that say so; frames and
    /// foreign errors pass. After an error it is at its end, and the inner body is gone.
    #[derive(Debug)]
    pub struct ResponseBody<B> {
        // `None`: a reply of trailers only, or over.
        #[pin]
        inner: Option<B>,
        deadline: Option<Deadline>,
    }
}

impl<B> ResponseBody<B> {
    pub(super) fn new(inner: Option<B>, deadline: Option<Deadline>) -> Self {
        Self { inner, deadline }
    }
}

impl<B> Body for ResponseBody<B>
where
    B: Body<Error = BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let mut this = self.project();
        let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        let end = match ready!(inner.poll_frame(cx)) {
            Some(Ok(mut frame)) => {
                if let Some(trailers) = frame.trailers_mut() {
                    status::correct(trailers, *this.deadline);
                }
                return Poll::Ready(Some(Ok(frame)));
            }
            Some(Err(error)) => Some(match GrpcStatus::of_late(&*error, *this.deadline) {
                Some(status) => Ok(Frame::trailers(status.trailers())),
                None => Err(error),
            }),
            None => None,
        };
        this.inner.set(None);
        Poll::Ready(end)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
