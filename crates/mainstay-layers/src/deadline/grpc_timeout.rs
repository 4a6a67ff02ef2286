//! The `grpc-timeout` header: one to eight digits and a unit out of `H M S m u n`.
//!
//! Source: gRPC over HTTP/2, "Timeout". `m` is a millisecond, `u` a microsecond, `n` a nanosecond.

use http::{HeaderMap, HeaderName, HeaderValue};
use std::time::Duration;

/// The name of the header.
pub const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// The most that eight digits hold.
const MOST: u128 = 99_999_999;

/// The timeout that `headers` carry; `None` where there is none or it is unreadable.
pub fn from_headers(headers: &HeaderMap) -> Option<Duration> {
    parse(headers.get(GRPC_TIMEOUT)?.as_bytes())
}

/// Reads a value of the header.
///
/// ```
/// use mainstay_layers::deadline::grpc_timeout::parse;
/// use std::time::Duration;
///
/// assert_eq!(parse("1500m"), Some(Duration::from_millis(1500)));
/// assert_eq!(parse("123456789S"), None);
/// assert_eq!(parse("1.5S"), None);
/// ```
pub fn parse(value: impl AsRef<[u8]>) -> Option<Duration> {
    let (&unit, digits) = value.as_ref().split_last()?;
    if digits.is_empty() || digits.len() > 8 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let n = digits.iter().fold(0_u64, |n, digit| n * 10 + u64::from(digit - b'0'));
    Some(match unit {
        b'H' => Duration::from_secs(n * 3600),
        b'M' => Duration::from_secs(n * 60),
        b'S' => Duration::from_secs(n),
        b'm' => Duration::from_millis(n),
        b'u' => Duration::from_micros(n),
        b'n' => Duration::from_nanos(n),
        _ => return None,
    })
}

/// Writes a timeout in the finest unit that eight digits have room for, rounded down: the server should give up no later
/// than we do.
///
/// ```
/// use mainstay_layers::deadline::grpc_timeout::format;
/// use std::time::Duration;
///
/// assert_eq!(format(Duration::from_millis(1500)), "1500000u");
/// assert_eq!(format(Duration::from_secs(120)), "120000m");
/// ```
pub fn format(timeout: Duration) -> HeaderValue {
    let nanos = timeout.as_nanos();
    let units = [
        ('n', 1),
        ('u', 1_000),
        ('m', 1_000_000),
        ('S', 1_000_000_000),
        ('M', 60_000_000_000),
        ('H', 3_600_000_000_000),
    ];
    let (unit, n) = units
        .iter()
        .map(|(unit, size)| (*unit, nanos / size))
        .find(|(_, n)| *n <= MOST)
        .unwrap_or(('H', MOST));
    // Digits and a letter are always a valid value.
    HeaderValue::try_from(format!("{n}{unit}")).unwrap_or(HeaderValue::from_static("0n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unreadable_values_are_none() {
        for value in ["", "S", "1", "-1S", "+1S", " 1S", "1 S", "1s", "1h", "000000001S", "1SS", "٣S"] {
            assert_eq!(parse(value), None, "{value:?}");
        }
    }

    #[test]
    fn every_unit_and_the_bounds_are_read() {
        assert_eq!(parse("2H"), Some(Duration::from_secs(7200)));
        assert_eq!(parse("2M"), Some(Duration::from_secs(120)));
        assert_eq!(parse("2S"), Some(Duration::from_secs(2)));
        assert_eq!(parse("2m"), Some(Duration::from_millis(2)));
        assert_eq!(parse("2u"), Some(Duration::from_micros(2)));
        assert_eq!(parse("2n"), Some(Duration::from_nanos(2)));
        assert_eq!(parse("0n"), Some(Duration::ZERO));
        assert_eq!(parse("99999999H"), Some(Duration::from_secs(99_999_999 * 3600)));
    }

    #[test]
    fn a_timeout_beyond_eight_digits_of_hours_is_the_most_that_can_be_said() {
        assert_eq!(format(Duration::MAX), "99999999H");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again_and_never_longer(secs in 0_u64..1_000_000_000, nanos in 0_u32..1_000_000_000) {
            let timeout = Duration::new(secs, nanos);
            let read = parse(format(timeout).as_bytes()).unwrap();
            prop_assert!(read <= timeout);
            // Eight digits: at most one part in ten million is lost, or one unit of sixty.
            prop_assert!(timeout - read <= timeout / 100_000);
        }
    }
}
