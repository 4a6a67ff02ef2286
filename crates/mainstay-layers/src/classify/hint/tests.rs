use super::*;
use proptest::prelude::*;
use std::time::UNIX_EPOCH;

const NOON: &str = "Mon, 30 Nov 2026 12:00:00 GMT";

fn ms(millis: u64) -> Option<Duration> {
    Some(Duration::from_millis(millis))
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap())).collect()
}

fn wait(pairs: &[(&'static str, &str)]) -> Option<Duration> {
    from_reply(StatusCode::TOO_MANY_REQUESTS, &headers(pairs))
}

#[test]
fn hints_are_looked_at_in_their_order_and_a_useless_one_is_passed_over() {
    let all = [
        ("retry-after-ms", "1"),
        ("x-ms-retry-after-ms", "2"),
        ("retry-after", "3"),
        ("x-amz-retry-after", "4"),
        ("x-ratelimit-reset-requests", "5s"),
    ];
    for (skip, wanted) in [(0, 1), (1, 2), (2, 3_000), (3, 4), (4, 5_000)] {
        assert_eq!(wait(&all[skip..]), ms(wanted));
    }
    assert_eq!(
        wait(&[("retry-after-ms", "0"), ("retry-after", "soon"), ("x-amz-retry-after", "1500")]),
        ms(1500)
    );
}

#[test]
fn seconds_are_whole_or_not_and_fractions_are_rounded_up() {
    assert_eq!(seconds("7"), ms(7_000));
    assert_eq!(seconds(" 1.5 "), ms(1_500));
    assert_eq!(seconds("6.57"), ms(6_570));
    assert_eq!(seconds("34.074824224"), ms(34_075));
    assert_eq!(seconds("0.0000000000000000000001"), ms(1));
    assert_eq!(seconds(".5"), ms(500));
    assert_eq!(seconds("5."), ms(5_000));
    assert_eq!(millis("1250.2"), ms(1_251));
}

#[test]
fn zero_negative_not_a_number_and_junk_are_no_hint() {
    for value in [
        "", " ", "0", "0.000", "-5", "+5", "nan", "inf", "Infinity", "1e3", "0x10", "1_000", ".", "1.2.3",
        "soon", "٣",
    ] {
        assert_eq!(retry_after(value, UNIX_EPOCH), None, "{value:?}");
        assert_eq!(millis(value), None, "{value:?}");
    }
}

#[test]
fn very_many_digits_are_very_long_and_not_garbage() {
    for value in ["86401", "999999999999", "99999999999999999999999999", &"9".repeat(4_000)] {
        assert_eq!(seconds(value), Some(MAX_WAIT), "{value}");
    }
    assert_eq!(go_duration("9999999999999999999999999h"), Some(MAX_WAIT));
    assert_eq!(proto_duration("315576000000s"), Some(MAX_WAIT));
}

#[test]
fn dates_in_all_three_forms_are_measured_against_the_replys_own_clock() {
    for date in
        ["Mon, 30 Nov 2026 12:00:30 GMT", "Monday, 30-Nov-26 12:00:30 GMT", "Mon Nov 30 12:00:30 2026"]
    {
        assert_eq!(wait(&[("date", NOON), ("retry-after", date)]), ms(30_000), "{date}");
    }
    assert_eq!(wait(&[("date", NOON), ("retry-after", "Mon, 30 Nov 2026 11:59:00 GMT")]), None);
    assert_eq!(wait(&[("date", NOON), ("retry-after", NOON)]), None);
    // Our own clock, where the reply has none.
    assert_eq!(wait(&[("retry-after", "Thu Dec 31 23:59:59 2099")]), Some(MAX_WAIT));
    assert_eq!(wait(&[("date", NOON), ("retry-after", "Mon, 30 Nov 2026 12:00:30 +0000")]), None);
}

#[test]
fn durations_as_go_prints_them() {
    for (value, wanted) in [
        ("120ms", 120),
        ("1s", 1_000),
        ("1.57s", 1_570),
        ("50.529s", 50_529),
        ("6m0s", 360_000),
        ("9m38.016s", 578_016),
        ("1h2m3s", 3_723_000),
        ("2m59.56s", 179_560),
        ("1500µs", 2),
        ("1ns", 1),
        ("1d", 86_400_000),
    ] {
        assert_eq!(go_duration(value), ms(wanted), "{value}");
    }
    for value in ["-1", "0", "30", "0s", "-1s", "s", "5x", "5 parsecs", "1h-2m", "1h 2", "m5", "6m0s!"] {
        assert_eq!(go_duration(value), None, "{value}");
    }
}

#[test]
fn durations_of_protobuf() {
    assert_eq!(proto_duration("34s"), ms(34_000));
    assert_eq!(proto_duration("41.5s"), ms(41_500));
    assert_eq!(proto_duration("37025.723541104s"), ms(37_025_724));
    for value in ["0s", "-1s", "34", "34ms", "1m", "s", ""] {
        assert_eq!(proto_duration(value), None, "{value}");
    }
}

#[test]
fn instants_of_rfc_3339() {
    let noon = http_date(NOON).unwrap();
    let at =
        |value: &str| rfc3339(value).map(|at| at.duration_since(noon).map_or(-1, |d| d.as_nanos() as i128));
    assert_eq!(at("2026-11-30T12:00:00Z"), Some(0));
    assert_eq!(at("2026-11-30t12:00:01z"), Some(1_000_000_000));
    assert_eq!(at("2026-11-30 13:00:00.25+01:00"), Some(250_000_000));
    assert_eq!(at("2026-11-30T10:30:00.000000001-01:30"), Some(1));
    assert_eq!(at("2026-11-30T11:59:60Z"), Some(0));
    assert_eq!(rfc3339("1970-01-01T00:00:00Z"), Some(UNIX_EPOCH));
    assert_eq!(rfc3339("2000-02-29T00:00:00Z"), Some(UNIX_EPOCH + Duration::from_secs(951_782_400)));
    assert_eq!(rfc3339("9999-12-31T23:59:59Z"), Some(UNIX_EPOCH + Duration::from_secs(253_402_300_799)));
    for value in [
        "",
        "2026-11-30",
        "2026-11-30T12:00:00",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-11-31T00:00:00Z",
        "2026-11-30T24:00:00Z",
        "2026-11-30T12:60:00Z",
        "2026-11-30T12:00:61Z",
        "2026-11-30T12:00:00.Z",
        "2026-11-30T12:00:00+1:00",
        "2026-11-30T12:00:00Zx",
        "1969-12-31T23:59:59Z",
        "26-11-30T12:00:00Z",
    ] {
        assert_eq!(rfc3339(value), None, "{value}");
    }
}

#[test]
fn epochs_in_seconds_and_in_milliseconds_are_told_apart_by_their_size() {
    let date = ("date", NOON);
    assert_eq!(wait(&[date, ("x-ratelimit-reset", "1796040009")]), ms(9_000));
    assert_eq!(wait(&[date, ("x-ratelimit-reset", "1796040025000")]), ms(25_000));
    assert_eq!(wait(&[date, ("x-ratelimit-reset", "1796040000")]), None);
    // Seconds to go, as some drafts had it, are an instant long past here.
    assert_eq!(wait(&[date, ("x-ratelimit-reset", "30")]), None);
    assert_eq!(wait(&[date, ("x-ratelimit-reset", &"9".repeat(60))]), None);
}

#[test]
fn only_windows_that_are_used_up_count_and_of_those_the_longest() {
    let of = |remaining: [&str; 2]| {
        wait(&[
            ("x-ratelimit-remaining-requests", remaining[0]),
            ("x-ratelimit-reset-requests", "6m0s"),
            ("x-ratelimit-remaining-tokens", remaining[1]),
            ("x-ratelimit-reset-tokens", "1.2s"),
        ])
    };
    assert_eq!(of(["10", "0"]), ms(1_200));
    assert_eq!(of(["0", "99"]), ms(360_000));
    assert_eq!(of(["0", "0"]), ms(360_000));
    assert_eq!(of(["1", "1"]), None);
    // What cannot be read is not nothing.
    assert_eq!(of(["-1", "none"]), None);
    assert_eq!(wait(&[("x-ratelimit-reset-tokens", "7.66s")]), ms(7_660));
    assert_eq!(wait(&[("x-ratelimit-reset-tokens", "-1")]), None);
    assert_eq!(wait(&[("x-ratelimit-reset-tokens", "30")]), None);
}

#[test]
fn anthropics_windows_begin_anew_at_an_instant() {
    assert_eq!(
        wait(&[
            ("date", NOON),
            ("anthropic-ratelimit-requests-remaining", "3"),
            ("anthropic-ratelimit-requests-reset", "2026-11-30T13:00:00Z"),
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
            ("anthropic-ratelimit-input-tokens-reset", "2026-11-30T12:00:12Z"),
        ]),
        ms(12_000)
    );
}

#[test]
fn the_state_of_a_rate_limit_is_a_hint_on_a_429_only() {
    let state = headers(&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "5s")]);
    assert_eq!(from_reply(StatusCode::TOO_MANY_REQUESTS, &state), ms(5_000));
    for status in [200, 400, 500, 503] {
        assert_eq!(from_reply(StatusCode::from_u16(status).unwrap(), &state), None);
    }
    assert_eq!(from_headers(&state), None);
}

#[test]
fn words_for_people_are_understood() {
    for (words, wanted) in [
        ("Limit 30000, Used 29500, Requested 3000. Please try again in 6.57s. Visit example.com.", 6_570),
        ("Please retry after 37 seconds.", 37_000),
        ("Rate limit is exceeded. Try again in 2 seconds.", 2_000),
        ("Please retry in 10h17m5.723541104s.", 37_025_724),
        ("Please try again in 9m38.016s.", 578_016),
        ("please TRY AGAIN IN 20ms", 20),
        ("Try again in 1 minute and 5 seconds", 65_000),
        ("retry after 2 hours, 3 minutes", 7_380_000),
        ("Try again in a moment, or try again in 3s", 3_000),
        ("Try again in 5 seconds. 30 seconds is the window.", 5_000),
        ("Try again in 1 day", 86_400_000),
    ] {
        assert_eq!(from_text(words), ms(wanted), "{words}");
    }
    for words in [
        "",
        "try again in",
        "try again in a few minutes",
        "retry after 37",
        "retry in -5s",
        "retry in 0s",
        "wait 5s",
        "retry in 5 tokens",
    ] {
        assert_eq!(from_text(words), None, "{words}");
    }
    assert_eq!(from_text(&format!("{}try again in 3s", "é".repeat(4096))), None, "too far behind");
}

#[test]
fn pushback_says_when_or_never() {
    let of = |value: &str| pushback(&headers(&[("grpc-retry-pushback-ms", value)]));
    assert_eq!(of("250"), Some(Pushback::After(Duration::from_millis(250))));
    assert_eq!(of("0"), Some(Pushback::After(Duration::ZERO)));
    assert_eq!(of(&"9".repeat(40)), Some(Pushback::After(MAX_WAIT)));
    for value in ["-1", "later", "1.5", "", "+1"] {
        assert_eq!(of(value), Some(Pushback::Never), "{value:?}");
    }
    assert_eq!(pushback(&HeaderMap::new()), None);
}

/// Text that is near to what the parsers read, so that they are entered deeply.
fn near() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,40}",
        "[0-9.]{0,60}",
        "([0-9]{1,12}(\\.[0-9]{0,25})?(h|m|s|ms|us|µs|ns|d| seconds| and )){0,5}",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{0,12})?(Z|[+-][0-9]{2}:[0-9]{2})?",
        "(Mon|Tue|Wed), [0-9]{2} (Nov|Dec|Feb) [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT",
        "(please )?(try again|retry) (in|after) [0-9]{0,30}\\.?[0-9]{0,30} ?[a-zµ]{0,8}[0-9]{0,4}[a-z]?",
    ]
}

proptest! {
    #[test]
    fn no_text_makes_a_parser_panic_or_wait_over_a_day(text in near(), at in 0_u64..4_000_000_000) {
        let now = UNIX_EPOCH + Duration::from_secs(at);
        let waits = [
            seconds(&text), millis(&text), go_duration(&text), proto_duration(&text), from_text(&text),
            retry_after(&text, now), epoch(&text).and_then(|at| until(at, now)),
            rfc3339(&text).and_then(|at| until(at, now)),
        ];
        for wait in waits.into_iter().flatten() {
            prop_assert!(!wait.is_zero() && wait <= MAX_WAIT);
            prop_assert_eq!(wait.subsec_nanos() % 1_000_000, 0);
        }
    }

    #[test]
    fn no_header_makes_a_parser_panic_or_wait_over_a_day(values in proptest::collection::vec(near(), 12)) {
        let names = [
            "retry-after-ms", "x-ms-retry-after-ms", "retry-after", "x-amz-retry-after", "date", "x-ratelimit-reset",
            "x-ratelimit-remaining", "x-ratelimit-reset-requests", "x-ratelimit-remaining-requests",
            "anthropic-ratelimit-tokens-reset", "grpc-retry-pushback-ms", "x-should-retry",
        ];
        let headers: HeaderMap = names.iter().zip(&values)
            .filter_map(|(name, value)| Some((http::HeaderName::from_static(name), value.parse().ok()?)))
            .collect();
        let wait = from_reply(StatusCode::TOO_MANY_REQUESTS, &headers);
        prop_assert!(wait.is_none_or(|wait| !wait.is_zero() && wait <= MAX_WAIT));
        if let Some(Pushback::After(wait)) = pushback(&headers) {
            prop_assert!(wait <= MAX_WAIT);
        }
        let _ = should_retry(&headers);
    }

    #[test]
    fn whole_milliseconds_are_read_exactly(millis_in in 1_u64..86_400_000) {
        let (s, frac) = (millis_in / 1000, millis_in % 1000);
        prop_assert_eq!(seconds(&format!("{s}.{frac:03}")), ms(millis_in));
        prop_assert_eq!(millis(&millis_in.to_string()), ms(millis_in));
        let go = format!("{}h{}m{}.{frac:03}s", s / 3600, s / 60 % 60, s % 60);
        prop_assert_eq!(go_duration(&go), ms(millis_in));
        let words = format!("Please try again in {go}.");
        prop_assert_eq!(from_text(&words), ms(millis_in));
    }

    #[test]
    fn an_instant_says_the_same_in_rfc_3339_and_as_an_http_date(seconds in 0_u64..4_000_000_000) {
        let at = UNIX_EPOCH + Duration::from_secs(seconds);
        let date = httpdate::fmt_http_date(at);
        prop_assert_eq!(http_date(&date), Some(at));
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let month = months.iter().position(|month| *month == &date[8..11]).unwrap() + 1;
        let iso = format!("{}-{month:02}-{}T{}Z", &date[12..16], &date[5..7], &date[17..25]);
        prop_assert_eq!(rfc3339(&iso), Some(at), "{}", iso);
    }
}
