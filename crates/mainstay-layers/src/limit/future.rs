//! The wait for the head.

use super::{BodyLimits, BodyTooLarge, LimitBody, Side, service::declared};
use crate::{BoxError, error::find_cause, media::Media};
use http::Response;
use http_body::Body;
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

pin_project! {
    /// The future of [`BodyLimit`](super::BodyLimit). Pending for ever once it has given its result.
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        inner: Option<F>,
        rejected: Option<BodyTooLarge>,
        limits: BodyLimits,
        // Set by the request's body when it went over the limit, which is beside it.
        over: Option<(Arc<AtomicBool>, u64)>,
        // The answer to HEAD declares a length and has no body.
        bodiless: bool,
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn new(
        inner: F,
        limits: BodyLimits,
        over: Option<(Arc<AtomicBool>, u64)>,
        bodiless: bool,
    ) -> Self {
        Self { inner: Some(inner), rejected: None, limits, over, bodiless }
    }

    pub(super) fn rejected(error: BodyTooLarge) -> Self {
        Self { inner: None, rejected: Some(error), limits: BodyLimits::new(), over: None, bodiless: false }
    }
}

impl<F, E, R> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    E: Into<BoxError>,
    R: Body,
{
    type Output = Result<Response<LimitBody<R>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(error) = this.rejected.take() {
            return Poll::Ready(Err(error.into()));
        }
        let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Pending };
        let result = ready!(inner.poll(cx));
        this.inner.set(None);
        let reply = match result {
            Ok(reply) => reply,
            Err(error) => return Poll::Ready(Err(cause(error.into(), this.over.take()))),
        };

        let limit = match Media::of(reply.headers()) {
            Media::Events | Media::Grpc => this.limits.stream,
            Media::Whole | Media::Unknown => this.limits.response,
        };
        if let Some(limit) = limit {
            // The status of an error says more than its length, and whoever reads its body reads as much as he likes.
            let is_error = reply.status().is_client_error() || reply.status().is_server_error();
            let nothing = is_error || *this.bodiless || reply.body().is_end_stream();
            let declared = if nothing { 0 } else { declared(reply.headers(), reply.body()) };
            if declared > limit {
                return Poll::Ready(Err(BodyTooLarge::new(Side::Response, limit, Some(declared)).into()));
            }
        }
        Poll::Ready(Ok(reply.map(|body| LimitBody::with_limit(body, limit, Side::Response))))
    }
}

/// A client may end the call on a broken upload without saying what broke it.
fn cause(error: BoxError, over: Option<(Arc<AtomicBool>, u64)>) -> BoxError {
    match over {
        Some((over, limit))
            if over.load(Ordering::Relaxed) && find_cause::<BodyTooLarge>(&*error).is_none() =>
        {
            BodyTooLarge::new(Side::Request, limit, None).into()
        }
        _ => error,
    }
}
