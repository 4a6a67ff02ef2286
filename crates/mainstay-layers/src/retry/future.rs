//! The future of a call: try, let go of the reply, sleep, get ready, try again.

use super::{
    call::{Call, Handed, Next},
    event::GiveUp,
    policy::Drain,
    replay::ReplayBody,
};
use crate::{BoxError, classify::Classify};
use bytes::Buf;
use http::{Request, Response};
use http_body::{Body, Frame};
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::time::{Instant, Sleep, sleep_until};
use tower_service::Service;

pin_project! {
    /// The future of [`Retry`](super::Retry). Dropping it ends the call: no further try is made.
    pub struct ResponseFuture<S, C, B, RB>
    where
        S: Service<Request<ReplayBody<B>>>,
        RB: Body,
    {
        #[pin]
        state: State<S::Future, RB>,
        // Of the state that is waiting: for the reply to drain, for the delay to pass, or for the service.
        #[pin]
        timer: Option<Sleep>,
        service: S,
        call: Call<C, B, RB>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, RB> {
        Calling { #[pin] future: F },
        Draining { #[pin] body: RB, progress: Progress },
        Sleeping,
        Readying,
        Done,
    }
}

#[derive(Default)]
struct Progress {
    bytes: usize,
    frames: usize,
}

impl<S, C, B, RB> ResponseFuture<S, C, B, RB>
where
    S: Service<Request<ReplayBody<B>>>,
    RB: Body,
{
    pub(super) fn new(future: S::Future, service: S, call: Call<C, B, RB>) -> Self {
        Self { state: State::Calling { future }, timer: None, service, call }
    }
}

impl<S, C, B, RB> Future for ResponseFuture<S, C, B, RB>
where
    S: Service<Request<ReplayBody<B>>, Response = Response<RB>>,
    S::Error: Into<BoxError>,
    C: Classify,
    B: Body + Unpin + 'static,
    B::Error: Into<BoxError>,
    RB: Body,
{
    type Output = Handed<RB>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let call = this.call;
        loop {
            let next = match this.state.as_mut().project() {
                StateProj::Calling { future } => {
                    let outcome = ready!(future.poll(cx)).map_err(Into::into);
                    match call.next(outcome) {
                        Next::HandUp(handed) => {
                            this.state.set(State::Done);
                            return Poll::Ready(handed);
                        }
                        Next::Drain(body) => State::Draining { body, progress: Progress::default() },
                        Next::Sleep => State::Sleeping,
                    }
                }
                StateProj::Draining { body, progress } => {
                    let drain = call.drain();
                    let whole = match poll_drain(body, progress, drain, |frame| call.read(frame), cx) {
                        Poll::Ready(whole) => whole,
                        Poll::Pending => {
                            ready!(poll_timer(this.timer.as_mut(), || call.until(drain.time), cx));
                            false
                        }
                    };
                    if !whole {
                        call.let_go();
                    }
                    State::Sleeping
                }
                StateProj::Sleeping => {
                    if Instant::now() < call.resume_at() {
                        ready!(poll_timer(this.timer.as_mut(), || call.resume_at(), cx));
                    }
                    State::Readying
                }
                StateProj::Readying => {
                    let request = match this.service.poll_ready(cx) {
                        Poll::Ready(Ok(())) => call.resume().map_err(|reason| (reason, None)),
                        Poll::Ready(Err(error)) => Err((GiveUp::NotReady, Some(error.into()))),
                        Poll::Pending => {
                            let until = || call.until(call.ready_within());
                            ready!(poll_timer(this.timer.as_mut(), until, cx));
                            Err((GiveUp::NotReady, None))
                        }
                    };
                    match request {
                        Ok(request) => State::Calling { future: this.service.call(request) },
                        Err((reason, because)) => {
                            this.state.set(State::Done);
                            return Poll::Ready(call.hand_back(reason, because));
                        }
                    }
                }
                // Polled after it was ready: that is the caller's fault, but no reason to bring the process down.
                StateProj::Done => return Poll::Pending,
            };
            // What the old state held goes here: the failed try's body before the sleep.
            this.state.set(next);
            this.timer.set(None);
        }
    }
}

fn poll_timer(
    mut timer: Pin<&mut Option<Sleep>>,
    until: impl FnOnce() -> Instant,
    cx: &mut Context<'_>,
) -> Poll<()> {
    if timer.is_none() {
        timer.set(Some(sleep_until(until())));
    }
    timer.as_pin_mut().map_or(Poll::Ready(()), |timer| timer.poll(cx))
}

/// Reads a body until its end (`true`), or until it fails or is over the bounds.
fn poll_drain<RB: Body>(
    mut body: Pin<&mut RB>,
    progress: &mut Progress,
    bounds: Drain,
    mut read: impl FnMut(Frame<RB::Data>),
    cx: &mut Context<'_>,
) -> Poll<bool> {
    if body.size_hint().lower() > bounds.bytes as u64 {
        return Poll::Ready(false);
    }
    loop {
        match ready!(body.as_mut().poll_frame(cx)) {
            None => return Poll::Ready(true),
            Some(Err(_)) => return Poll::Ready(false),
            Some(Ok(frame)) => {
                progress.frames += 1;
                progress.bytes += frame.data_ref().map_or(0, Buf::remaining);
                if progress.bytes > bounds.bytes || progress.frames > Drain::FRAMES {
                    return Poll::Ready(false);
                }
                read(frame);
                if body.is_end_stream() {
                    return Poll::Ready(true);
                }
            }
        }
    }
}
