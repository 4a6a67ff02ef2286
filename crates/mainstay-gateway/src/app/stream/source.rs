//! Where a stream's events come from.

use super::super::{
    errors::Refusal,
    log::Record,
    outcome::{Failure, Pending},
    reply::is_event_stream,
};
use bytes::Bytes;
use http_body::{Body, Frame};
use mainstay::{
    BoxError,
    route::{self, Cached, Served},
    secret::Redactor,
};
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

/// Where a stream's events come from.
pub(super) enum Source {
    /// Nobody has answered yet.
    Waiting(Pending),
    Answer(route::ReplyBody),
    /// What is below is let go at once.
    Ended,
}

/// What a stream's source does next.
pub(super) enum Next {
    /// There is an answer now.
    Answered,
    Frame(Frame<Bytes>),
    End,
    /// A stream that had begun failed.
    Broken(BoxError),
    /// No target answered.
    Failed(Failure),
}

impl Source {
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        record: &mut Option<Record>,
        redactor: &Redactor,
    ) -> Poll<Next> {
        match self {
            Source::Waiting(pending) => {
                let (parts, body) = match ready!(pending.as_mut().poll(cx)) {
                    Ok(response) => response.into_parts(),
                    Err(failure) => return Poll::Ready(Next::Failed(failure)),
                };
                if let Some(record) = record {
                    record.answered(&parts.headers, parts.extensions.get::<Served>(), redactor);
                    record.kept(parts.extensions.get::<Cached>());
                }
                if !is_event_stream(&parts.headers) {
                    return Poll::Ready(Next::Failed(Failure::Refused(Refusal::no_stream())));
                }
                *self = Source::Answer(body);
                Poll::Ready(Next::Answered)
            }
            Source::Answer(body) => Poll::Ready(match ready!(Pin::new(body).poll_frame(cx)) {
                Some(Ok(frame)) => Next::Frame(frame),
                Some(Err(error)) => Next::Broken(error),
                None => Next::End,
            }),
            Source::Ended => Poll::Ready(Next::End),
        }
    }
}
