//! gRPC's pushback.

use super::MAX_WAIT;
use http::HeaderMap;
use std::time::Duration;

/// What `grpc-retry-pushback-ms` says (gRFC A6 "Pushback").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushback {
    /// Try again after this long, which may be zero.
    After(Duration),
    /// Do not try again: the value is negative or cannot be read.
    Never,
}

/// Reads `grpc-retry-pushback-ms` from headers or trailers; `None`: it is not there.
pub fn pushback(metadata: &HeaderMap) -> Option<Pushback> {
    let value = metadata.get("grpc-retry-pushback-ms")?;
    let millis =
        value.to_str().ok().filter(|value| !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()));
    // A number with more digits than fit is very long, not garbage.
    Some(millis.map_or(Pushback::Never, |millis| {
        Pushback::After(millis.parse().map_or(MAX_WAIT, Duration::from_millis).min(MAX_WAIT))
    }))
}
