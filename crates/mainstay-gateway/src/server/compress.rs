//! Compression of replies, for callers who ask for it.
//!
//! Text of more than [`LEAST`] bytes, held whole: JSON and the like. A stream never is, since a compressor holds back what a
//! caller waits for, and SDKs ask for compression without meaning streams.

use http::{Extensions, HeaderMap, HeaderValue, StatusCode, Version, header};
use tower_http::{
    CompressionLevel,
    compression::{
        Compression, CompressionLayer, Predicate,
        predicate::{And, SizeAbove},
    },
};
use tower_layer::Layer;

/// Less is not worth a header.
const LEAST: u64 = 1024;

/// What decides whether a reply is compressed.
pub(super) type Worth = And<SizeAbove, fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool>;

/// `service` with its replies compressed where that is asked for.
pub(super) fn compressed<S>(service: S) -> Compression<S, Worth> {
    let is_text: fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool =
        |_, _, headers, _| is_text(headers);
    // The slow levels of br and zstd are for files.
    let layer = CompressionLayer::new().no_deflate().quality(CompressionLevel::Fastest);
    layer.compress_when(SizeAbove::new(LEAST).and(is_text)).layer(service)
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
pub(super) fn never_refuse(headers: &mut HeaderMap) {
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
