//! Reads a request's body whole.

use bytes::{BufMut, Bytes, BytesMut};
use http_body::Body;
use mainstay_layers::BoxError;
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

const MAX: usize = 64 << 20;

pin_project! {
    /// The data of a body, without its trailers.
    #[derive(Debug)]
    pub(crate) struct Collect<B> {
        #[pin]
        body: B,
        got: BytesMut,
    }
}

impl<B> Collect<B> {
    pub(crate) fn new(body: B) -> Self {
        Self { body, got: BytesMut::new() }
    }
}

impl<B> Future for Collect<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Output = Result<Bytes, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match ready!(this.body.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        this.got.put(data);
                    }
                    if this.got.len() > MAX {
                        return Poll::Ready(Err("the request's body is over 64 MiB".into()));
                    }
                }
                Some(Err(error)) => return Poll::Ready(Err(error.into())),
                None => return Poll::Ready(Ok(std::mem::take(this.got).freeze())),
            }
        }
    }
}
