//! The body of a reply to a caller.

mod source;
mod tail;
mod teller;

pub(super) use self::teller::Teller;

use self::{
    source::{Next, Source},
    tail::Tail,
};
use super::{
    cut::{Cut, UntilCut},
    errors,
    log::Record,
    outcome::{Failure, Pending},
};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use mainstay::{BoxError, route};
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// A reply's body: held whole, passed on, or a stream that always ends as one.
///
/// Whatever goes wrong in a stream after its head becomes exactly one error event in the caller's dialect and a proper
/// end of the HTTP message, without `[DONE]` or `message_stop`: a broken connection tells a client nothing, and can
/// take the head with it. With `server.keepalive` a stream's head may go out before anyone has answered; then signs of
/// life go out while nothing else does, and a call that fails is that one error event.
//
// Boxed here, once: a reply is moved a dozen times on its way to its connection.
#[derive(Debug)]
pub struct ReplyBody(Pin<Box<State>>);

pin_project! {
    #[project = StateProj]
    enum State {
        Whole { bytes: Bytes },
        Passing {
            #[pin]
            inner: route::ReplyBody,
            record: Option<Record>,
        },
        Stream {
            source: Source,
            #[pin]
            cut: UntilCut,
            teller: Teller,
            tail: Tail,
            record: Option<Record>,
        },
    }
}

impl ReplyBody {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self::boxed(State::Whole { bytes })
    }

    pub(super) fn passing(inner: route::ReplyBody, record: Record) -> Self {
        Self::boxed(State::Passing { inner, record: Some(record) })
    }

    pub(super) fn stream(inner: route::ReplyBody, mut teller: Teller, cut: Cut, record: Record) -> Self {
        teller.spoke();
        Self::of(Source::Answer(inner), teller, cut, record)
    }

    /// The body of a stream that nobody has begun yet. Its first sign of life is due.
    pub(super) fn waiting(pending: Pending, teller: Teller, cut: Cut, record: Record) -> Self {
        Self::of(Source::Waiting(pending), teller, cut, record)
    }

    fn of(source: Source, teller: Teller, cut: Cut, record: Record) -> Self {
        Self::boxed(State::Stream {
            source,
            cut: cut.cancelled(),
            teller,
            tail: Tail::default(),
            record: Some(record),
        })
    }

    fn boxed(state: State) -> Self {
        Self(Box::pin(state))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.0.as_mut().project() {
            StateProj::Whole { bytes } if bytes.is_empty() => Poll::Ready(None),
            StateProj::Whole { bytes } => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            StateProj::Passing { mut inner, record } => {
                let frame = ready!(inner.as_mut().poll_frame(cx));
                match &frame {
                    Some(Ok(_)) if !inner.is_end_stream() => {}
                    Some(Err(_)) => finish(record, "broken"),
                    _ => finish(record, "success"),
                }
                Poll::Ready(frame)
            }
            StateProj::Stream { source, mut cut, teller, tail, record } => loop {
                let (event, outcome) = match source.poll(cx, record, &teller.redactor) {
                    Poll::Ready(Next::Answered) => continue,
                    Poll::Ready(Next::Frame(frame)) => {
                        teller.spoke();
                        tail.saw(frame.data_ref().map(Bytes::as_ref).unwrap_or_default());
                        return Poll::Ready(Some(Ok(frame)));
                    }
                    Poll::Ready(Next::End) => {
                        *source = Source::Ended;
                        finish(record, "success");
                        return Poll::Ready(None);
                    }
                    Poll::Ready(Next::Broken(error)) => {
                        tracing::debug!(error = &*error, "a stream ended in an error");
                        errors::stream_error(&teller.redactor, teller.dialect, &error, &failed_tries(record))
                    }
                    Poll::Ready(Next::Failed(failure)) => {
                        if let Some(record) = record {
                            record.failed(&failure, &teller.redactor);
                        }
                        let event = match &failure {
                            Failure::Refused(refusal) => refusal.to_event(teller.dialect),
                            Failure::Failed(failed) => {
                                errors::failed_event(failed, teller.dialect, &teller.redactor)
                            }
                        };
                        (event, "failed")
                    }
                    Poll::Pending if cut.as_mut().poll(cx).is_ready() => {
                        let error = errors::ShuttingDown.into();
                        errors::stream_error(&teller.redactor, teller.dialect, &error, &failed_tries(record))
                    }
                    Poll::Pending => {
                        return teller.poll_sign(cx).map(|sign| Some(Ok(Frame::data(sign))));
                    }
                };
                *source = Source::Ended;
                finish(record, outcome);
                return Poll::Ready(Some(Ok(Frame::data(tail.close(event)))));
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match &*self.0 {
            State::Whole { bytes } => bytes.is_empty(),
            State::Passing { inner, .. } => inner.is_end_stream(),
            State::Stream { source, .. } => matches!(source, Source::Ended),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &*self.0 {
            State::Whole { bytes } => SizeHint::with_exact(bytes.len() as u64),
            State::Passing { inner, .. } => inner.size_hint(),
            State::Stream { .. } => SizeHint::default(),
        }
    }
}

/// The tries that failed, for an error event.
fn failed_tries(record: &Option<Record>) -> Vec<route::Attempt> {
    record.as_ref().map(|record| record.log.failed()).unwrap_or_default()
}

/// Writes the line of a request that has ended.
fn finish(record: &mut Option<Record>, outcome: &'static str) {
    if let Some(mut record) = record.take() {
        record.outcome.get_or_insert(outcome);
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            State::Whole { .. } => "Whole",
            State::Passing { .. } => "Passing",
            State::Stream { .. } => "Stream",
        })
    }
}
