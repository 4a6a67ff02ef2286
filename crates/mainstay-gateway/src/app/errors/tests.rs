//! What callers are told, in the words of their own API.

use super::{failed::outward, *};
use mainstay::{
    BoxError,
    dialect::{Dialect, ErrorFamily},
    judge::ReplyError,
    layers::{
        classify::{Class, Failed, Verdict},
        deadline::DeadlineExceeded,
        timeout::{Phase, TimeoutError, TimeoutKind},
    },
    route::{AttemptLog, CallFailed},
};
use serde_json::Value;
use std::io;

const DIALECTS: [Dialect; 3] = [Dialect::ChatCompletions, Dialect::Messages, Dialect::Responses];

fn committed(class: Class, error: impl Into<BoxError>) -> BoxError {
    Failed::new(Verdict::new(class).with_committed(true), error).into()
}

fn causes() -> Vec<(BoxError, &'static str)> {
    let silent = TimeoutError::new(TimeoutKind::Idle, Phase::Body, Duration::from_secs(30));
    let stuck = TimeoutError::new(TimeoutKind::Progress, Phase::Body, Duration::from_secs(30));
    vec![
        (committed(Class::Malformed, ReplyError::Truncated), "stream_truncated"),
        (committed(Class::TooLarge, ReplyError::EventTooLarge { limit: 7 }), "response_too_large"),
        (committed(Class::Malformed, ReplyError::NotAnAnswer { what: "x" }), "upstream_malformed"),
        (committed(Class::Transport, io::Error::from(io::ErrorKind::ConnectionReset)), "stream_truncated"),
        (committed(Class::Timeout, silent), "idle_timeout"),
        (committed(Class::Timeout, stuck), "progress_timeout"),
        (DeadlineExceeded::new().into(), "deadline_exceeded"),
        (ShuttingDown.into(), "shutting_down"),
    ]
}

/// The one event in these bytes: its name and its data.
fn one_event(bytes: &Bytes) -> (String, Value) {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(text.ends_with("\n\n") && text.matches("\n\n").count() == 1, "{text}");
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned()
    };
    (field("event:"), serde_json::from_str(&field("data:")).unwrap())
}

#[test]
fn a_stream_ends_in_one_well_formed_error_event_with_our_word_for_it() {
    for dialect in DIALECTS {
        for (error, code) in causes() {
            let (event, outcome) = stream_error(&Redactor::default(), dialect, &error, &[]);
            let (name, data) = one_event(&event);
            assert_eq!(outcome, code, "{dialect:?}");
            assert_eq!(name, if dialect == Dialect::ChatCompletions { "" } else { "error" });
            assert_eq!(data["error"]["code"], code, "{dialect:?}: {data}");
            assert!(data["error"]["message"].as_str().is_some_and(|message| !message.is_empty()));
            if dialect != Dialect::ChatCompletions {
                assert_eq!(data["type"], "error");
            }
        }
    }
}

#[tokio::test]
async fn an_error_event_lists_the_tries_that_failed() {
    use mainstay::route::{AttemptLayer, TargetName};
    use tower::{Layer, ServiceExt};
    let log = AttemptLog::default();
    let fails = tower::service_fn(|_: http::Request<()>| async {
        Err::<Response<String>, BoxError>("the key sk-0123456789 was reset".into())
    });
    let mut request = http::Request::new(());
    request.extensions_mut().insert(log.clone());
    let name = std::sync::Arc::new(TargetName::parse("a/m-2"));
    AttemptLayer::new(name, std::sync::Arc::new(())).layer(fails).oneshot(request).await.unwrap_err();
    for dialect in DIALECTS {
        let error = committed(Class::Malformed, ReplyError::Truncated);
        let (event, _) = stream_error(&Redactor::new(["sk-0123456789"]), dialect, &error, &log.failed());
        let (_, data) = one_event(&event);
        let [tried] = data["error"]["attempts"].as_array().unwrap().as_slice() else { panic!("{data}") };
        assert_eq!((&tried["provider"], &tried["class"]), (&"a".into(), &"transport".into()), "{data}");
        assert!(!data.to_string().contains("0123"), "{data}");
    }
}

#[test]
fn a_call_that_failed_is_told_the_same_way_in_a_stream_that_only_waited() {
    for dialect in DIALECTS {
        for (error, code) in causes() {
            if matches!(code, "stream_truncated" | "shutting_down") {
                continue;
            }
            let failed = CallFailed::from_error(&AttemptLog::default(), error);
            let (_, data) = one_event(&failed_event(&failed, dialect, &Redactor::default()));
            assert_eq!(data["error"]["code"], code, "{dialect:?}: {data}");
        }
        let (_, data) = one_event(&Refusal::shutting_down().to_event(dialect));
        assert_eq!(data["error"]["code"], "shutting_down");
    }
}

#[test]
fn no_word_of_ours_or_theirs_shows_a_known_key() {
    let redactor = Redactor::new(["sk-0123456789"]);
    let error = committed(Class::ServerError, "the key sk-0123456789 was bad");
    for dialect in DIALECTS {
        let (event, _) = stream_error(&redactor, dialect, &error, &[]);
        assert!(!String::from_utf8_lossy(&event).contains("0123"), "{dialect:?}");
    }
    let reply =
        failed(&CallFailed::from_error(&AttemptLog::default(), error), ErrorFamily::OpenAi, &redactor);
    assert_eq!(reply.status(), 502);
}

#[test]
fn overloaded_is_529_to_callers_of_messages_and_503_elsewhere() {
    for (family, status) in
        [(ErrorFamily::Anthropic, 529), (ErrorFamily::OpenAi, 503), (ErrorFamily::Gemini, 503)]
    {
        assert_eq!(outward(StatusCode::SERVICE_UNAVAILABLE, Some("overloaded"), family), status);
        assert_eq!(outward(StatusCode::SERVICE_UNAVAILABLE, Some("circuit_open"), family), 503);
    }
}

#[test]
fn waits_are_rounded_up_to_whole_seconds() {
    for (wait, seconds) in [(0, 0), (1, 1), (999, 1), (1000, 1), (1001, 2)] {
        assert_eq!(whole_seconds(Duration::from_millis(wait)), seconds);
    }
}

#[test]
fn a_page_is_cut_between_two_characters() {
    assert_eq!(short("é"), "é");
    assert_eq!(short(&"é".repeat(500)), "é".repeat(500));
    assert_eq!(short(&"é".repeat(501)), format!("{}...", "é".repeat(500)));
}
