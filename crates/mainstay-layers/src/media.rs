//! What kind of reply a content type announces.

use http::{HeaderMap, header::CONTENT_TYPE};

/// How the bytes of a message come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    /// One document.
    Whole,
    /// Events, one after the other, for as long as it takes.
    Events,
    /// gRPC: one message or many, the content type does not say.
    Grpc,
    /// No content type.
    Unknown,
}

const EVENTS: [&str; 3] = ["text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream"];

impl Media {
    /// What the `content-type` of `headers` says. Parameters and case do not matter (RFC 9110 §8.3.1).
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let Some(value) = headers.get(CONTENT_TYPE) else { return Media::Unknown };
        let value = value.as_bytes();
        // As most are written.
        if value == b"application/json" {
            return Media::Whole;
        }
        let essence = value.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
        if EVENTS.iter().any(|name| essence.eq_ignore_ascii_case(name.as_bytes())) {
            return Media::Events;
        }
        const GRPC: &[u8] = b"application/grpc";
        match essence.split_at_checked(GRPC.len()) {
            Some((start, b"" | [b'+' | b'-', ..])) if start.eq_ignore_ascii_case(GRPC) => Media::Grpc,
            _ => Media::Whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn of(value: &str) -> Media {
        Media::of(&HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_str(value).unwrap())]))
    }

    #[test]
    fn parameters_case_and_blanks_do_not_matter() {
        assert_eq!(of("Text/Event-Stream ; charset=utf-8"), Media::Events);
        assert_eq!(of("application/x-ndjson"), Media::Events);
        assert_eq!(of("application/vnd.amazon.eventstream"), Media::Events);
        assert_eq!(of("application/grpc"), Media::Grpc);
        assert_eq!(of("application/grpc+proto"), Media::Grpc);
        assert_eq!(of("application/grpcish"), Media::Whole);
        assert_eq!(of("application/json"), Media::Whole);
        assert_eq!(of("text/event-streams"), Media::Whole);
        assert_eq!(of(""), Media::Whole);
        assert_eq!(Media::of(&HeaderMap::new()), Media::Unknown);
    }
}
