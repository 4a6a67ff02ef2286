//! The body of a try's reply.

use super::record::{Record, in_words};
use http_body::{Body, Frame, SizeHint};
use mainstay_layers::{
    BoxError,
    classify::{Classify, HttpClassifier},
};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project! {
    /// A body whose end ends the record of its try.
    #[derive(Debug)]
    pub struct AttemptBody<B> {
        #[pin]
        pub(super) inner: B,
        pub(super) record: Option<Record>,
    }
}

impl<B> Body for AttemptBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let mut this = self.project();
        match ready!(this.inner.as_mut().poll_frame(cx)) {
            Some(Ok(frame)) => {
                if this.inner.is_end_stream() {
                    if let Some(mut record) = this.record.take() {
                        record.succeed();
                    }
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => {
                let error = error.into();
                if let Some(mut record) = this.record.take() {
                    record.fail(&in_words(HttpClassifier::new().error(&*error), &error), None, None);
                }
                Poll::Ready(Some(Err(error)))
            }
            None => {
                if let Some(mut record) = this.record.take() {
                    record.succeed();
                }
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
