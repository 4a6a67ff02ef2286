//! A request body that can be sent again.

mod record;
mod shared;
#[cfg(test)]
mod tests;

use self::shared::{Cursor, Shared};
use crate::BoxError;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use parking_lot::Mutex;
use std::{
    any::Any,
    error::Error,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

/// A body whose every clone yields the whole of it.
///
/// What one clone reads from the original is recorded, lazily and by reference, up to a cap; another clone replays
/// that and then goes on reading the original itself. So it does not matter whether the first reader read all of it,
/// half of it or nothing, nor whether it is gone already: the original is never lost with a reader. Trailers are
/// recorded too.
///
/// * A `Full<Bytes>` and an empty body are cloned by reference and nothing is recorded; the cap does not apply.
/// * Over the cap the recording is dropped: the running reader goes on, [`is_replayable`](Self::is_replayable) turns
///   false, and a trace event says so. A body that says beforehand that it is over the cap is not recorded at all, but
///   can be replayed as long as nothing was read of it.
/// * The clone that began to read last has the original. An earlier one still gets what is recorded, then a
///   [`ReplayError`]: the try that it belonged to is over, and its upload with it.
///
/// `size_hint` is exact for every clone if the original's was, or once the end is known, so each try announces the
/// same length.
///
/// ```
/// use http_body_util::{BodyExt, Full};
/// use mainstay_layers::retry::ReplayBody;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let body = Full::new(&b"twice"[..]);
/// let first = ReplayBody::new(body, 1024);
/// let second = first.clone();
/// assert_eq!(first.collect().await.unwrap().to_bytes(), "twice");
/// assert_eq!(second.collect().await.unwrap().to_bytes(), "twice");
/// # }
/// ```
pub struct ReplayBody<B>(Kind<B>);

enum Kind<B> {
    /// All of it, here from the start.
    Whole { bytes: Bytes, read: bool },
    /// Read by one request only, recorded for none.
    Once { body: Option<B> },
    /// Recorded as it is read.
    Recorded { shared: Arc<Mutex<Shared<B>>>, cursor: Cursor },
}

impl<B> ReplayBody<B>
where
    B: Body + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    /// A body that records up to `cap` bytes of what is read from `body`.
    pub fn new(mut body: B, cap: usize) -> Self {
        if body.is_end_stream() {
            return Self(Kind::Whole { bytes: Bytes::new(), read: true });
        }
        // The commonest body of all needs no recording, so it is worth knowing by its type.
        if let Some(full) = (&mut body as &mut dyn Any).downcast_mut::<Full<Bytes>>() {
            let bytes = std::mem::take(full).into_inner().unwrap_or_default();
            return Self(Kind::Whole { read: bytes.is_empty(), bytes });
        }
        let shared = Arc::new(Mutex::new(Shared::new(body, cap)));
        Self(Kind::Recorded { shared, cursor: Cursor::default() })
    }

    /// A body that is passed on as it is: nothing is recorded and no clone can be read.
    pub fn once(body: B) -> Self {
        Self(Kind::Once { body: Some(body) })
    }

    /// Whether a clone that is made and read now would yield the whole body.
    pub fn is_replayable(&self) -> bool {
        match &self.0 {
            Kind::Whole { .. } => true,
            Kind::Once { .. } => false,
            Kind::Recorded { shared, .. } => shared.lock().is_replayable(),
        }
    }

    /// Lets the record go and makes no further one: no clone will be read any more. The running reader goes on.
    pub fn stop_recording(&self) {
        if let Kind::Recorded { shared, .. } = &self.0 {
            // What is freed is freed outside the lock.
            let record = shared.lock().stop_recording();
            drop(record);
        }
    }
}

impl<B> Clone for ReplayBody<B> {
    /// A reader that starts at the beginning, wherever this one is.
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Kind::Whole { bytes, .. } => Kind::Whole { bytes: bytes.clone(), read: bytes.is_empty() },
            Kind::Once { .. } => Kind::Once { body: None },
            Kind::Recorded { shared, .. } => {
                Kind::Recorded { shared: shared.clone(), cursor: Cursor::default() }
            }
        })
    }
}

impl<B> Body for ReplayBody<B>
where
    B: Body + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            Kind::Whole { read: true, .. } => Poll::Ready(None),
            Kind::Whole { bytes, read } => {
                *read = true;
                Poll::Ready(Some(Ok(Frame::data(bytes.clone()))))
            }
            Kind::Once { body: Some(body) } => {
                Pin::new(body).poll_frame(cx).map_ok(shared::to_bytes).map_err(Into::into)
            }
            Kind::Once { body: None } => Poll::Ready(Some(Err(ReplayError(()).into()))),
            Kind::Recorded { shared, cursor } => shared::poll_frame(shared, cursor, cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole { read, .. } => *read,
            Kind::Once { body } => body.as_ref().is_some_and(Body::is_end_stream),
            Kind::Recorded { shared, cursor } => shared.lock().is_end_stream(cursor),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole { read: true, .. } => SizeHint::with_exact(0),
            Kind::Whole { bytes, .. } => SizeHint::with_exact(bytes.len() as u64),
            Kind::Once { body } => body.as_ref().map_or_else(SizeHint::default, Body::size_hint),
            Kind::Recorded { shared, cursor } => shared.lock().size_hint(cursor),
        }
    }
}

impl<B> fmt::Debug for ReplayBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The body is the caller's prompt: it has no place in a log.
        f.debug_struct("ReplayBody").finish_non_exhaustive()
    }
}

/// A reader of a [`ReplayBody`] can not go on: what it still needs was not recorded, or is another reader's by now.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReplayError(());

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request body can not be replayed: its record or its source is gone")
    }
}

impl Error for ReplayError {}
