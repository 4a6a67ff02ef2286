//! Replies as providers really send them, and the judgement that each deserves: `vectors/wire.jsonl`.
//!
//! One case a line: `reply` as it came (`kind` of provider, `over` which protocol), `error` the error object in it where
//! it is one inside a stream, `committed` whether content came before it, `judged` what it is worth, `origin` where the
//! shape was seen. Whether the same target is asked again counts a wait of at most a minute as worth it.

// Clippy's leave for tests ends at the test functions; these are helpers of tests.
#![allow(clippy::unwrap_used, clippy::panic)]

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use mainstay::{
    judge::JudgeLayer,
    provider::{Kind, ProviderClassifier, judge_error, judge_reply},
};
use mainstay_layers::{
    BoxError,
    classify::{Classify, GrpcClassifier, Head, HttpClassifier, Verdict, Vote},
};
use serde::Deserialize;
use std::{collections::BTreeMap, time::Duration};
use tower::{Layer, ServiceExt, service_fn};

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
    body_hex: Option<String>,
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

/// The path on which the reply of a case came.
fn path(case: &Case) -> &'static str {
    match case.kind.unwrap() {
        Kind::Anthropic => "/v1/messages",
        Kind::Gemini => "/v1beta/models/m:streamGenerateContent",
        Kind::Cohere => "/v2/chat",
        Kind::Ollama => "/api/chat",
        Kind::Bedrock => "/model/m/converse-stream",
        _ if case.name.contains("-responses-") => "/v1/responses",
        _ => "/v1/chat/completions",
    }
}

fn bytes(reply: &Reply) -> Bytes {
    let hex = reply.body_hex.as_deref().unwrap_or_default();
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2).unwrap(), 16).unwrap();
    match &reply.body {
        Some(body) => body.clone().into(),
        None => (0..hex.len()).step_by(2).map(byte).collect(),
    }
}

/// What the layers above a judge are told of this stream, and all that a caller got of it.
async fn through_a_judge(case: &Case, body: Bytes) -> (Verdict, Bytes) {
    let reply = case.reply.head().map(|()| Full::new(body));
    let below = service_fn(move |_: Request<()>| {
        let reply = reply.clone();
        async move { Ok::<_, BoxError>(reply) }
    });
    let mut request = Request::new(());
    *request.uri_mut() = path(case).parse().unwrap();
    let judge = JudgeLayer::new(case.kind.unwrap()).layer(below);
    let response = match judge.oneshot(request).await {
        Ok(response) => response,
        Err(error) => return (HttpClassifier::new().error(&*error), Bytes::new()),
    };
    let verdict = HttpClassifier::new().head(Head::of(&response));
    let mut body = std::pin::pin!(response.into_body());
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => all.extend_from_slice(&frame.into_data().unwrap()),
            Err(error) => return (HttpClassifier::new().error(&*error), all.into()),
        }
    }
    (verdict, all.into())
}

#[tokio::test(start_paused = true)]
async fn streams_are_judged_as_they_deserve_wherever_they_are_read() {
    let mut judged = Vec::new();
    for case in cases(&["sse", "ndjson", "eventstream"]) {
        let whole = bytes(&case.reply);
        let (verdict, got) = through_a_judge(&case, whole.clone()).await;
        if verdict.is_success() {
            assert!(got.starts_with(&whole), "{}: what passes is what came", case.name);
        } else if verdict.committed {
            assert!(whole.starts_with(&got) && !got.is_empty(), "{}", case.name);
        }
        // A refusal without a word is an answer to hand on: nobody is asked again, as its class has it.
        if case.judged.class == "content_policy" {
            assert!(verdict.is_success(), "{}", case.name);
            continue;
        }
        judged.push((case, verdict));
    }
    check(33, judged);
}

#[tokio::test(start_paused = true)]
async fn a_judge_says_of_whole_replies_what_the_helper_says() {
    let mut judged = Vec::new();
    for case in cases(&["http"]) {
        let (verdict, _) = through_a_judge(&case, bytes(&case.reply)).await;
        if case.judged.class == "content_policy" && verdict.is_success() {
            continue;
        }
        judged.push((case, verdict));
    }
    check(124, judged);
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
fn what_comes_without_a_reply_is_judged_by_the_error() {
    use mainstay_layers::timeout::{Phase, TimeoutError, TimeoutKind};
    use std::io::{Error, ErrorKind};
    let after = std::time::Duration::from_secs(1);
    let of = |name: &str| -> mainstay_layers::BoxError {
        match name {
            "transport-connect-refused" => Error::from(ErrorKind::ConnectionRefused).into(),
            "transport-dns-failure" => Error::other("failed to lookup address information").into(),
            "transport-reset-before-headers" => Error::from(ErrorKind::ConnectionReset).into(),
            "transport-connect-timeout" => TimeoutError::connect(after).into(),
            "transport-header-timeout" => TimeoutError::new(TimeoutKind::Attempt, Phase::Head, after).into(),
            // A caller that leaves drops the call, and there is nothing to judge; one that stops in the middle of its
            // upload is the same caller, seen by a clock.
            "transport-client-cancel" => {
                TimeoutError::new(TimeoutKind::UploadIdle, Phase::Upload, after).into()
            }
            other => panic!("no error stands for {other}"),
        }
    };
    check(
        6,
        cases(&["transport"]).into_iter().map(|case| {
            let verdict = judge_error(&*of(&case.name));
            (case, verdict)
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
