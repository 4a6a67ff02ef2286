//! Lengths of time.

use super::MAX_WAIT;
use std::time::Duration;

const NANOS_PER_MILLI: u128 = 1_000_000;
const NANOS_PER_SEC: u128 = 1_000_000_000;

/// A decimal number of seconds, `7` or `1.5`.
pub fn seconds(value: &str) -> Option<Duration> {
    wait(decimal(value.trim(), NANOS_PER_SEC)?)
}

/// A decimal number of milliseconds.
pub fn millis(value: &str) -> Option<Duration> {
    wait(decimal(value.trim(), NANOS_PER_MILLI)?)
}

/// A protobuf `Duration` in JSON: decimal seconds and an `s` (protobuf's JSON mapping; google/protobuf/duration.proto).
pub fn proto_duration(value: &str) -> Option<Duration> {
    seconds(value.trim().strip_suffix('s')?)
}

/// A duration as Go prints it: `6m0s`, `120ms`, `1h2m3s`, `9m38.016s`, `7.66s`; days (`1d`) too. A number without a unit
/// is none: on Azure `-1`, `0` and bare numbers stand in such headers and mean nothing certain.
pub fn go_duration(value: &str) -> Option<Duration> {
    let mut rest = value.trim();
    let mut sum = 0_u128;
    while !rest.is_empty() {
        let (nanos, unit, tail) = component(rest)?;
        if !matches!(unit, "d" | "h" | "m" | "s" | "ms" | "us" | "µs" | "μs" | "ns") {
            return None;
        }
        sum = sum.saturating_add(nanos);
        rest = tail;
    }
    wait(sum)
}

/// A number and the unit behind it, with what follows: `(nanoseconds, unit, rest)`. Blanks between the two are allowed.
pub(super) fn component(text: &str) -> Option<(u128, &str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, rest) = text.split_at_checked(end)?;
    let rest = rest.trim_start_matches(' ');
    let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at_checked(end)?;
    Some((decimal(number, nanos_in(unit)?)?, unit, rest))
}

/// The units of Go, and those that people write.
fn nanos_in(unit: &str) -> Option<u128> {
    const UNITS: [(&[&str], u128); 7] = [
        (&["ns"], 1),
        (&["us", "µs", "μs"], 1_000),
        (&["ms", "millisecond", "milliseconds"], NANOS_PER_MILLI),
        (&["s", "sec", "secs", "second", "seconds"], NANOS_PER_SEC),
        (&["m", "min", "mins", "minute", "minutes"], 60 * NANOS_PER_SEC),
        (&["h", "hr", "hrs", "hour", "hours"], 3_600 * NANOS_PER_SEC),
        (&["d", "day", "days"], 86_400 * NANOS_PER_SEC),
    ];
    UNITS
        .iter()
        .find(|(names, _)| names.iter().any(|name| name.eq_ignore_ascii_case(unit)))
        .map(|(_, nanos)| *nanos)
}

/// Digits and at most one point, times `unit`, in nanoseconds rounded up. No signs, exponents, `inf` or `nan`. Exact,
/// so that `6.57` is not a nanosecond more, and without an upper bound: it saturates.
pub(super) fn decimal(value: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
        return None;
    }
    let digit = |byte: u8| u128::from(byte - b'0');
    let whole = whole.bytes().fold(0_u128, |n, byte| n.saturating_mul(10).saturating_add(digit(byte)));
    // Eighteen digits of the fraction are more than the nanoseconds of a day can show.
    let (mut part, mut scale, mut more) = (0_u128, 1_u128, 0_u128);
    for (n, byte) in fraction.bytes().enumerate() {
        if n < 18 {
            part = part * 10 + digit(byte);
            scale *= 10;
        } else if byte != b'0' {
            more = 1;
        }
    }
    let part = (part * unit).div_ceil(scale).saturating_add(more);
    Some(whole.saturating_mul(unit).saturating_add(part))
}

/// Nanoseconds as a wait: rounded up to milliseconds, zero is none, a day at most.
pub(super) fn wait(nanos: u128) -> Option<Duration> {
    let millis = nanos.div_ceil(NANOS_PER_MILLI).min(MAX_WAIT.as_millis());
    u64::try_from(millis).ok().filter(|millis| *millis > 0).map(Duration::from_millis)
}
