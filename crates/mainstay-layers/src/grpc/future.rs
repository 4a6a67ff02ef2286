//! The wait for the head.

use super::{ResponseBody, status};
use crate::{BoxError, deadline::Deadline, grpc::GrpcStatus};
use http::Response;
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project! {
    /// The future of [`GrpcCall`](super::GrpcCall).
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        inner: F,
        deadline: Option<Deadline>,
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn new(inner: F, deadline: Option<Deadline>) -> Self {
        Self { inner, deadline }
    }
}

impl<F, B> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<B>, BoxError>>,
{
    type Output = Result<Response<ResponseBody<B>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let deadline = *this.deadline;
        Poll::Ready(match ready!(this.inner.poll(cx)) {
            Ok(mut reply) => {
                status::correct(reply.headers_mut(), deadline);
                Ok(reply.map(|body| ResponseBody::new(Some(body), deadline)))
            }
            Err(error) => match GrpcStatus::of_late(&*error, deadline) {
                Some(status) => Ok(status.into_reply(ResponseBody::new(None, deadline))),
                None => Err(error),
            },
        })
    }
}
