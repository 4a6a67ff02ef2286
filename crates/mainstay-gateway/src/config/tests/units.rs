//! Durations, sizes, rates and spelling.

use std::time::Duration;

use proptest::prelude::*;

use super::super::spelling::nearest;
use super::super::units::{duration, rate, show_duration, show_rate, show_size, size};

#[test]
fn sizes() {
    for (text, bytes) in [
        ("0", 0),
        ("123", 123),
        ("7B", 7),
        ("64KiB", 65_536),
        ("16MiB", 16 << 20),
        ("16 mib", 16 << 20),
        ("1GB", 1_000_000_000),
        ("2kB", 2_000),
        ("1.5KiB", 1536),
        ("0.5MB", 500_000),
        ("1TiB", 1 << 40),
    ] {
        assert_eq!(size(text), Some(bytes), "{text}");
    }
    for text in ["", "MiB", "1Mb/s", "1.2.3K", "-1", "0.3B", "18446744073709551616", "1 2", "0x10", "1e3"] {
        assert_eq!(size(text), None, "{text}");
    }
}

#[test]
fn rates() {
    assert_eq!(rate("10/s"), Some(10.0));
    assert_eq!(rate("90/m"), Some(1.5));
    assert_eq!(rate("36 / h"), Some(0.01));
    assert_eq!(rate("0"), Some(0.0));
    assert_eq!(rate("0.5/s"), Some(0.5));
    assert_eq!(
        (show_rate(10.0), show_rate(1.5), show_rate(0.0)),
        ("10/s".into(), "90/m".into(), "0/s".into())
    );
}

#[test]
fn durations() {
    assert_eq!(duration("1h30m"), Some(Duration::from_secs(5400)));
    assert_eq!(duration("0"), Some(Duration::ZERO));
    assert_eq!(duration("1500ms"), Some(Duration::from_millis(1500)));
    assert_eq!(show_duration(Duration::from_secs(5400)), "1h30m");
    assert_eq!(show_duration(Duration::from_millis(1500)), "1s500ms");
    assert_eq!(show_duration(Duration::ZERO), "0s");
}

#[test]
fn slips_of_the_pen_are_recognised_and_other_words_are_not() {
    let words = ["attempts", "base_delay", "max_delay", "jitter", "max_wait", "within", "budget"];
    for (written, meant) in [
        ("atempts", Some("attempts")),
        ("attempst", Some("attempts")),
        ("Attempts", Some("attempts")),
        ("base-delay", Some("base_delay")),
        ("maxdelay", Some("max_delay")),
        ("jiter", Some("jitter")),
        ("x", None),
        ("", None),
        ("colour", None),
    ] {
        assert_eq!(nearest(written, words), meant, "{written}");
    }
    assert_eq!(nearest("c", ["a", "b"]), None);
    assert_eq!(nearest("x", []), None);
}

proptest! {
    #[test]
    fn what_is_shown_reads_back(bytes in any::<u64>(), ms in 0_u64..10_000_000_000, shift in 0_u32..40) {
        prop_assert_eq!(size(&show_size(bytes)), Some(bytes));
        let even = (bytes >> 24) << shift.min(24);
        prop_assert_eq!(size(&show_size(even)), Some(even));
        prop_assert_eq!(duration(&show_duration(Duration::from_millis(ms))), Some(Duration::from_millis(ms)));
        let back = rate(&show_rate(ms as f64 / 1e5));
        prop_assert!(back.is_some_and(|back| (back - ms as f64 / 1e5).abs() < 1e-6));
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "\\PC{0,40}") {
        let _ = (size(&text), duration(&text), rate(&text), nearest(&text, ["attempts", "a", ""]));
        let _ = super::parse(&text);
        let _ = super::parse(&super::with(&text));
    }
}
