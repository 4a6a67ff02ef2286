//! The least that a layer can be which hears of the end of a body.

use super::memory::Reply;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};
use tower::util::MapResponseLayer;

/// A layer that puts the guard into the body of each reply, and does nothing else.
pub(crate) fn guard() -> MapResponseLayer<impl Fn(Response<Reply>) -> Response<Guarded<Reply>> + Clone> {
    let ended = Arc::new(AtomicU64::new(0));
    MapResponseLayer::new(move |reply: Response<Reply>| {
        let ended = ended.clone();
        reply.map(|body| Guarded { inner: body, ended: Some(ended) })
    })
}

pin_project! {
    /// A body that is counted when it has ended.
    pub(crate) struct Guarded<B> {
        #[pin]
        inner: B,
        ended: Option<Arc<AtomicU64>>,
    }
}

impl<B: Body> Body for Guarded<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.inner.as_mut().poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) || this.inner.is_end_stream() {
            if let Some(ended) = this.ended.take() {
                ended.fetch_add(1, Relaxed);
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
