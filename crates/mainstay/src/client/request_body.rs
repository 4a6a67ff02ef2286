//! The one type of body that the pools know, so that one pool serves requests with bodies of any type.

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use mainstay_layers::BoxError;
use parking_lot::Mutex;
use std::{
    any::Any,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// Bodies that are whole cost nothing; others are boxed.
#[derive(Debug)]
pub(super) enum RequestBody {
    Whole(Full<Bytes>),
    Stream(UnsyncBoxBody<Bytes, BoxError>, Upload),
}

/// Where a streamed body leaves its error. hyper does not hand it on over HTTP/2, and over HTTP/1.1 a reply may come all
/// the same; but whose fault a broken call was must be known.
#[derive(Clone, Debug, Default)]
pub(super) struct Upload(Arc<Mutex<Option<BoxError>>>);

impl Upload {
    /// The error of the body, if it failed.
    pub(super) fn take_error(&self) -> Option<BoxError> {
        self.0.lock().take()
    }
}

impl RequestBody {
    /// Erases `body`; with it the place of its error, if it can have one.
    pub(super) fn new<B>(body: B) -> (Self, Option<Upload>)
    where
        B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
    {
        if body.is_end_stream() {
            return (Self::Whole(Full::default()), None);
        }
        let mut body = Some(body);
        let any: &mut dyn Any = &mut body;
        if let Some(full) = any.downcast_mut::<Option<Full<Bytes>>>().and_then(Option::take) {
            return (Self::Whole(full), None);
        }
        let Some(body) = body else { return (Self::Whole(Full::default()), None) };
        // For `Bytes` this moves, and copies nothing.
        let body = body.map_frame(|frame| frame.map_data(|mut data| data.copy_to_bytes(data.remaining())));
        let upload = Upload::default();
        (Self::Stream(body.map_err(Into::into).boxed_unsync(), upload.clone()), Some(upload))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = UploadFailed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadFailed>>> {
        match &mut *self {
            Self::Whole(full) => Pin::new(full).poll_frame(cx).map_err(|never| match never {}),
            Self::Stream(body, upload) => match ready!(Pin::new(body).poll_frame(cx)) {
                Some(Err(error)) => {
                    *upload.0.lock() = Some(error);
                    Poll::Ready(Some(Err(UploadFailed)))
                }
                Some(Ok(frame)) => Poll::Ready(Some(Ok(frame))),
                None => Poll::Ready(None),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(full) => full.is_end_stream(),
            Self::Stream(body, _) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(full) => full.size_hint(),
            Self::Stream(body, _) => body.size_hint(),
        }
    }
}

/// What hyper is told; the error itself is in [`Upload`].
#[derive(Debug)]
pub(super) struct UploadFailed;

impl fmt::Display for UploadFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request's body failed")
    }
}

impl std::error::Error for UploadFailed {}
