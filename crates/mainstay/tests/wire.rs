//! Replies as providers really send them, and the judgement that each deserves: `vectors/wire.jsonl`.
//!
//! One case a line: `reply` as it came (`kind` of provider, `over` which protocol), `error` the error object in it where
//! it is one inside a stream, `committed` whether content came before it, `judged` what it is worth, `origin` where the
//! shape was seen. Whether the same target is asked again counts a wait of at most a minute as worth it.

// Clippy's leave for tests ends at the test functions; these are helpers of tests.
#![allow(clippy::unwrap_used, clippy::panic)]

use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use mainstay::provider::{Kind, ProviderClassifier, judge_error, judge_reply};
use mainstay_layers::classify::{Classify, GrpcClassifier, Head, Verdict, Vote};
use serde::Deserialize;
use std::{collections::BTreeMap, time::Duration};

/// The longest wait that is sat out.
const MAX_WAIT: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    kind: Option<Kind>,
    over: String,
    reply: Reply,
    error: Option<serde_json::Value>,
    #[serde(default)]
    committed: bool,
    judged: Judged,
    shape: String,
    origin: String,
    #[serde(rename = "note")]
    _note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Option<String>,
    #[serde(rename = "body_hex")]
    _body_hex: Option<String>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Judged {
    class: String,
    same_target: bool,
    next_target: bool,
    vote: String,
    wait_ms: Option<u128>,
}

impl From<&Verdict> for Judged {
    fn from(verdict: &Verdict) -> Self {
        Self {
            class: verdict.class.to_string(),
            same_target: verdict.is_retryable() && verdict.wait.is_none_or(|wait| wait <= MAX_WAIT),
            next_target: verdict.falls_back(),
            vote: match verdict.vote() {
                Vote::Success => "success",
                Vote::Failure => "failure",
                Vote::Neutral => "neutral",
            }
            .to_owned(),
            wait_ms: verdict.wait.map(|wait| wait.as_millis()),
        }
    }
}

fn cases(over: &[&str]) -> Vec<Case> {
    let all = include_str!("vectors/wire.jsonl").lines();
    let all = all.map(|line| serde_json::from_str::<Case>(line).unwrap_or_else(|e| panic!("{e}: {line}")));
    all.filter(|case| over.contains(&case.over.as_str())).collect()
}

impl Reply {
    fn headers(&self) -> HeaderMap {
        let pair = |(name, value): (&String, &String)| {
            (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
        };
        self.headers.iter().map(pair).collect()
    }

    fn head(&self) -> Response<()> {
        let mut head = Response::new(());
        *head.status_mut() = StatusCode::from_u16(self.status).unwrap();
        *head.headers_mut() = self.headers();
        head
    }
}

/// Compares all cases before it fails, and wants to have seen `count` of them.
fn check(count: usize, judged: impl IntoIterator<Item = (Case, Verdict)>) {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (case, verdict) in judged {
        seen += 1;
        let got = Judged::from(&verdict);
        if got != case.judged {
            wrong.push(format!(
                "{} ({}, {})\n   is {got:?}\n  not {:?}",
                case.name, case.shape, case.origin, case.judged
            ));
        }
    }
    assert!(wrong.is_empty(), "{} are judged wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(seen, count);
}

#[test]
fn http_replies_are_judged_as_they_deserve() {
    check(
        125,
        cases(&["http"]).into_iter().map(|case| {
            let body = case.reply.body.as_deref().unwrap_or_default().as_bytes();
            let status = StatusCode::from_u16(case.reply.status).unwrap();
            let verdict = judge_reply(case.kind.unwrap(), status, &case.reply.headers(), body);
            (case, verdict)
        }),
    );
}

#[test]
fn errors_inside_streams_have_the_class_of_their_code() {
    let cases = cases(&["sse", "ndjson", "eventstream"]).into_iter().filter(|case| case.error.is_some());
    check(
        16,
        cases.map(|case| {
            let data = serde_json::to_vec(case.error.as_ref().unwrap()).unwrap();
            let head = case.reply.head();
            let classifier = ProviderClassifier::new(case.kind.unwrap());
            let verdict = classifier.error_object(Head::of(&head), &data).with_committed(case.committed);
            assert!(verdict.status.is_some_and(|status| status.as_u16() >= 400), "{}", case.name);
            (case, verdict)
        }),
    );
}

#[test]
fn grpc_replies_are_judged_by_their_status() {
    check(
        10,
        cases(&["grpc"]).into_iter().map(|case| {
            let verdict = GrpcClassifier::new().head(Head::of(&case.reply.head()));
            // In trailers the same status says the same.
            if case.reply.headers.contains_key("grpc-status") {
                let trailers = GrpcClassifier::new().trailers(&case.reply.headers());
                assert_eq!(trailers.as_ref(), Some(&verdict), "{}", case.name);
            }
            (case, verdict)
        }),
    );
}

#[test]
fn a_connection_that_failed_is_transport_and_known_to_have_sent_nothing_if_refused() {
    use std::io::{Error, ErrorKind};
    let of = |case: &Case| match case.name.as_str() {
        "transport-connect-refused" => Some(Error::from(ErrorKind::ConnectionRefused)),
        "transport-dns-failure" => Some(Error::other("failed to lookup address information")),
        "transport-reset-before-headers" => Some(Error::from(ErrorKind::ConnectionReset)),
        // Those are the timers' own errors, and a caller that left is no error at all.
        _ => None,
    };
    check(
        3,
        cases(&["transport"]).into_iter().filter_map(|case| {
            let verdict = judge_error(&of(&case)?);
            Some((case, verdict))
        }),
    );
}

/// The first bytes decide as much as the head does when nothing more is known.
#[test]
fn an_error_reply_judged_by_its_head_alone_is_never_a_success() {
    for case in cases(&["http"]).into_iter().filter(|case| case.reply.status >= 400) {
        let head = case.reply.head();
        let verdict = ProviderClassifier::new(case.kind.unwrap()).head(Head::of(&head));
        assert!(!verdict.is_success(), "{}", case.name);
    }
}
