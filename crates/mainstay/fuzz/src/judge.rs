//! What a reply amounts to, and how long it asks us to wait.
//!
//! The case is a reply: a first line of a provider's kind and a status (`openai 429`, with `*` in front for a body that
//! is made, see [`crate::grammar`]), lines of headers, a blank line, the body. All of its lines are also read as hints of every form.
//!
//! - No wait is zero or over a day; words for people are short and of one line; a failing status is never a success.
//! - An `error` that says something is no success, whatever the status.
//! - Blanks around a body change nothing, nor does what replaces bytes that are no UTF-8.
//! - A number of seconds, an instant: as arithmetic has it.

use crate::{grammar, slow};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use mainstay::{
    layers::classify::{Class, Classify, GrpcClassifier, Head, HttpClassifier, Verdict, hint},
    provider::{ErrorBody, Kind, MAX_MESSAGE, ProviderClassifier, finish, judge_reply},
};
use std::time::{Duration, UNIX_EPOCH};

/// Feeds one case.
pub fn check(data: &[u8]) {
    let mut lines = data.splitn(2, |byte| *byte == b'\n');
    let Ok(first) = std::str::from_utf8(lines.next().unwrap_or_default()) else { return };
    let (make, first) = first.strip_prefix('*').map_or((false, first), |first| (true, first));
    let (kind, status) = first.split_once(' ').unwrap_or((first, "200"));
    let kind = kind.parse().unwrap_or_else(|_| Kind::ALL[kind.len() % Kind::ALL.len()]);
    let status = status.parse().ok().and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or_default();
    let (headers, body) = head(lines.next().unwrap_or_default());

    let made = make.then(|| grammar::json(&mut &*body));
    let body = made.as_ref().map_or(body, String::as_bytes);

    let verdict = judge_reply(kind, status, &headers, body);
    sane(&verdict);
    if status.as_u16() >= 300 {
        assert!(!verdict.is_success(), "{status} is a success");
    }
    reply(kind, status, &headers, body, &verdict);
    error(kind, status, &headers, body);

    for line in data.split(|byte| matches!(byte, b'\n' | b'"')) {
        if let Ok(text) = std::str::from_utf8(line) {
            words(text);
            if let Some((_, value)) = text.split_once(':') {
                words(value);
            }
        }
    }
}

/// Header lines up to a blank one, and what is behind it. What is no header is left out.
fn head(mut rest: &[u8]) -> (HeaderMap, &[u8]) {
    let mut headers = HeaderMap::new();
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let line = &rest[..end.unwrap_or(rest.len())];
        rest = end.map_or(&[], |end| &rest[end + 1..]);
        if line.is_empty() {
            return (headers, rest);
        }
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = HeaderName::from_bytes(parts.next().unwrap_or_default());
        let value = HeaderValue::from_bytes(parts.next().unwrap_or_default().trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
}

fn sane(verdict: &Verdict) {
    if let Some(wait) = verdict.wait {
        assert!(!wait.is_zero() && wait <= hint::MAX_WAIT, "{wait:?}");
    }
    if let Some(message) = &verdict.message {
        assert!(message.len() <= MAX_MESSAGE + 64 && !message.chars().any(char::is_control), "{message:?}");
    }
    if let Some(code) = &verdict.code {
        assert!(!code.is_empty() && code.len() <= 256);
    }
    if let Some(status) = verdict.status {
        assert!(!status.is_success());
    }
}

fn reply(kind: Kind, status: StatusCode, headers: &HeaderMap, body: &[u8], verdict: &Verdict) {
    let json = |body: &[u8]| matches!(body.trim_ascii().first(), Some(b'{' | b'['));
    let media = headers.get("content-type").map(HeaderValue::as_bytes).unwrap_or_default();
    let plain = media.is_empty() || media == b"application/json";
    let document = slow::document(body).filter(|_| json(body));
    let content = !matches!(status.as_u16(), 204 | 205);
    if let Some(document) = document.filter(|_| status.is_success() && plain && content) {
        assert!(!verdict.is_success() || !slow::has_error(&document), "an error is a success");
        let head = Response::builder().status(status).body(()).expect("a head");
        let by_first = ProviderClassifier::new(kind).body(Head::of(&head), body);
        assert!(
            !by_first.is_success() || !slow::has_error(&document),
            "an error is a success at first sight"
        );
        if !by_first.is_success() && slow::all(&document, "error").len() < 2 {
            assert!(slow::hints_at_error(&document), "at first sight an error, and nothing says so");
        }
    }

    let same = |other: &[u8], what: &str| {
        let other = judge_reply(kind, status, headers, other);
        assert_eq!(
            (other.class, other.retry, other.vote, &other.code),
            (verdict.class, verdict.retry, verdict.vote, &verdict.code),
            "{what}"
        );
    };
    // Of sound and pictures every byte counts.
    if body.len() < 4096 && (plain || !status.is_success()) {
        same(&[b" \r\n", body].concat(), "blanks before");
        same(&[body, b"\n"].concat(), "blanks behind");
        // An answer with such bytes is no JSON; an error with them is still that error. Half a character at the end is
        // left out.
        let half = std::str::from_utf8(body).is_err_and(|error| error.error_len().is_none());
        if json(body) && !status.is_success() && !half {
            same(String::from_utf8_lossy(body).as_bytes(), "what is no UTF-8 replaced");
        }
    }
}

/// The body as an error in every way in which one may be met.
fn error(kind: Kind, status: StatusCode, headers: &HeaderMap, body: &[u8]) {
    let mut response = Response::new(());
    *response.status_mut() = status;
    *response.headers_mut() = headers.clone();
    let head = Head::of(&response);
    let classifier = ProviderClassifier::new(kind);

    let inside = classifier.error_object(head, body);
    sane(&inside);
    assert!(!inside.is_success() && inside.status.is_some_and(|status| status.as_u16() >= 400));
    for verdict in [
        classifier.head(head),
        classifier.body(head, body),
        classifier.empty_answer(),
        HttpClassifier::new().head(head),
    ] {
        sane(&verdict);
    }
    let grpc = [Some(GrpcClassifier::new().head(head)), GrpcClassifier::new().trailers(headers)];
    for verdict in grpc.into_iter().flatten() {
        sane(&verdict);
    }

    let read = ErrorBody::read(body);
    assert!(read.message.as_ref().is_none_or(|message| message.len() <= MAX_MESSAGE));
    assert!(read.number.is_none_or(|number| (400..600).contains(&number)));
    assert!(read.reasons.len() <= 24 && read.reasons.iter().all(|word| word.len() <= 200));
    assert!(read.wait.is_none_or(|wait| !wait.is_zero() && wait <= hint::MAX_WAIT));
    let end = read.code().and_then(|code| finish(kind, code).verdict(true));
    assert!(end.is_none_or(|verdict| verdict.class != Class::Success));
}

/// A text as a hint of every form.
fn words(text: &str) {
    let at = hint::http_date(text).or(hint::epoch(text)).or(hint::rfc3339(text));
    let waits = [
        hint::seconds(text),
        hint::millis(text),
        hint::go_duration(text),
        hint::proto_duration(text),
        hint::from_text(text),
        hint::retry_after(text, UNIX_EPOCH + Duration::from_secs(1_790_000_000)),
        at.and_then(|at| hint::until(at, UNIX_EPOCH)),
    ];
    for wait in waits.into_iter().flatten() {
        assert!(
            !wait.is_zero() && wait <= hint::MAX_WAIT && wait.subsec_nanos() % 1_000_000 == 0,
            "{wait:?}"
        );
    }
    arithmetic(text.trim(), hint::seconds(text), 1e3);
    arithmetic(text.trim(), hint::millis(text), 1.0);
    if let Some(seconds) = text.trim().strip_suffix('s') {
        assert_eq!(hint::proto_duration(text), hint::seconds(seconds));
    }
    if let Some(at) = hint::epoch(text) {
        instant(at.duration_since(UNIX_EPOCH).expect("epochs are not negative").as_secs());
    }
}

/// A decimal number by the standard library, in milliseconds.
fn arithmetic(text: &str, wait: Option<Duration>, unit: f64) {
    let decimal = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = text.parse::<f64>().ok().filter(|_| decimal);
    let expected = number.map_or(0.0, |number| (number * unit).ceil().min(86_400_000.0));
    let found = wait.map_or(0.0, |wait| wait.as_secs_f64() * 1e3);
    // A float may be a hair above or below what the digits say.
    assert!((expected - found).abs() < 1.5, "{text}: {found} ms, expected {expected}");
    assert!(expected < 1.5 || wait.is_some());
}

/// An instant written in two forms, one of them by somebody else, is the same instant.
fn instant(seconds: u64) {
    if seconds >= 253_402_300_800 {
        return;
    }
    let at = UNIX_EPOCH + Duration::from_secs(seconds);
    let date = httpdate::fmt_http_date(at);
    assert_eq!(hint::http_date(&date), Some(at));
    let parts: Vec<&str> = date.split([' ', ',']).filter(|part| !part.is_empty()).collect();
    let [_, day, month, year, time, _] = parts[..] else { panic!("{date}") };
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = 1 + months.iter().position(|name| *name == month).expect("a month");
    assert_eq!(hint::rfc3339(&format!("{year}-{month:02}-{day}T{time}Z")), Some(at));
}
