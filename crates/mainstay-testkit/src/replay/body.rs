//! Bodies that are recorded as they pass.

use super::{
    entry::{Entry, Piece, Text},
    record::Sink,
};
use bytes::{Buf, BytesMut};
use http_body::{Body, Frame, SizeHint};
use mainstay_layers::BoxError;
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::time::Instant;

const MAX: usize = 16 << 20;

/// The exchange while it is under way. Written when it goes.
pub(super) struct Exchange {
    entry: Entry,
    request: BytesMut,
    recorded: usize,
    last: Instant,
    ended: bool,
    sink: Sink,
}

/// Which of the two bodies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Side {
    Request,
    Response,
}

impl Exchange {
    pub(super) fn new(entry: Entry, sink: Sink) -> Self {
        Self { entry, request: BytesMut::new(), recorded: 0, last: Instant::now(), ended: false, sink }
    }

    pub(super) fn replied(&mut self, status: u16, headers: Vec<(String, String)>) {
        self.entry.status = Some(status);
        self.entry.response_headers = headers;
        self.last = Instant::now();
    }

    pub(super) fn failed(&mut self, error: String) {
        self.entry.error = Some(error);
        self.ended = true;
    }

    fn data(&mut self, side: Side, mut data: impl Buf) {
        let before = if side == Side::Request { self.request.len() } else { self.recorded };
        if before + data.remaining() > MAX {
            self.entry.cut = true;
            return;
        }
        let data = data.copy_to_bytes(data.remaining());
        if side == Side::Request {
            self.request.extend_from_slice(&data);
            return;
        }
        self.recorded += data.len();
        let after = std::mem::replace(&mut self.last, Instant::now());
        let after_ms = u64::try_from(self.last.duration_since(after).as_millis()).unwrap_or(u64::MAX);
        self.entry.response.push(Piece { after_ms, data: Text::new(&data) });
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.entry.request = Text::new(&self.request);
        self.entry.cut |= !self.ended;
        self.sink.write(&self.entry);
    }
}

pin_project! {
    /// A request's or a reply's body that is recorded as it passes; it changes nothing.
    pub struct RecordBody<B> {
        #[pin]
        inner: B,
        side: Side,
        exchange: Arc<Mutex<Exchange>>,
    }
}

impl<B> RecordBody<B> {
    pub(super) fn request(inner: B, exchange: Arc<Mutex<Exchange>>) -> Self {
        Self { inner, side: Side::Request, exchange }
    }
}

impl<B: Body> RecordBody<B> {
    pub(super) fn response(inner: B, exchange: Arc<Mutex<Exchange>>) -> Self {
        exchange.lock().ended |= inner.is_end_stream();
        Self { inner, side: Side::Response, exchange }
    }
}

impl<B> Body for RecordBody<B>
where
    B: Body,
    B::Data: Clone,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let mut this = self.project();
        let frame = ready!(this.inner.as_mut().poll_frame(cx)).map(|frame| frame.map_err(Into::into));
        let mut exchange = this.exchange.lock();
        match &frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    exchange.data(*this.side, data.clone());
                }
                exchange.ended |= *this.side == Side::Response && this.inner.is_end_stream();
            }
            Some(Err(error)) if *this.side == Side::Response => exchange.failed(error.to_string()),
            None if *this.side == Side::Response => exchange.ended = true,
            Some(Err(_)) | None => {}
        }
        drop(exchange);
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl<B: std::fmt::Debug> std::fmt::Debug for RecordBody<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordBody")
            .field("inner", &self.inner)
            .field("side", &self.side)
            .finish_non_exhaustive()
    }
}
