//! The body of a reply to a caller.

use super::{errors, log::Record};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use mainstay::{BoxError, dialect::Dialect, route, secret::Redactor};
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio_util::sync::WaitForCancellationFutureOwned;

pin_project! {
    /// A reply's body: held whole, passed on, or a stream that always ends as one.
    ///
    /// Whatever goes wrong in a stream after its head becomes exactly one error event in the caller's dialect and a proper
    /// end of the HTTP message, without `[DONE]` or `message_stop`: a broken connection tells a client nothing, and can
    /// take the head with it.
    #[derive(Debug)]
    pub struct ReplyBody {
        #[pin]
        state: State,
    }
}

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
            // `None` once it has ended: what is below is let go at once.
            inner: Option<route::ReplyBody>,
            #[pin]
            cut: WaitForCancellationFutureOwned,
            dialect: Dialect,
            redactor: Redactor,
            record: Option<Record>,
        },
    }
}

impl ReplyBody {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self { state: State::Whole { bytes } }
    }

    pub(super) fn passing(inner: route::ReplyBody, record: Record) -> Self {
        Self { state: State::Passing { inner, record: Some(record) } }
    }

    pub(super) fn stream(
        inner: route::ReplyBody,
        dialect: Dialect,
        redactor: Redactor,
        cut: WaitForCancellationFutureOwned,
        record: Record,
    ) -> Self {
        Self { state: State::Stream { inner: Some(inner), cut, dialect, redactor, record: Some(record) } }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.project().state.project() {
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
            StateProj::Stream { inner, cut, dialect, redactor, record } => {
                let Some(below) = inner else { return Poll::Ready(None) };
                let error = match Pin::new(below).poll_frame(cx) {
                    Poll::Ready(Some(Ok(frame))) => return Poll::Ready(Some(Ok(frame))),
                    Poll::Ready(None) => {
                        *inner = None;
                        finish(record, "success");
                        return Poll::Ready(None);
                    }
                    Poll::Ready(Some(Err(error))) => error,
                    Poll::Pending => {
                        ready!(cut.poll(cx));
                        errors::ShuttingDown.into()
                    }
                };
                *inner = None;
                let (event, outcome) = errors::stream_error(redactor, *dialect, &error);
                tracing::debug!(error = &*error, outcome, "a stream ended in an error");
                finish(record, outcome);
                Poll::Ready(Some(Ok(Frame::data(event))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Whole { bytes } => bytes.is_empty(),
            State::Passing { inner, .. } => inner.is_end_stream(),
            State::Stream { inner, .. } => inner.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Whole { bytes } => SizeHint::with_exact(bytes.len() as u64),
            State::Passing { inner, .. } => inner.size_hint(),
            State::Stream { .. } => SizeHint::default(),
        }
    }
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
