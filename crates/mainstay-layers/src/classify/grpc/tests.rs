use super::*;
use crate::classify::Vote;
use http::Response;
use proptest::prelude::*;

fn head(status: u16, headers: &[(&str, &str)]) -> Verdict {
    let mut reply = Response::builder().status(status);
    for (name, value) in headers {
        reply = reply.header(*name, *value);
    }
    GrpcClassifier::new().head(Head::of(&reply.body(()).unwrap()))
}

/// (same target, next target, vote).
fn acts(verdict: &Verdict) -> (bool, bool, Vote) {
    (verdict.is_retryable(), verdict.falls_back(), verdict.vote())
}

#[test]
fn each_code_acts_as_its_row_says() {
    use Vote::{Failure, Neutral, Success};
    for (code, wanted) in [
        (0, (false, false, Success)),
        (1, (false, false, Neutral)),
        (2, (false, true, Failure)),
        (3, (false, false, Neutral)),
        (4, (true, true, Failure)),
        (5, (false, true, Neutral)),
        (6, (false, false, Neutral)),
        (7, (false, true, Neutral)),
        (8, (false, true, Neutral)),
        (9, (false, false, Neutral)),
        (10, (true, true, Neutral)),
        (11, (false, false, Neutral)),
        (12, (false, true, Neutral)),
        (13, (true, true, Failure)),
        (14, (true, true, Failure)),
        (15, (false, true, Failure)),
        (16, (false, true, Neutral)),
        // No such code: UNKNOWN.
        (17, (false, true, Failure)),
    ] {
        let code = code.to_string();
        assert_eq!(acts(&head(200, &[("grpc-status", &code)])), wanted, "{code} in the head");
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", code.parse().unwrap());
        assert_eq!(acts(&GrpcClassifier::new().trailers(&trailers).unwrap()), wanted, "{code} in trailers");
    }
}

#[test]
fn a_head_without_a_status_is_on_its_way_and_trailers_without_one_are_unknown() {
    assert!(head(200, &[("content-type", "application/grpc")]).is_success());
    let end = GrpcClassifier::new().trailers(&HeaderMap::new()).unwrap();
    assert_eq!((end.class, end.code.as_deref()), (Class::ServerError, Some("UNKNOWN")));
}

#[test]
fn a_reply_that_is_no_grpc_is_mapped_by_its_http_status() {
    for (status, code) in [
        (400, "INTERNAL"),
        (431, "INTERNAL"),
        (401, "UNAUTHENTICATED"),
        (403, "PERMISSION_DENIED"),
        (404, "UNIMPLEMENTED"),
        (429, "UNAVAILABLE"),
        (502, "UNAVAILABLE"),
        (503, "UNAVAILABLE"),
        (504, "UNAVAILABLE"),
        (500, "UNKNOWN"),
        (302, "UNKNOWN"),
        (204, "UNKNOWN"),
    ] {
        assert_eq!(head(status, &[]).code.as_deref(), Some(code), "{status}");
    }
    assert_eq!(head(429, &[]).vote(), Vote::Neutral);
    assert_eq!(head(503, &[("retry-after", "3")]).wait, Some(Duration::from_secs(3)));
    // The status of gRPC wins over that of HTTP.
    assert_eq!(head(503, &[("grpc-status", "3")]).class, Class::InvalidRequest);
}

#[test]
fn pushback_sets_the_wait_or_forbids_another_try() {
    let of = |code: &str, value: &str| head(200, &[("grpc-status", code), ("grpc-retry-pushback-ms", value)]);
    assert_eq!(of("8", "250").wait, Some(Duration::from_millis(250)));
    assert!(of("8", "250").is_retryable());
    assert!(of("8", "0").is_retryable());
    assert_eq!(of("14", "0").wait, None);
    assert!(!of("14", "-1").is_retryable());
    assert!(!of("14", "later").is_retryable());
    // It does not make a code worth another try that is not.
    assert!(!of("3", "250").is_retryable());
}

/// google.rpc.Status with a message and `RetryInfo { retry_delay { seconds, nanos } }`.
fn details(seconds: u8, nanos: &[u8], padded: bool) -> String {
    let mut delay = vec![0x08, seconds];
    if !nanos.is_empty() {
        delay.push(0x10);
        delay.extend(nanos);
    }
    let field = |tag: u8, bytes: &[u8]| [&[tag, u8::try_from(bytes.len()).unwrap()], bytes].concat();
    let info = field(0x0a, &delay);
    let url = |name: &str| field(0x0a, format!("type.googleapis.com/google.rpc.{name}").as_bytes());
    let other = field(0x1a, &[url("Help"), field(0x12, b"\x0a\x00")].concat());
    let retry = field(0x1a, &[url("RetryInfo"), field(0x12, &info)].concat());
    let status = [vec![0x08, 8], field(0x12, b"slow down"), other, retry].concat();
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in status.chunks(3) {
        let bits =
            chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for n in 0..=chunk.len() {
            text.push(char::from(ALPHABET[(bits >> (18 - 6 * n) & 63) as usize]));
        }
        if padded {
            text.extend(std::iter::repeat_n('=', 3 - chunk.len()));
        }
    }
    text
}

#[test]
fn retry_info_is_read_padded_or_not() {
    for padded in [true, false] {
        let verdict =
            head(200, &[("grpc-status", "8"), ("grpc-status-details-bin", &details(34, &[], padded))]);
        assert_eq!(verdict.wait, Some(Duration::from_secs(34)));
        assert!(verdict.is_retryable());
    }
    // 1.5 s: nanos 500_000_000 as a varint.
    let value = details(1, &[0x80, 0xca, 0xb5, 0xee, 0x01], false);
    assert_eq!(
        head(200, &[("grpc-status", "8"), ("grpc-status-details-bin", &value)]).wait,
        Some(Duration::from_millis(1500))
    );
    let pushed =
        [("grpc-status", "8"), ("grpc-status-details-bin", value.as_str()), ("grpc-retry-pushback-ms", "7")];
    assert_eq!(head(200, &pushed).wait, Some(Duration::from_millis(7)));
}

#[test]
fn a_negative_delay_is_no_hint() {
    let value = details(0, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], true);
    assert_eq!(head(200, &[("grpc-status", "8"), ("grpc-status-details-bin", &value)]).wait, None);
}

#[test]
fn messages_are_percent_decoded_and_bad_escapes_stay() {
    let of = |value: &str| head(200, &[("grpc-status", "13"), ("grpc-message", value)]).message;
    assert_eq!(of("upstream%20unavailable").as_deref(), Some("upstream unavailable"));
    assert_eq!(of("%E2%9C%93 100%").as_deref(), Some("✓ 100%"));
    assert_eq!(of("%zz%4").as_deref(), Some("%zz%4"));
    assert_eq!(of("").as_deref(), None);
    assert!(of(&"%C3%A9".repeat(4000)).unwrap().len() <= MAX_MESSAGE);
}

proptest! {
    #[test]
    fn no_metadata_makes_it_panic(
        status in proptest::option::of("\\PC{0,8}|[0-9]{1,12}"),
        message in proptest::collection::vec(any::<u8>(), 0..64),
        details in "[A-Za-z0-9+/=,]{0,200}",
        pushback in proptest::option::of("-?[0-9]{0,30}"),
    ) {
        let mut metadata = HeaderMap::new();
        let mut put = |name: &'static str, value: &[u8]| {
            if let Ok(value) = http::HeaderValue::from_bytes(value) {
                metadata.insert(name, value);
            }
        };
        status.iter().for_each(|status| put("grpc-status", status.as_bytes()));
        put("grpc-message", &message);
        put("grpc-status-details-bin", details.as_bytes());
        pushback.iter().for_each(|pushback| put("grpc-retry-pushback-ms", pushback.as_bytes()));
        let verdict = GrpcClassifier::new().trailers(&metadata).unwrap();
        prop_assert!(verdict.wait.is_none_or(|wait| wait <= hint::MAX_WAIT));
    }

    #[test]
    fn no_details_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for number in 0..4 {
            for field in proto::fields(&bytes, number) {
                let _ = proto::varint(field, 1);
            }
        }
    }
}
