//! Reading a stream while it passes.

use super::{
    error::{ErrorEvent, ReplyError},
    future::Reading,
};
use crate::{
    dialect::{Meaning, StreamReader, stream_end},
    sse::{Block, Scanner, SseError},
};
use bytes::Bytes;
use http::{Extensions, HeaderMap};
use http_body::Body;
use mainstay_layers::{
    BoxError,
    classify::{Class, Classify, Failed, Head, Verdict},
};
use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// A stream that is read event by event. What it hands out, put together, is what came in.
pub(super) struct Tee<B> {
    /// `None` once it ended: dropped at once, so that nothing below outlives its use.
    inner: Option<Pin<Box<B>>>,
    scanner: Scanner,
    pub(super) reader: StreamReader,
    pub(super) reading: Reading,
    status: http::StatusCode,
    headers: HeaderMap,
    /// None: a judge does not read its own verdict.
    extensions: Extensions,
    ended: bool,
}

/// What a stream does next.
pub(super) enum Step {
    /// These bytes, of which the reader says this.
    Pass(Bytes, Meaning),
    /// The answer is whole; these bytes, if any, close the stream.
    Complete(Bytes),
    /// It failed.
    Failed(Failed),
}

impl<B> Tee<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    pub(super) fn new(body: B, reading: Reading, status: http::StatusCode, headers: HeaderMap) -> Self {
        Self {
            inner: Some(Box::pin(body)),
            scanner: Scanner::new().with_max_event(reading.layer.config.max_event),
            reader: StreamReader::new(reading.dialect),
            status,
            headers,
            extensions: Extensions::new(),
            reading,
            ended: false,
        }
    }

    /// The next event, or the end. After the end: pending for ever, so callers stop asking.
    pub(super) fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        loop {
            match self.scanner.next_block() {
                Ok(Some(block)) => return Poll::Ready(self.read(block)),
                Ok(None) => {}
                Err(error) => return Poll::Ready(self.too_large(&error)),
            }
            let Some(inner) = &mut self.inner else { return Poll::Pending };
            match std::task::ready!(inner.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => {
                    // Trailers of a stream say nothing to a caller of an LLM API.
                    if let Ok(data) = frame.into_data() {
                        self.scanner.push(data);
                    }
                }
                Some(Err(error)) => return Poll::Ready(self.broken(error.into())),
                None => return Poll::Ready(self.eof()),
            }
        }
    }

    /// Waits for the message of the connection below to end; anything else that still comes is dropped.
    pub(super) fn poll_drained(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(inner) = &mut self.inner {
            match std::task::ready!(inner.as_mut().poll_frame(cx)) {
                Some(Ok(_)) => {}
                Some(Err(_)) | None => self.inner = None,
            }
        }
        Poll::Ready(())
    }

    /// Lets the connection below go.
    pub(super) fn let_go(&mut self) {
        self.inner = None;
    }

    fn read(&mut self, block: Block) -> Step {
        let meaning = self.reader.read_block(&block);
        if meaning == Meaning::Error {
            return self.provider_failed(block);
        }
        if meaning.is_content() {
            self.reading.progress.mark();
        }
        Step::Pass(block.raw, meaning)
    }

    fn provider_failed(&mut self, block: Block) -> Step {
        let head = Head::new(self.status, &self.headers, &self.extensions);
        let (object, reason) = match self.reader.failure() {
            Some(failure) => (&*failure.object, failure.reason.as_deref()),
            None => (&[][..], None),
        };
        let verdict = self.reading.layer.inside(head, object, reason);
        let data = match &block.event {
            Some(event) => event.data_bytes().clone(),
            None => block.bare_json().unwrap_or_default(),
        };
        self.fail(verdict, ReplyError::Provider(ErrorEvent::new(block.raw, data)).into())
    }

    fn eof(&mut self) -> Step {
        self.inner = None;
        if std::mem::replace(&mut self.ended, true) {
            return self.closing(Bytes::new());
        }
        match self.scanner.finish() {
            // An event that lacks its blank line, but is whole: closed off for the caller.
            Ok(Some(block)) if block.event.is_some() || block.bare_json().is_some() => {
                let mut raw = block.raw.to_vec();
                if !block.complete {
                    raw.extend_from_slice(b"\n\n");
                }
                match self.read(Block { raw: raw.into(), ..block }) {
                    Step::Pass(raw, _) if self.reader.is_complete() => self.closing(raw),
                    Step::Pass(..) => self.truncated(),
                    other => other,
                }
            }
            // Half an event is never handed on; blanks and comments at the end are.
            Ok(Some(block)) if self.reader.is_complete() => self.closing(block.raw),
            Ok(_) => self.closing(Bytes::new()),
            Err(error) => self.too_large(&error),
        }
    }

    fn broken(&mut self, error: BoxError) -> Step {
        self.inner = None;
        if self.reader.is_complete() {
            return self.closing(Bytes::new());
        }
        let verdict = self.reading.layer.classifier.error(&*error);
        self.fail(verdict, error)
    }

    /// The end of a stream that was not cut: complete, or truncated.
    fn closing(&mut self, rest: Bytes) -> Step {
        if !self.reader.is_complete() {
            return self.truncated();
        }
        match stream_end(self.reading.dialect) {
            Some(end) if !self.reader.saw_done() => Step::Complete([rest, end].concat().into()),
            _ => Step::Complete(rest),
        }
    }

    fn truncated(&mut self) -> Step {
        self.fail(Class::Malformed.into(), ReplyError::Truncated.into())
    }

    fn too_large(&mut self, error: &SseError) -> Step {
        let SseError::EventTooLarge { limit } = *error;
        self.fail(Class::TooLarge.into(), ReplyError::EventTooLarge { limit }.into())
    }

    fn fail(&mut self, verdict: Verdict, error: BoxError) -> Step {
        self.inner = None;
        Step::Failed(Failed::new(verdict, error))
    }

    /// Writes the tokens down for whoever asked.
    pub(super) fn note_usage(&self) {
        if let Some(cell) = &self.reading.usage {
            cell.set(self.reader.usage());
        }
    }
}

impl<B> std::fmt::Debug for Tee<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tee").field("dialect", &self.reading.dialect).finish_non_exhaustive()
    }
}
