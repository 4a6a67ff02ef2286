//! The one type of body that the pools know, so that one pool serves requests with bodies of any type.

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use mainstay_layers::BoxError;
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use std::{
    any::Any,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// Bodies that are whole cost nothing; others are boxed.
pub(super) enum RequestBody {
    Whole(Full<Bytes>),
    Stream(Pin<Box<dyn Body<Data = Bytes, Error = UploadFailed> + Send>>),
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
        let upload = Upload::default();
        (Self::Stream(Box::pin(Erased { body, upload: upload.clone() })), Some(upload))
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
            Self::Stream(body) => body.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(full) => full.is_end_stream(),
            Self::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(full) => full.size_hint(),
            Self::Stream(body) => body.size_hint(),
        }
    }
}

pin_project! {
    /// A body of any type as one of `Bytes`. Its size stays known: without it a request would go out chunked.
    struct Erased<B> {
        #[pin]
        body: B,
        upload: Upload,
    }
}

impl<B> Body for Erased<B>
where
    B: Body<Error: Into<BoxError>>,
{
    type Data = Bytes;
    type Error = UploadFailed;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadFailed>>> {
        let this = self.project();
        Poll::Ready(match ready!(this.body.poll_frame(cx)) {
            // For `Bytes` this moves, and copies nothing.
            Some(Ok(frame)) => Some(Ok(frame.map_data(|mut data| data.copy_to_bytes(data.remaining())))),
            Some(Err(error)) => {
                *this.upload.0.lock() = Some(error.into());
                Some(Err(UploadFailed))
            }
            None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
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
