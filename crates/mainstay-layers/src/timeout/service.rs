//! The service.

use super::{
    Progress, ResponseFuture, SentBody, Streaming, TimeoutBody, TimeoutConfig,
    sent::Upload,
    watch::{Reply, Watch},
};
use crate::{BoxError, deadline::Deadline, media::Media};
use http::{Request, Response};
use http_body::Body;
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use tokio::time::Instant;
use tower_service::Service;

/// Puts every call under its clocks. Made by [`TimeoutLayer`](super::TimeoutLayer).
///
/// Fails with [`TimeoutError`](super::TimeoutError), with
/// [`DeadlineExceeded`](crate::deadline::DeadlineExceeded) if the request carries a deadline, or as the inner service
/// does. The inner service gets the request's body as [`SentBody`].
#[derive(Clone, Copy, Debug)]
pub struct Timeout<S> {
    inner: S,
    config: TimeoutConfig,
}

impl<S> Timeout<S> {
    /// `inner` under the clocks of `config`.
    pub const fn new(inner: S, config: TimeoutConfig) -> Self {
        Self { inner, config }
    }

    /// The inner service.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, B, R> Service<Request<B>> for Timeout<S>
where
    S: Service<Request<SentBody<B>>, Response = Response<R>>,
    S::Error: Into<BoxError>,
    B: Body,
{
    type Response = Response<TimeoutBody<R>>;
    type Error = BoxError;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let extensions = request.extensions();
        let own = extensions.get::<TimeoutConfig>();
        let clocks = own.copied().unwrap_or(self.config).without_zeros();
        let deadline = Deadline::of(extensions);
        if clocks.is_off() && deadline.is_none() {
            return ResponseFuture::new(self.inner.call(request.map(SentBody::new)), None);
        }

        let now = Instant::now();
        let reply = match extensions.get() {
            _ if Media::of(request.headers()) == Media::Grpc => Reply::Grpc,
            Some(Streaming(true)) => Reply::Events,
            _ => Reply::Whole,
        };
        // Nothing to send is sent at once.
        let upload = (!request.body().is_end_stream()).then(|| Arc::new(Upload::new(now)));
        let watch = Watch::call(clocks, own.is_some(), reply, now)
            .with_deadline(deadline)
            .with_upload(upload.clone())
            .with_progress(extensions.get::<Progress>().cloned());
        let request = request.map(|body| match upload {
            Some(upload) => SentBody::watched(body, upload),
            None => SentBody::new(body),
        });
        ResponseFuture::new(self.inner.call(request), Some(watch))
    }
}
