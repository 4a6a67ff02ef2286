//! The time at the beginning of a line.

use std::{
    cell::RefCell,
    fmt::{self, Write},
    time::{Duration, SystemTime},
};

/// Of this many lines in the same second all but the first have their date and time of day for nothing.
struct Second {
    since_epoch: u64,
    /// `2026-11-30T20:31:07`
    text: String,
}

thread_local! {
    static LAST: RefCell<Second> = const { RefCell::new(Second { since_epoch: 0, text: String::new() }) };
}

/// Writes `now` in UTC, with microseconds (RFC 3339).
pub(super) fn write(now: SystemTime, to: &mut String) -> fmt::Result {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    LAST.with_borrow_mut(|last| {
        if last.since_epoch != since.as_secs() || last.text.is_empty() {
            let second = SystemTime::UNIX_EPOCH + Duration::from_secs(since.as_secs());
            last.text.clear();
            write!(last.text, "{}", humantime::format_rfc3339_seconds(second))?;
            // Its `Z` comes after the fraction.
            last.text.pop();
            last.since_epoch = since.as_secs();
        }
        to.push_str(&last.text);
        Ok(())
    })?;
    to.push('.');
    // Six digits: a million more, without its first.
    let micros = 1_000_000 + since.subsec_micros();
    to.push_str(itoa::Buffer::new().format(micros).get(1..).unwrap_or_default());
    to.push('Z');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::fmt::{
        format::Writer,
        time::{FormatTime, SystemTime as General},
    };

    #[test]
    fn it_is_written_as_the_general_formatter_writes_it() {
        let general = || {
            let mut text = String::new();
            General.format_time(&mut Writer::new(&mut text)).unwrap();
            text
        };
        // The time goes on meanwhile: ours lies between two of its.
        for _ in 0..100 {
            let before = general();
            let mut ours = String::new();
            write(SystemTime::now(), &mut ours).unwrap();
            assert!((before..=general()).contains(&ours), "{ours}");
        }
    }

    #[test]
    fn seconds_change_and_microseconds_are_padded() {
        let at = |micros: u64| {
            let mut text = String::new();
            write(SystemTime::UNIX_EPOCH + Duration::from_micros(micros), &mut text).unwrap();
            text
        };
        assert_eq!(at(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(at(1_790_000_000_000_042), "2026-09-21T14:13:20.000042Z");
        assert_eq!(at(1_790_000_001_999_999), "2026-09-21T14:13:21.999999Z");
    }
}
