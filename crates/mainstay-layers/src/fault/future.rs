//! The call under its fault.

use super::{
    Fault, FaultBody, Injected,
    kinds::{Bend, Kind},
};
use crate::{BoxError, timer::Timer};
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use std::{
    future::Future,
    io::ErrorKind,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::Instant;
use tower_service::Service;

pin_project! {
    /// The future of [`FaultInjector`](super::FaultInjector). Pending for ever once it has given its result.
    #[derive(Debug)]
    pub struct ResponseFuture<S, B, F> {
        fault: Fault,
        seed: u64,
        // Until the inner service is called, or known not to be.
        ready: Option<(S, Request<B>)>,
        #[pin]
        inner: Option<F>,
        timer: Timer,
    }
}

impl<S, B, F> ResponseFuture<S, B, F> {
    pub(super) fn new(service: S, request: Request<B>, fault: Fault, seed: u64) -> Self {
        Self { fault, seed, ready: Some((service, request)), inner: None, timer: Timer::default() }
    }
}

impl<S, B, R> Future for ResponseFuture<S, B, S::Future>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
    R: Body<Data = Bytes>,
{
    type Output = Result<Response<FaultBody<R>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if this.ready.is_some() {
            ready!(wait(this.timer, this.fault.delay, cx));
            let Some((mut service, request)) = this.ready.take() else { return Poll::Pending };
            match &this.fault.kind {
                Kind::Reply(reply) => {
                    return Poll::Ready(Ok(reply.clone().map(FaultBody::whole)));
                }
                Kind::DropBefore => {
                    return Poll::Ready(Err(
                        Injected::new("drop_before", ErrorKind::ConnectionRefused).into()
                    ));
                }
                // What is left of the call stays until the caller gives it up.
                Kind::Hang => {}
                _ => {
                    this.timer.disarm();
                    this.inner.set(Some(service.call(request)));
                }
            }
        }

        let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Pending };
        let polled = inner.poll(cx);
        let outcome = match (&this.fault.kind, polled) {
            (Kind::DropAfter(after), polled) => {
                if polled.is_pending() {
                    ready!(wait(this.timer, *after, cx));
                }
                Err(Injected::new("drop_after", ErrorKind::ConnectionReset).into())
            }
            (_, Poll::Pending) => return Poll::Pending,
            (_, Poll::Ready(Err(error))) => Err(error.into()),
            (Kind::LostReply, Poll::Ready(Ok(_))) => {
                Err(Injected::new("lost_reply", ErrorKind::ConnectionReset).into())
            }
            (Kind::Body(bend), Poll::Ready(Ok(reply))) => {
                Ok(reply.map(|body| FaultBody::bent(body, *bend, *this.seed)))
            }
            (_, Poll::Ready(Ok(reply))) => Ok(reply.map(|body| FaultBody::bent(body, Bend::No, *this.seed))),
        };
        this.inner.set(None);
        Poll::Ready(outcome)
    }
}

fn wait(timer: &mut Timer, time: Duration, cx: &mut Context<'_>) -> Poll<()> {
    if time.is_zero() {
        return Poll::Ready(());
    }
    if !timer.is_armed() {
        timer.arm(Instant::now() + time);
    }
    timer.poll(cx)
}
