//! The original, its record, and whose turn it is to read.

use super::{
    ReplayError,
    record::{Record, Recorded},
};
use crate::BoxError;
use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use std::{
    mem,
    pin::Pin,
    task::{Context, Poll, Waker},
};

/// Where one reader is.
#[derive(Default)]
pub(super) struct Cursor {
    /// The frame that it wants next.
    frame: usize,
    /// The bytes that it has had.
    bytes: u64,
    /// Its turn; 0: it has not begun to read.
    turn: u64,
    /// It had an error, and gets nothing after that.
    failed: bool,
}

/// What all readers share.
pub(super) struct Shared<B> {
    source: Source<B>,
    /// `None`: not recorded, or no more.
    record: Option<Record>,
    /// How many frames, and bytes, were taken from the source.
    frames: usize,
    bytes: u64,
    /// The exact size of the whole, if it was known from the start.
    exact: Option<u64>,
    /// The turn of the reader that began last: the source is its.
    turn: u64,
    /// Of the reader that waits for the source.
    waiting: Option<Waker>,
}

enum Source<B> {
    Open(B),
    Ended,
    Failed,
}

/// What the lock is left with: work that is better done without it.
struct After<B> {
    wake: Option<Waker>,
    ended: Option<Source<B>>,
    freed: Option<Record>,
    over_cap: bool,
}

pub(super) fn to_bytes<D: Buf>(frame: Frame<D>) -> Frame<Bytes> {
    frame.map_data(|mut data| data.copy_to_bytes(data.remaining()))
}

pub(super) fn poll_frame<B>(
    shared: &Mutex<Shared<B>>,
    cursor: &mut Cursor,
    cx: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, BoxError>>>
where
    B: Body + Unpin,
    B::Error: Into<BoxError>,
{
    if cursor.failed {
        return Poll::Ready(None);
    }
    let mut after = After { wake: None, ended: None, freed: None, over_cap: false };
    let polled = shared.lock().poll_frame(cursor, cx, &mut after);
    if let Some(waker) = after.wake {
        waker.wake();
    }
    drop((after.ended, after.freed));
    if after.over_cap {
        tracing::debug!("the request body is over the replay cap: this call can not be tried again");
    }
    if let Poll::Ready(Some(Err(_))) = polled {
        cursor.failed = true;
    }
    polled
}

impl<B> Shared<B>
where
    B: Body + Unpin,
    B::Error: Into<BoxError>,
{
    pub(super) fn new(body: B, cap: usize) -> Self {
        let size = body.size_hint();
        // What is sure to outgrow the cap is not worth beginning with.
        let record = (size.lower() <= cap as u64).then(|| Record::new(cap));
        let exact = size.exact();
        Self { source: Source::Open(body), record, frames: 0, bytes: 0, exact, turn: 0, waiting: None }
    }

    pub(super) fn is_replayable(&self) -> bool {
        !matches!(self.source, Source::Failed) && (self.frames == 0 || self.record.is_some())
    }

    pub(super) fn stop_recording(&mut self) -> Option<Record> {
        self.record.take()
    }

    fn poll_frame(
        &mut self,
        cursor: &mut Cursor,
        cx: &mut Context<'_>,
        after: &mut After<B>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if cursor.turn == 0 {
            self.turn += 1;
            cursor.turn = self.turn;
            // Whoever waited for the source has to learn that it is no longer its.
            after.wake = self.waiting.take();
        }
        if cursor.frame < self.frames {
            let Some(recorded) = self.record.as_ref().and_then(|record| record.get(cursor.frame)) else {
                return Poll::Ready(Some(Err(ReplayError(()).into())));
            };
            cursor.frame += 1;
            if let Recorded::Data(data) = recorded {
                cursor.bytes += data.len() as u64;
            }
            return Poll::Ready(Some(Ok(recorded.to_frame())));
        }
        let body = match &mut self.source {
            Source::Ended => return Poll::Ready(None),
            Source::Open(body) if cursor.turn == self.turn => body,
            _ => return Poll::Ready(Some(Err(ReplayError(()).into()))),
        };
        match Pin::new(&mut *body).poll_frame(cx) {
            Poll::Pending => {
                if !self.waiting.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                    self.waiting = Some(cx.waker().clone());
                }
                Poll::Pending
            }
            Poll::Ready(None) => {
                self.end(Source::Ended, after);
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => {
                self.end(Source::Failed, after);
                Poll::Ready(Some(Err(error.into())))
            }
            Poll::Ready(Some(Ok(frame))) => {
                let ended = body.is_end_stream();
                let frame = to_bytes(frame);
                self.take(&frame, cursor, after);
                if ended {
                    self.end(Source::Ended, after);
                }
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn take(&mut self, frame: &Frame<Bytes>, cursor: &mut Cursor, after: &mut After<B>) {
        let len = frame.data_ref().map_or(0, |data| data.len() as u64);
        self.frames += 1;
        self.bytes += len;
        cursor.frame += 1;
        cursor.bytes += len;
        let Some(record) = &mut self.record else { return };
        let kept = Recorded::of(frame).is_some_and(|recorded| record.push(recorded));
        if !kept {
            after.freed = self.record.take();
            after.over_cap = true;
        }
    }

    fn end(&mut self, how: Source<B>, after: &mut After<B>) {
        self.waiting = None;
        after.ended = Some(mem::replace(&mut self.source, how));
    }

    pub(super) fn is_end_stream(&self, cursor: &Cursor) -> bool {
        cursor.failed
            || cursor.frame == self.frames
                && match &self.source {
                    Source::Open(body) => body.is_end_stream(),
                    Source::Ended => true,
                    Source::Failed => false,
                }
    }

    pub(super) fn size_hint(&self, cursor: &Cursor) -> SizeHint {
        // What was announced stays true, also for sources that do not count down.
        if let Some(exact) = self.exact {
            return SizeHint::with_exact(exact.saturating_sub(cursor.bytes));
        }
        let recorded = self.bytes.saturating_sub(cursor.bytes);
        let Source::Open(body) = &self.source else { return SizeHint::with_exact(recorded) };
        let rest = body.size_hint();
        let mut size = SizeHint::new();
        size.set_lower(rest.lower().saturating_add(recorded));
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(recorded)) {
            size.set_upper(upper);
        }
        size
    }
}
