//! A reply that is no stream, collected until it can be judged as a whole.

use bytes::{Bytes, BytesMut};
use http_body::Body;
use mainstay_layers::BoxError;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::time::Sleep;

/// The body of a reply that is no stream, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Collected {
    first: Bytes,
    rest: BytesMut,
}

impl Collected {
    fn push(&mut self, data: Bytes) {
        if self.first.is_empty() && self.rest.is_empty() {
            self.first = data;
        } else {
            if self.rest.is_empty() {
                self.rest.extend_from_slice(&std::mem::take(&mut self.first));
            }
            self.rest.extend_from_slice(&data);
        }
    }

    fn len(&self) -> usize {
        self.first.len().max(self.rest.len())
    }

    pub(super) fn take(&mut self) -> Bytes {
        if self.rest.is_empty() { std::mem::take(&mut self.first) } else { self.rest.split().freeze() }
    }
}

/// How the reading of a body ended.
pub(super) enum End {
    /// At its end.
    Whole,
    /// At a bound: of an error's body, the rest is not worth waiting for.
    Bound,
    /// It broke.
    Broken(BoxError),
}

/// Reads a body to its end; with `max` and a limit of time, no further than those.
pub(super) fn poll_collect<B>(
    mut body: Pin<&mut B>,
    read: &mut Collected,
    limit: Pin<&mut Option<Sleep>>,
    max: Option<usize>,
    cx: &mut Context<'_>,
) -> Poll<End>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    loop {
        match body.as_mut().poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    read.push(data);
                }
                if max.is_some_and(|max| read.len() > max) {
                    return Poll::Ready(End::Bound);
                }
            }
            Poll::Ready(Some(Err(error))) => return Poll::Ready(End::Broken(error.into())),
            Poll::Ready(None) => return Poll::Ready(End::Whole),
            Poll::Pending => {
                return match limit.as_pin_mut() {
                    Some(sleep) => sleep.poll(cx).map(|()| End::Bound),
                    None => Poll::Pending,
                };
            }
        }
    }
}
