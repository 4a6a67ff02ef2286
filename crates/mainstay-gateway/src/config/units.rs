//! Durations, sizes and rates as people write them, and back.

use std::time::Duration;

/// What a message says that a duration looks like.
pub(super) const DURATION: &str = "a duration such as \"250ms\", \"30s\", \"2m\" or \"1h30m\"";
/// What a message says that a size looks like.
pub(super) const SIZE: &str = "a size such as \"64KiB\", \"16MiB\", \"1GB\" or a number of bytes";
/// What a message says that a rate looks like.
pub(super) const RATE: &str = "a rate such as \"10/s\" or \"600/m\"";

/// Longer is hardly meant (humantime reads `5M` as five months), and far from what a clock can add.
pub(super) const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// `"1h30m"`, `"250ms"`, `"0"`. Exact units only: no bare number but zero.
pub(super) fn duration(text: &str) -> Option<Duration> {
    humantime::parse_duration(text).ok()
}

/// The shortest form that [`duration`] reads back.
pub(super) fn show_duration(value: Duration) -> String {
    humantime::format_duration(value).to_string().replace(' ', "")
}

const UNITS: [(&str, u64); 9] = [
    ("", 1),
    ("b", 1),
    ("kb", 1_000),
    ("kib", 1 << 10),
    ("mb", 1_000_000),
    ("mib", 1 << 20),
    ("gb", 1_000_000_000),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

/// `"64KiB"`, `"1.5MB"`, `"123"`. Case does not matter; a fraction must come out as whole bytes.
pub(super) fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let unit = unit.trim_start().to_ascii_lowercase();
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    match number.split_once('.') {
        None => number.parse::<u64>().ok()?.checked_mul(*factor),
        Some((whole, part)) => fraction(whole, part, *factor),
    }
}

fn fraction(whole: &str, part: &str, factor: u64) -> Option<u64> {
    // Nine places keep the product below within u128 by far.
    if part.is_empty() || part.len() > 9 || !part.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let scale = 10_u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let digits = u128::from(whole.parse::<u64>().ok()?).checked_mul(scale)? + part.parse::<u128>().ok()?;
    let bytes = digits.checked_mul(u128::from(factor))?;
    if bytes % scale == 0 { u64::try_from(bytes / scale).ok() } else { None }
}

/// The shortest form that [`size`] reads back: `16MiB`, `1500`.
pub(super) fn show_size(bytes: u64) -> String {
    for (unit, shift) in [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        let one = 1_u64 << shift;
        if bytes >= one && bytes % one == 0 {
            return format!("{}{unit}", bytes / one);
        }
    }
    bytes.to_string()
}

/// `"10/s"`, `"90/m"`, `"1/h"`, `"0"`: how many in a second.
pub(super) fn rate(text: &str) -> Option<f64> {
    let text = text.trim();
    if text == "0" {
        return Some(0.0);
    }
    let (number, per) = text.split_once('/')?;
    let seconds = match per.trim() {
        "s" | "sec" | "second" => 1.0,
        "m" | "min" | "minute" => 60.0,
        "h" | "hour" => 3600.0,
        _ => return None,
    };
    let number: f64 = number.trim().parse().ok()?;
    // Written as a range so that NaN falls out as well.
    (0.0..=1e6).contains(&number).then_some(number / seconds)
}

/// The form that [`rate`] reads back.
pub(super) fn show_rate(per_second: f64) -> String {
    for (unit, seconds) in [("s", 1.0), ("m", 60.0), ("h", 3600.0)] {
        let number = per_second * seconds;
        let whole = number.round();
        if (number - whole).abs() < 1e-6 && (whole != 0.0 || per_second == 0.0) {
            let text = format!("{whole}/{unit}");
            // A number that is too large for the reader is told per second.
            if rate(&text).is_some() {
                return text;
            }
        }
    }
    format!("{per_second}/s")
}
