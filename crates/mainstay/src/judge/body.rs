//! The body of a judged reply.

use super::tee::{Step, Tee};
use crate::dialect::Meaning;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use mainstay_layers::{BoxError, classify::Failed};
use pin_project_lite::pin_project;
use std::{
    collections::VecDeque,
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
            held: VecDeque<Bytes>,
            tee: Tee<B>,
            phase: Phase,
            #[pin]
            linger: Option<Sleep>,
        },
        Untouched {
            #[pin]
            inner: B,
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

    pub(super) fn stream(held: VecDeque<Bytes>, tee: Tee<B>, phase: Phase) -> Self {
        Self { state: State::Stream { held, tee, phase, linger: None } }
    }

    pub(super) fn untouched(inner: B) -> Self {
        Self { state: State::Untouched { inner } }
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
            StateProj::Untouched { inner } => inner.poll_frame(cx).map_err(Into::into),
            StateProj::Stream { held, tee, phase, mut linger } => loop {
                if let Some(bytes) = held.pop_front() {
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                match *phase {
                    Phase::Ended => return Poll::Ready(None),
                    Phase::Lingering => {
                        if tee.poll_drained(cx).is_pending() {
                            if linger.is_none() {
                                let most = tee.reading.layer.config.linger;
                                linger.set(Some(tokio::time::sleep(most)));
                            }
                            if let Some(sleep) = linger.as_mut().as_pin_mut() {
                                ready!(sleep.poll(cx));
                            }
                        }
                        tee.let_go();
                        *phase = Phase::Ended;
                    }
                    Phase::Passing => match ready!(tee.poll_step(cx)) {
                        Step::Pass(bytes, meaning) => {
                            if matches!(meaning, Meaning::Terminal { .. }) {
                                tee.note_usage();
                                *phase = Phase::Lingering;
                            }
                            held.push_back(bytes);
                        }
                        Step::Complete(rest) => {
                            tee.note_usage();
                            *phase = Phase::Ended;
                            if !rest.is_empty() {
                                held.push_back(rest);
                            }
                        }
                        Step::Failed(failed) => {
                            tee.note_usage();
                            *phase = Phase::Ended;
                            let (verdict, source) = failed.into_parts();
                            let failed = Failed::new(verdict.with_committed(true), source);
                            return Poll::Ready(Some(Err(failed.into())));
                        }
                    },
                }
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Whole { bytes } => bytes.is_empty(),
            State::Stream { held, phase, .. } => held.is_empty() && *phase == Phase::Ended,
            State::Untouched { inner } => inner.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Whole { bytes } => SizeHint::with_exact(bytes.len() as u64),
            State::Stream { held, .. } => {
                let mut hint = SizeHint::new();
                hint.set_lower(held.iter().map(|bytes| bytes.len() as u64).sum());
                hint
            }
            State::Untouched { inner } => inner.size_hint(),
        }
    }
}
