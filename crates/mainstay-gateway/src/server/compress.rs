//! Compression of replies, for callers who ask for it.
//!
//! Text of more than [`LEAST`] bytes, held whole: JSON and the like. A stream never is, since a compressor holds back what a
//! caller waits for, and SDKs ask for compression without meaning streams.

use crate::app::ReplyBody;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, header};
use http_body::{Body, Frame, SizeHint};
use mainstay::BoxError;
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};
use tower::{ServiceExt, service_fn};
use tower_http::{
    CompressionLevel,
    compression::{CompressionBody, CompressionLayer, Predicate, predicate::SizeAbove},
};
use tower_layer::Layer;

/// Less is not worth a header.
const LEAST: u64 = 1024;

/// What a caller accepts, as it wrote it: only a reply that is worth it is asked what that means.
#[derive(Debug)]
pub(super) struct Accepts {
    first: Option<HeaderValue>,
    more: Vec<HeaderValue>,
}

impl Accepts {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut all = headers.get_all(header::ACCEPT_ENCODING).iter().cloned();
        Self { first: all.next(), more: all.collect() }
    }

    fn into_request(self) -> Request<()> {
        let mut request = Request::new(());
        for value in self.first.into_iter().chain(self.more) {
            request.headers_mut().append(header::ACCEPT_ENCODING, value);
        }
        never_refuse(request.headers_mut());
        request
    }
}

/// `reply`, compressed where that is asked for and worth it.
pub(super) async fn compressed(reply: Response<ReplyBody>, accepts: Accepts) -> Response<MaybeCompressed> {
    if !SizeAbove::new(LEAST).should_compress(&reply) || !is_text(reply.headers()) {
        return reply.map(|inner| MaybeCompressed::Plain { inner });
    }
    // Boxed: a compressor's state is some 10 KiB, and this is on the way of every reply.
    Box::pin(compress(reply, accepts)).await
}

async fn compress(reply: Response<ReplyBody>, accepts: Accepts) -> Response<MaybeCompressed> {
    let reply = Mutex::new(Some(reply));
    let service = service_fn(|_: Request<()>| {
        // It is asked once.
        let reply = reply.lock().take();
        std::future::ready(Ok::<_, Infallible>(
            reply.unwrap_or_else(|| Response::new(ReplyBody::whole(Bytes::new()))),
        ))
    });
    // The slow levels of br and zstd are for files.
    let layer = CompressionLayer::new().no_deflate().quality(CompressionLevel::Fastest);
    let all: fn(_, _, &HeaderMap, &_) -> bool = |_, _, _, _| true;
    let Ok(reply) = layer.compress_when(all).layer(service).oneshot(accepts.into_request()).await;
    reply.map(|inner| MaybeCompressed::Compressed { inner: Box::pin(inner) })
}

pin_project! {
    /// The body of a reply, compressed or as it is.
    #[project = BodyProj]
    pub(super) enum MaybeCompressed {
        Plain { #[pin] inner: ReplyBody },
        Compressed { inner: Pin<Box<CompressionBody<ReplyBody>>> },
    }
}

impl Body for MaybeCompressed {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.project() {
            BodyProj::Plain { inner } => inner.poll_frame(cx),
            BodyProj::Compressed { inner } => inner.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Plain { inner } => inner.is_end_stream(),
            Self::Compressed { inner } => inner.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Plain { inner } => inner.size_hint(),
            Self::Compressed { inner } => inner.size_hint(),
        }
    }
}

fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let starts =
        |with: &str| kind.get(..with.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(with.as_bytes()));
    starts("application/json")
        || starts("text/html")
        || starts("text/plain")
        || starts("application/openmetrics-text")
}

/// Takes "not even uncompressed" (`identity;q=0`, `*;q=0`) out of what a caller accepts: an answer that cost a call is not
/// thrown away for it.
fn never_refuse(headers: &mut HeaderMap) {
    let refuses = |item: &str| {
        let (coding, q) = item.split_once(';').unwrap_or((item, ""));
        let weight = q.trim().strip_prefix("q=").and_then(|q| q.trim().parse::<f32>().ok());
        matches!(coding.trim(), "*" | "identity") && weight == Some(0.0)
    };
    let items = || headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    if !items().flat_map(|value| value.split(',')).any(refuses) {
        return;
    }
    let kept: Vec<&str> = items().flat_map(|value| value.split(',')).filter(|item| !refuses(item)).collect();
    let kept = HeaderValue::from_str(&kept.join(","));
    headers.remove(header::ACCEPT_ENCODING);
    if let Ok(kept) = kept {
        if !kept.is_empty() {
            headers.insert(header::ACCEPT_ENCODING, kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_refused_for_what_they_do_not_accept() {
        for (asked, left) in [
            ("gzip", Some("gzip")),
            ("gzip, identity;q=0", Some("gzip")),
            ("identity;q=0", None),
            ("*;q=0", None),
            ("br;q=0.5, * ; q=0.0", Some("br;q=0.5")),
            ("*", Some("*")),
            ("", Some("")),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(asked));
            never_refuse(&mut headers);
            let got = headers.get(header::ACCEPT_ENCODING).map(|value| value.to_str().unwrap().to_owned());
            assert_eq!(got.as_deref(), left, "{asked}");
        }
    }

    #[test]
    fn text_is_compressed_and_streams_and_files_are_not() {
        for (kind, is) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("text/event-stream", false),
            ("audio/mpeg", false),
            ("application/octet-stream", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
            assert_eq!(is_text(&headers), is, "{kind}");
        }
        assert!(!is_text(&HeaderMap::new()));
    }
}
