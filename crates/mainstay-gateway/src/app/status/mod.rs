//! `GET /status`, `/status.json` and `/explain`: how the targets are, and what would become of a call.
//!
//! The page is for people and stands alone: no script, nothing from elsewhere, readable on a phone and in the dark. It reloads
//! itself with `?refresh=SECONDS`. The JSON has the same for programs.
//!
//! Names come from the configuration, but for the models of callers in cooldowns, which are cut. A provider's words are shown
//! with every known key cut out.

mod explain;
mod page;
mod seen;
#[cfg(test)]
mod tests;

pub(super) use self::explain::explain;

use super::{Inner, ReplyBody, json, plain};
use http::{HeaderValue, Response, StatusCode, header};
use seen::Seen;
use std::sync::atomic::Ordering;

/// `GET /status.json`
pub(super) fn status(app: &Inner) -> Response<ReplyBody> {
    json(serde_json::to_value(seen(app)).unwrap_or_default())
}

/// `GET /status`
pub(super) fn page(app: &Inner, query: Option<&str>) -> Response<ReplyBody> {
    const LONGEST: u32 = 3600;
    let refresh = query.unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("refresh="));
    let refresh =
        refresh.and_then(|seconds| seconds.parse().ok()).filter(|seconds| (1..=LONGEST).contains(seconds));
    let mut response = plain(StatusCode::OK, "text/html; charset=utf-8", page::render(&seen(app), refresh));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn seen(app: &Inner) -> Seen {
    Seen::of(app, app.draining.load(Ordering::Relaxed))
}
