//! Against the facts that AWS and the RFCs publish.

use super::{canonical::hex, signer::hmac, *};
use http::{Request, header};
use std::time::{Duration, SystemTime};

/// 2015-08-30T12:36:00Z, the time of AWS's examples.
const THEN: Duration = Duration::from_secs(1_440_938_160);

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

fn signer(service: &str, token: Option<&str>) -> Signer {
    let credentials = Credentials::new("AKIDEXAMPLE", SECRET, token).unwrap();
    Signer::new(credentials, "us-east-1", service).with_clock(|| SystemTime::UNIX_EPOCH + THEN)
}

fn signed(signer: &Signer, request: Request<&str>) -> http::HeaderMap {
    let (mut parts, body) = request.into_parts();
    parts.extensions.insert(PayloadHash::of(body.as_bytes()));
    signer.sign(&mut parts).unwrap();
    parts.headers
}

fn signature(signer: &Signer, request: Request<&str>) -> String {
    let headers = signed(signer, request);
    let value = headers[header::AUTHORIZATION].to_str().unwrap();
    value.rsplit_once("Signature=").unwrap().1.to_owned()
}

#[test]
fn the_vectors_of_the_signature_suite_are_met() {
    let signer = signer("service", None);
    let get = |uri: &str| Request::get(uri).body("").unwrap();
    let post = |uri: &str| Request::post(uri).body("").unwrap();
    for (name, request, expected) in [
        (
            "get-vanilla",
            get("https://example.amazonaws.com/"),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "get-vanilla-query-order-key-case",
            get("https://example.amazonaws.com/?Param2=value2&Param1=value1"),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            "post-vanilla",
            post("https://example.amazonaws.com/"),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
        (
            "post-x-www-form-urlencoded",
            Request::post("https://example.amazonaws.com/")
                .header("content-type", "application/x-www-form-urlencoded")
                .body("Param1=value1")
                .unwrap(),
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
    ] {
        assert_eq!(signature(&signer, request), expected, "{name}");
    }
}

#[test]
fn the_example_of_the_iam_guide_is_met() {
    let request = Request::get("https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08")
        .header("content-type", "application/x-www-form-urlencoded; charset=utf-8")
        .body("")
        .unwrap();
    let headers = signed(&signer("iam", None), request);
    assert_eq!(headers["x-amz-date"], "20150830T123600Z");
    assert_eq!(
        headers[header::AUTHORIZATION],
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, \
         SignedHeaders=content-type;host;x-amz-date, \
         Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
    );
    assert!(headers[header::AUTHORIZATION].is_sensitive());
}

#[test]
fn a_path_that_is_encoded_is_encoded_once_more() {
    let of = |uri: &str| canonical::path(&uri.parse().unwrap());
    assert_eq!(of("https://h/model/a.b-v1%3A0/converse"), "/model/a.b-v1%253A0/converse");
    assert_eq!(of("https://h/model/a:0/converse"), "/model/a%3A0/converse");
    assert_eq!(of("https://h"), "/");
}

#[test]
fn query_pairs_are_sorted_and_encoded_alike_however_they_came() {
    let of = |uri: &str| canonical::query(&uri.parse().unwrap());
    assert_eq!(of("https://h/?b=2&a=%7e%2f+&a=1&c"), "a=1&a=~%2F%2B&b=2&c=");
    assert_eq!(of("https://h/?"), "");
}

#[test]
fn everything_that_is_signed_changes_the_signature() {
    let request = |uri: &str, kind: &str, body: &'static str| {
        Request::post(uri).header("content-type", kind).body(body).unwrap()
    };
    let (uri, kind) = ("https://h/a?b=c", "application/json");
    let first = signature(&signer("bedrock", None), request(uri, kind, "{}"));
    assert_eq!(first, signature(&signer("bedrock", None), request(uri, kind, "{}")));
    let later = signer("bedrock", None).with_clock(|| SystemTime::UNIX_EPOCH + THEN + Duration::from_secs(1));
    for other in [
        signature(&signer("bedrock", None), request("https://h/a2?b=c", kind, "{}")),
        signature(&signer("bedrock", None), request("https://h/a?b=d", kind, "{}")),
        signature(&signer("bedrock", None), request("https://h2/a?b=c", kind, "{}")),
        signature(&signer("bedrock", None), request("https://h:8443/a?b=c", kind, "{}")),
        signature(&signer("bedrock", None), request(uri, "text/plain", "{}")),
        signature(&signer("bedrock", None), request(uri, kind, "{} ")),
        signature(&signer("bedrock", Some("token-12345")), request(uri, kind, "{}")),
        signature(&signer("other", None), request(uri, kind, "{}")),
        signature(&later, request(uri, kind, "{}")),
    ] {
        assert_ne!(other, first);
    }
}

#[test]
fn a_session_token_is_sent_and_signed_and_an_old_one_is_not() {
    let mut request = Request::post("https://h/").body("").unwrap();
    request.headers_mut().insert("x-amz-security-token", "stale".parse().unwrap());
    let headers = signed(&signer("bedrock", Some("token-12345")), request);
    assert_eq!(headers["x-amz-security-token"], "token-12345");
    assert!(headers["x-amz-security-token"].is_sensitive());
    let names = headers[header::AUTHORIZATION].to_str().unwrap();
    assert!(names.contains("SignedHeaders=host;x-amz-date;x-amz-security-token,"), "{names}");
}

#[test]
fn credentials_are_asked_for_at_each_signature() {
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let source = {
        let asked = asked.clone();
        move || {
            let n = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Credentials::new(&format!("AKID{n}"), SECRET, Some(&format!("token-{n}"))).unwrap()
        }
    };
    let signer = Signer::asking(source, "us-east-1", "bedrock");
    for n in 0..2 {
        let headers = signed(&signer, Request::post("https://h/").body("").unwrap());
        assert_eq!(headers["x-amz-security-token"], format!("token-{n}"));
        assert!(headers[header::AUTHORIZATION].to_str().unwrap().contains(&format!("Credential=AKID{n}/")));
    }
}

#[test]
fn a_request_whose_body_nobody_hashed_is_not_signed() {
    let (mut parts, ()) = Request::post("https://h/").body(()).unwrap().into_parts();
    assert_eq!(signer("bedrock", None).sign(&mut parts), Err(SignError::NoHash));
    assert!(parts.headers.is_empty());
}

#[test]
fn a_clock_far_off_is_an_error_and_no_panic() {
    let far = signer("s", None).with_clock(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40));
    let before = signer("s", None).with_clock(|| SystemTime::UNIX_EPOCH - Duration::from_secs(1));
    for signer in [far, before] {
        let (mut parts, ()) = Request::post("https://h/").body(()).unwrap().into_parts();
        parts.extensions.insert(PayloadHash::of(b""));
        assert_eq!(signer.sign(&mut parts), Err(SignError::NoTime));
    }
}

#[test]
fn hmac_meets_the_vectors_of_rfc_4231() {
    assert_eq!(
        hex(&hmac(b"Jefe", b"what do ya want for nothing?")),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
    assert_eq!(
        hex(&hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First")),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    );
}

#[test]
fn debug_shows_no_secret() {
    let shown = format!("{:?}", signer("bedrock", Some("token-12345")));
    assert!(!shown.contains("wJalr") && !shown.contains("token") && !shown.contains("AKID"), "{shown}");
}
