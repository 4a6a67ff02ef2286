//! The gateway's own refusals, and providers' errors, in the dialect of the path.

mod failed;
mod refusal;
mod seen;
mod stream;
#[cfg(test)]
mod tests;

pub(super) use self::{
    failed::{failed, failed_event},
    refusal::Refusal,
    stream::{ShuttingDown, stream_error},
};

use super::ReplyBody;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use mainstay::{dialect, route::Attempt, secret::Redactor};
use std::time::Duration;

fn attempts(failed: &[Attempt], redactor: &Redactor) -> Vec<dialect::Attempt> {
    let entries = failed.iter().map(Attempt::to_entry);
    entries
        .map(|entry| dialect::Attempt { message: short(&redactor.text(&entry.message)), ..entry })
        .collect()
}

/// A wait as `Retry-After` wants it: whole seconds, rounded up, so that nobody comes too early.
pub(super) fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// Words for people: not a page.
fn short(message: &str) -> String {
    const LONGEST: usize = 500;
    match message.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...", message.get(..at).unwrap_or_default()),
        None => message.to_owned(),
    }
}

fn error_response(status: StatusCode, body: Bytes) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
