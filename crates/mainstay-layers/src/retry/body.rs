//! The body of a reply: as it came, or as it was kept.

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    vec,
};

pin_project! {
    /// The body of a reply.
    ///
    /// Usually the inner one, frame by frame and untouched; at its end, or after an error in it, it is gone. The reply of an
    /// earlier try that is handed up because the next one was not possible has been read by then: its frames are here.
    #[project = BodyProj]
    pub struct ResponseBody<RB>
    where
        RB: Body,
    {
        #[pin]
        kind: Kind<RB, RB::Data>,
    }
}

pin_project! {
    #[project = KindProj]
    enum Kind<RB, D> {
        Passed { #[pin] body: Option<RB> },
        Kept { frames: vec::IntoIter<Frame<D>>, bytes: u64 },
    }
}

impl<RB: Body> ResponseBody<RB> {
    pub(super) fn passed(body: RB) -> Self {
        Self { kind: Kind::Passed { body: Some(body) } }
    }

    pub(super) fn kept(frames: Vec<Frame<RB::Data>>) -> Self {
        let bytes = frames.iter().filter_map(Frame::data_ref).map(|data| data.remaining() as u64).sum();
        Self { kind: Kind::Kept { frames: frames.into_iter(), bytes } }
    }
}

impl<RB: Body> Body for ResponseBody<RB> {
    type Data = RB::Data;
    type Error = RB::Error;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match self.project().kind.project() {
            KindProj::Passed { mut body } => {
                let Some(inner) = body.as_mut().as_pin_mut() else { return Poll::Ready(None) };
                // A frame is large: it is looked at where it lies.
                let polled = inner.poll_frame(cx);
                if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
                    body.set(None);
                }
                polled
            }
            KindProj::Kept { frames, bytes } => {
                let frame = frames.next();
                if let Some(data) = frame.as_ref().and_then(Frame::data_ref) {
                    *bytes = bytes.saturating_sub(data.remaining() as u64);
                }
                Poll::Ready(frame.map(Ok))
            }
        }
    }

    #[inline]
    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Passed { body } => body.as_ref().is_none_or(Body::is_end_stream),
            Kind::Kept { frames, .. } => frames.as_slice().is_empty(),
        }
    }

    #[inline]
    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Passed { body } => body.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint),
            Kind::Kept { bytes, .. } => SizeHint::with_exact(*bytes),
        }
    }
}

impl<RB: Body> fmt::Debug for ResponseBody<RB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The body is the provider's answer: it has no place in a log.
        f.debug_struct("ResponseBody").finish_non_exhaustive()
    }
}
