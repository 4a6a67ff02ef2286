//! The body that is counted.

use super::{BodyTooLarge, Side};
use crate::BoxError;
use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

pin_project! {
    /// A body that ends with [`BodyTooLarge`] at the frame that takes it over its limit; that frame is not handed on.
    ///
    /// Exactly the limit passes. Trailers and unknown frames are not counted. After an error it is at its end, and the
    /// inner body is gone. What it promises of its size it keeps: a body that may go over the limit is never announced
    /// as one of exactly the limit.
    #[derive(Debug)]
    pub struct LimitBody<B> {
        #[pin]
        inner: Option<B>,
        limit: Option<Limit>,
        over: Option<Arc<AtomicBool>>,
    }
}

#[derive(Clone, Copy, Debug)]
struct Limit {
    side: Side,
    bytes: u64,
    left: u64,
}

impl<B> LimitBody<B> {
    /// At most `limit` bytes of `body`; of which `side` it is goes into the error.
    pub fn new(body: B, limit: u64, side: Side) -> Self {
        Self::with_limit(body, Some(limit), side)
    }

    /// `body` as it is.
    pub fn unlimited(body: B) -> Self {
        Self { inner: Some(body), limit: None, over: None }
    }

    pub(super) fn with_limit(body: B, limit: Option<u64>, side: Side) -> Self {
        let limit = limit.map(|bytes| Limit { side, bytes, left: bytes });
        Self { inner: Some(body), limit, over: None }
    }

    /// Sets `over` when the limit was passed.
    pub(super) fn telling(mut self, over: Option<Arc<AtomicBool>>) -> Self {
        self.over = over;
        self
    }
}

impl<B> Body for LimitBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let mut this = self.project();
        let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        let end = match inner.poll_frame(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Some(Ok(frame))) => match this.limit.as_mut().and_then(|limit| limit.count(&frame)) {
                None => return Poll::Ready(Some(Ok(frame))),
                Some(error) => {
                    if let Some(over) = this.over {
                        over.store(true, Ordering::Relaxed);
                    }
                    Some(Err(error.into()))
                }
            },
            Poll::Ready(Some(Err(error))) => Some(Err(error.into())),
            Poll::Ready(None) => None,
        };
        this.inner.set(None);
        Poll::Ready(end)
    }

    #[inline]
    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    #[inline]
    fn size_hint(&self) -> SizeHint {
        let Some(inner) = &self.inner else { return SizeHint::with_exact(0) };
        let hint = inner.size_hint();
        match self.limit {
            Some(limit) => limit.cap(hint),
            None => hint,
        }
    }
}

impl Limit {
    fn count<D: Buf>(&mut self, frame: &Frame<D>) -> Option<BodyTooLarge> {
        let size = frame.data_ref().map_or(0, |data| data.remaining() as u64);
        match self.left.checked_sub(size) {
            Some(left) => {
                self.left = left;
                None
            }
            None => Some(BodyTooLarge::new(self.side, self.bytes, None)),
        }
    }

    /// What can be said of the size when the inner body says `hint`.
    fn cap(&self, hint: SizeHint) -> SizeHint {
        if hint.upper().is_some_and(|upper| upper <= self.left) {
            return hint;
        }
        let mut capped = SizeHint::new();
        // It has more, so it will end in an error: then the size is not known, and least of all is it the limit.
        if hint.lower() < self.left {
            capped.set_lower(hint.lower());
            capped.set_upper(self.left);
        }
        capped
    }
}
