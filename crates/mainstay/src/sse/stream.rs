//! Events of a body.

use super::{Event, EventStreamError, Scanner};
use bytes::Buf;
use futures_core::Stream;
use http_body::Body;
use pin_project_lite::pin_project;
use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project! {
    /// The events of a response body, as a [`Stream`].
    ///
    /// Comments are skipped; trailers are dropped. Frames that hold several events give them one by one. The stream
    /// does not stop at `[DONE]`: that is an event, see [`Event::is_done`]. After an error, or the end, the body is
    /// dropped at once and the stream stays at its end.
    ///
    /// # Errors
    ///
    /// [`EventStreamError`]: the body's own error, an event over the limit, or a body that ended inside an event.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http_body_util::Full;
    /// use mainstay::sse::EventStream;
    ///
    /// # tokio_test::block_on(async {
    /// let body = Full::new(Bytes::from("event: greeting\ndata: hello\n\ndata: [DONE]\n\n"));
    /// let mut events = EventStream::new(body);
    /// let first = events.next().await.unwrap().unwrap();
    /// assert_eq!((first.name(), first.data()), ("greeting", &b"hello"[..]));
    /// assert!(events.next().await.unwrap().unwrap().is_done());
    /// assert!(events.next().await.is_none());
    /// # });
    /// ```
    #[derive(Debug)]
    pub struct EventStream<B> {
        #[pin]
        body: Option<B>,
        scanner: Scanner,
        done: bool,
    }
}

impl<B> EventStream<B> {
    /// The events of `body`, each at most [`DEFAULT_MAX_EVENT`](super::DEFAULT_MAX_EVENT) bytes.
    pub fn new(body: B) -> Self {
        Self::with_scanner(body, Scanner::new())
    }

    /// The same with a scanner of your own, for another limit.
    pub fn with_scanner(body: B, scanner: Scanner) -> Self {
        Self { body: Some(body), scanner, done: false }
    }
}

impl<B: Body + Unpin> EventStream<B> {
    /// The next event.
    pub async fn next(&mut self) -> Option<Result<Event, EventStreamError<B::Error>>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl<B: Body> Stream for EventStream<B> {
    type Item = Result<Event, EventStreamError<B::Error>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        while !*this.done {
            let ended = this.body.is_none();
            let block = if ended { this.scanner.finish() } else { this.scanner.next_block() };
            let error = match block {
                Ok(Some(block)) => match block.event {
                    Some(event) => return Poll::Ready(Some(Ok(event))),
                    None if block.complete || !has_field(&block.raw) => continue,
                    None => EventStreamError::Truncated,
                },
                Ok(None) if ended => break,
                Ok(None) => match this.body.as_mut().as_pin_mut().map(|body| body.poll_frame(cx)) {
                    Some(frame) => match ready!(frame) {
                        Some(Ok(frame)) => {
                            if let Ok(mut data) = frame.into_data() {
                                this.scanner.push(data.copy_to_bytes(data.remaining()));
                            }
                            continue;
                        }
                        Some(Err(error)) => EventStreamError::Body(error),
                        None => {
                            this.body.set(None);
                            continue;
                        }
                    },
                    None => break,
                },
                Err(error) => EventStreamError::Sse(error),
            };
            this.body.set(None);
            *this.done = true;
            return Poll::Ready(Some(Err(error)));
        }
        *this.done = true;
        Poll::Ready(None)
    }
}

/// Whether the rest of a stream holds more than comments: something of an event was lost.
fn has_field(rest: &[u8]) -> bool {
    rest.split(|b| matches!(b, b'\r' | b'\n')).any(|line| !matches!(line.first(), None | Some(b':')))
}
