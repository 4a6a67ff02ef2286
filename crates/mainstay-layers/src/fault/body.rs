//! The body under its fault.

use super::{Injected, kinds::Bend};
use crate::{BoxError, timer::Timer};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    io::ErrorKind,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::time::Instant;

pin_project! {
    /// A reply's body under a fault. After an error or its end it is fused, and the inner body is gone.
    #[derive(Debug)]
    pub struct FaultBody<B> {
        #[pin]
        inner: Option<B>,
        // Data that is still to be handed on: a dribble, or a reply of our own.
        held: Bytes,
        bend: Bend,
        passed: u64,
        dice: fastrand::Rng,
        timer: Timer,
    }
}

impl<B> FaultBody<B> {
    pub(super) fn bent(body: B, bend: Bend, seed: u64) -> Self {
        Self::new(Some(body), Bytes::new(), bend, seed)
    }

    pub(super) fn whole(held: Bytes) -> Self {
        Self::new(None, held, Bend::No, 0)
    }

    fn new(inner: Option<B>, held: Bytes, bend: Bend, seed: u64) -> Self {
        let dice = fastrand::Rng::with_seed(seed);
        Self { inner, held, bend, passed: 0, dice, timer: Timer::default() }
    }
}

impl<B> Body for FaultBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let mut this = self.project();
        loop {
            if !this.held.is_empty() {
                return match *this.bend {
                    Bend::Dribble { bytes, every } => {
                        if !this.timer.is_armed() {
                            this.timer.arm(Instant::now() + every);
                        }
                        ready!(this.timer.poll(cx));
                        this.timer.disarm();
                        let piece = this.held.split_to(bytes.min(this.held.len()));
                        Poll::Ready(Some(Ok(Frame::data(piece))))
                    }
                    _ => Poll::Ready(Some(Ok(Frame::data(std::mem::take(this.held))))),
                };
            }
            let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
            let end = match *this.bend {
                Bend::Error { after } if *this.passed >= after => {
                    Some(Err(Injected::new("body_error", ErrorKind::ConnectionReset).into()))
                }
                Bend::Truncate { after } if *this.passed >= after => None,
                // Silence has no end, and nothing wakes it.
                Bend::Stall { after } if *this.passed >= after => return Poll::Pending,
                _ => match ready!(inner.poll_frame(cx)) {
                    Some(Ok(frame)) => match frame.into_data() {
                        Ok(data) => {
                            let data = bend(data, *this.bend, this.passed, this.dice);
                            if let Bend::Dribble { .. } = this.bend {
                                *this.held = data;
                                continue;
                            }
                            return Poll::Ready(Some(Ok(Frame::data(data))));
                        }
                        Err(frame) => return Poll::Ready(Some(Ok(frame))),
                    },
                    Some(Err(error)) => Some(Err(error.into())),
                    None => None,
                },
            };
            this.inner.set(None);
            return Poll::Ready(end);
        }
    }

    fn is_end_stream(&self) -> bool {
        let inner = match (&self.inner, self.bend) {
            (Some(inner), Bend::No | Bend::Dribble { .. }) => inner.is_end_stream(),
            (inner, _) => inner.is_none(),
        };
        inner && self.held.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let held = self.held.len() as u64;
        let inner = match (&self.inner, self.bend) {
            (None, _) => return SizeHint::with_exact(held),
            (Some(_), Bend::Truncate { .. }) => return SizeHint::new(),
            (Some(inner), _) => inner.size_hint(),
        };
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().saturating_add(held));
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(held));
        }
        hint
    }
}

/// What is handed on of `data`: cut where the fault begins, or garbled from there.
fn bend(mut data: Bytes, bend: Bend, passed: &mut u64, dice: &mut fastrand::Rng) -> Bytes {
    let size = data.len() as u64;
    let before = |after: u64| usize::try_from(after.saturating_sub(*passed).min(size)).unwrap_or(usize::MAX);
    match bend {
        Bend::Error { after } | Bend::Truncate { after } | Bend::Stall { after } => {
            data.truncate(before(after));
        }
        Bend::Garbage { after } if before(after) < data.len() => {
            let at = before(after);
            let mut garbled = data.to_vec();
            if let Some(rest) = garbled.get_mut(at..) {
                dice.fill(rest);
            }
            data = garbled.into();
        }
        _ => {}
    }
    *passed += size;
    data
}
