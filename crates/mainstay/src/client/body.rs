//! The body of a reply.

use super::{ClientError, http1::Lease, load::InFlight, request_body::Upload};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// The body of a reply, as it comes in. Trailers, `size_hint` and `is_end_stream` are the connection's own.
///
/// Dropping it before its end cancels the call: over HTTP/1.1 the connection is closed, over HTTP/2 the stream is reset.
#[must_use = "a body that is dropped cancels the call"]
pub struct ResponseBody {
    /// `None` after the end or an error.
    inner: Option<Incoming>,
    in_flight: Option<InFlight>,
    lease: Option<Lease>,
    upload: Option<Upload>,
}

impl ResponseBody {
    pub(super) fn new(
        inner: Incoming,
        in_flight: Option<InFlight>,
        lease: Option<Lease>,
        upload: Option<Upload>,
    ) -> Self {
        let ended = inner.is_end_stream();
        let mut body = Self { inner: Some(inner), in_flight, lease, upload };
        if ended {
            body.end();
        }
        body
    }

    /// Lets go of the connection at once, not when the caller gets round to dropping us.
    fn end(&mut self) {
        self.inner = None;
        self.in_flight = None;
        if let Some(lease) = self.lease.take() {
            lease.give_back();
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = ClientError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ClientError>>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        match ready!(Pin::new(&mut *inner).poll_frame(cx)) {
            Some(Ok(frame)) => {
                if inner.is_end_stream() {
                    self.end();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => {
                self.end();
                Poll::Ready(Some(Err(ClientError::in_body(error, self.upload.as_ref()))))
            }
            None => {
                self.end();
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").field("ended", &self.inner.is_none()).finish_non_exhaustive()
    }
}
