//! A stream that is held back until its first content: until then it can fail without the caller seeing any of it.

use super::{
    body::Phase,
    tee::{Step, Tee},
};
use bytes::Bytes;
use http_body::Body;
use mainstay_layers::{BoxError, classify::Failed};
use std::task::{Context, Poll, ready};

/// A stream of which no content has been seen.
#[derive(Debug)]
pub(super) struct Held<B> {
    // Boxed: it is large, and most calls are no streams.
    tee: Option<Box<Tee<B>>>,
    slices: Vec<Bytes>,
    events: usize,
    bytes: usize,
}

/// How a stream's hold ended.
pub(super) enum Released<B> {
    /// Hand it on from here.
    Go(Bytes, Box<Tee<B>>, Phase),
    /// It failed before anything reached the caller.
    Failed(Failed),
}

impl<B> Held<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    pub(super) fn new(tee: Tee<B>) -> Self {
        Self { tee: Some(Box::new(tee)), slices: Vec::new(), events: 0, bytes: 0 }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Released<B>> {
        loop {
            let Some(tee) = &mut self.tee else { return Poll::Pending };
            let (raw, phase) = match ready!(tee.poll_event(cx)) {
                Ok(event) => {
                    self.bytes += event.raw.len();
                    self.events += usize::from(event.counts);
                    let config = tee.reading.layer.config();
                    let full = self.events > config.hold_events || self.bytes > config.hold_bytes;
                    let phase = match () {
                        () if event.is_terminal => Some(Phase::Lingering),
                        () if event.is_content || full => Some(Phase::Passing),
                        () => None,
                    };
                    (event.raw, phase)
                }
                Err(Step::Failed(failed)) => return Poll::Ready(Released::Failed(failed)),
                Err(Step::Pass(rest) | Step::Terminal(rest) | Step::Complete(rest)) => {
                    (rest, Some(Phase::Ended))
                }
            };
            let joined = self.slices.last().and_then(|last| tee.join(last, &raw));
            match (self.slices.last_mut(), joined) {
                (Some(last), Some(joined)) => *last = joined,
                _ => self.slices.push(raw),
            }
            let Some(phase) = phase else { continue };
            let Some(mut tee) = self.tee.take() else { return Poll::Pending };
            tee.commit();
            return Poll::Ready(Released::Go(in_one_go(&mut self.slices), tee, phase));
        }
    }
}

/// What was held, as one frame.
fn in_one_go(slices: &mut Vec<Bytes>) -> Bytes {
    match slices.as_mut_slice() {
        [only] => std::mem::take(only),
        several => several.concat().into(),
    }
}
