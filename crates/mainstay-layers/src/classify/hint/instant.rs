//! Points in time.

use super::duration::wait;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The wait from `now` until `at`; past is none.
pub fn until(at: SystemTime, now: SystemTime) -> Option<Duration> {
    wait(at.duration_since(now).ok()?.as_nanos())
}

/// An HTTP date in any of its three forms: IMF-fixdate, RFC 850's, asctime's (RFC 9110 §5.6.7).
pub fn http_date(value: &str) -> Option<SystemTime> {
    httpdate::parse_http_date(value.trim()).ok()
}

/// Seconds since the epoch, or milliseconds: more than 10¹¹ are milliseconds, since as seconds they would be the year
/// 5138 (Cohere's SDK means seconds, OpenRouter milliseconds).
pub fn epoch(value: &str) -> Option<SystemTime> {
    const MOST_SECONDS: u128 = 100_000_000_000;
    let nanos = super::duration::decimal(value.trim(), 1_000_000_000)?;
    let nanos = if nanos > MOST_SECONDS * 1_000_000_000 { nanos / 1_000 } else { nanos };
    // A number beyond all years is as unreadable as none.
    let seconds = u64::try_from(nanos / 1_000_000_000).ok()?;
    let rest = u32::try_from(nanos % 1_000_000_000).ok()?;
    UNIX_EPOCH.checked_add(Duration::new(seconds, rest))
}

/// An instant of RFC 3339 §5.6, with `Z` or an offset: `2026-11-30T12:00:00.5+01:00`. Before 1970 is none.
pub fn rfc3339(value: &str) -> Option<SystemTime> {
    let mut at = Cursor(value.trim().as_bytes());
    let (year, month, day) = (at.digits(4)?, at.then(b"-")?.digits(2)?, at.then(b"-")?.digits(2)?);
    at.then(b"Tt ")?;
    let (hour, minute, second) = (at.digits(2)?, at.then(b":")?.digits(2)?, at.then(b":")?.digits(2)?);
    let nanos = if at.then(b".").is_some() { at.fraction()? } else { 0 };
    let offset = match at.next()? {
        b'Z' | b'z' => 0,
        sign @ (b'+' | b'-') => {
            let (hours, minutes) = (at.digits(2)?, at.then(b":")?.digits(2)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 3600 + minutes * 60) * if sign == b'+' { 1 } else { -1 }
        }
        _ => return None,
    };
    // A leap second is the first one of the next minute here.
    let valid = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    if !valid || hour > 23 || minute > 59 || second > 60 || !at.0.is_empty() {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    UNIX_EPOCH.checked_add(Duration::new(u64::try_from(seconds).ok()?, nanos))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let before = |year: i64| year * 365 + (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
    before(year) - before(1970) + (1..month).map(|month| days_in(year, month)).sum::<i64>() + day - 1
}

/// Bytes that are read from the front.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// One of these bytes; else nothing is read.
    fn then(&mut self, any: &[u8]) -> Option<&mut Self> {
        if !any.contains(self.0.first()?) {
            return None;
        }
        self.next();
        Some(self)
    }

    /// Exactly so many digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let mut number = 0;
        for _ in 0..count {
            let byte = self.next().filter(u8::is_ascii_digit)?;
            number = number * 10 + i64::from(byte - b'0');
        }
        Some(number)
    }

    /// The digits behind the point, as nanoseconds; further ones round up.
    fn fraction(&mut self) -> Option<u32> {
        let (mut nanos, mut scale, mut count, mut more) = (0_u32, 100_000_000_u32, 0_usize, 0);
        while let Some(byte) = self.0.first().copied().filter(u8::is_ascii_digit) {
            self.next();
            let digit = u32::from(byte - b'0');
            nanos += digit * scale;
            more |= u32::from(scale == 0 && digit > 0);
            scale /= 10;
            count += 1;
        }
        (count > 0).then(|| (nanos + more).min(999_999_999))
    }
}
