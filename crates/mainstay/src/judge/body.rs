//! The body of a judged reply.

use super::tee::{Step, Tee};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use mainstay_layers::{BoxError, classify::Failed, timeout::Progress};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::time::Sleep;

pin_project! {
    /// The body of a judged reply: whole, a stream that is read as it passes, or one that nobody judges.
    #[derive(Debug)]
    pub struct JudgeBody<B> {
        #[pin]
        state: State<B>,
    }
}

pin_project! {
    #[project = StateProj]
    #[derive(Debug)]
    enum State<B> {
        Whole { bytes: Bytes },
        Stream {
            held: Bytes,
            tee: Box<Tee<B>>,
            phase: Phase,
            #[pin]
            linger: Option<Sleep>,
        },
        // Boxed: it is large and few replies are such, and every reply moves through all layers above.
        Untouched {
            inner: Option<Pin<Box<B>>>,
            progress: Progress,
        },
    }
}

/// How far a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Events pass.
    Passing,
    /// The terminal event has been handed on; the connection below is given a moment to end its message.
    Lingering,
    /// Nothing follows.
    Ended,
}

impl<B> JudgeBody<B> {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self { state: State::Whole { bytes } }
    }

    pub(super) fn stream(held: Bytes, tee: Box<Tee<B>>, phase: Phase) -> Self {
        Self { state: State::Stream { held, tee, phase, linger: None } }
    }

    pub(super) fn untouched(inner: B, progress: Progress) -> Self {
        Self { state: State::Untouched { inner: Some(Box::pin(inner)), progress } }
    }
}

impl<B> Body for JudgeBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.project().state.project() {
            StateProj::Whole { bytes } if bytes.is_empty() => Poll::Ready(None),
            StateProj::Whole { bytes } => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            StateProj::Untouched { inner, progress } => {
                let Some(below) = inner else { return Poll::Ready(None) };
                let frame = ready!(below.as_mut().poll_frame(cx));
                match &frame {
                    // Nobody knows what is content in it: all of it is.
                    Some(Ok(frame)) if frame.is_data() => progress.mark(),
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => *inner = None,
                }
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
            StateProj::Stream { held, tee, phase, mut linger } => {
                if !held.is_empty() {
                    return Poll::Ready(Some(Ok(Frame::data(std::mem::take(held)))));
                }
                if *phase == Phase::Passing {
                    let bytes = match ready!(tee.poll_step(cx)) {
                        Step::Pass(bytes) => bytes,
                        Step::Terminal(bytes) => {
                            *phase = Phase::Lingering;
                            bytes
                        }
                        Step::Complete(rest) => {
                            *phase = Phase::Ended;
                            rest
                        }
                        Step::Failed(failed) => {
                            *phase = Phase::Ended;
                            let (verdict, source) = failed.into_parts();
                            let failed = Failed::new(verdict.with_committed(true), source);
                            return Poll::Ready(Some(Err(failed.into())));
                        }
                    };
                    return Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))));
                }
                if *phase == Phase::Lingering {
                    if tee.poll_drained(cx).is_pending() {
                        if linger.is_none() {
                            linger.set(Some(tokio::time::sleep(tee.reading.layer.config().linger)));
                        }
                        if let Some(sleep) = linger.as_mut().as_pin_mut() {
                            ready!(sleep.poll(cx));
                        }
                    }
                    tee.let_go();
                    *phase = Phase::Ended;
                }
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Whole { bytes } => bytes.is_empty(),
            State::Stream { held, phase, .. } => held.is_empty() && *phase == Phase::Ended,
            State::Untouched { inner, .. } => inner.as_ref().is_none_or(Body::is_end_stream),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Whole { bytes } => SizeHint::with_exact(bytes.len() as u64),
            State::Stream { held, .. } => {
                let mut hint = SizeHint::new();
                hint.set_lower(held.len() as u64);
                hint
            }
            State::Untouched { inner, .. } => inner.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint),
        }
    }
}
