//! `Retry-After` as a date, which only a real clock can give.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The HTTP date `seconds` from now; before now when negative.
pub(super) fn in_seconds(seconds: i64) -> String {
    let shift = Duration::from_secs(seconds.unsigned_abs());
    let now = SystemTime::now();
    let then = if seconds < 0 { now.checked_sub(shift) } else { now.checked_add(shift) };
    // The format has four digits for the year; beyond them there is no date to send.
    let last = UNIX_EPOCH + Duration::from_secs(253_402_300_799);
    httpdate::fmt_http_date(then.unwrap_or(UNIX_EPOCH).clamp(UNIX_EPOCH, last))
}
