//! Answers that are no stream.

use super::{super::*, ask, chat, finds_the_verdict};
use crate::{
    judge::{JudgeLayer, ReplyError},
    provider::Kind,
    route::{AttemptLayer, CallFailed, Fallback, Target, TargetName},
    secret::Redactor,
};
use mainstay_layers::{classify::Class, error::find_cause};
use mainstay_testkit::{
    bodies,
    memory::{FaultBody, Reply, ScriptedError, ScriptedService},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tower::ServiceBuilder;

#[tokio::test(start_paused = true)]
async fn an_answer_is_read_with_all_that_is_in_it() {
    let reply = json!({
        "id": "c1", "model": "gpt-9-0101", "system_fingerprint": "fp",
        "choices": [
            {"index": 1, "message": {"content": "another"}, "finish_reason": "stop"},
            {"index": 0, "message": {"role": "assistant", "content": "hi", "reasoning_content": "hm"}, "finish_reason": "length"},
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 5}},
    });
    let answer = chat([Reply::json(200, &reply)]).complete(&ask()).await.unwrap();
    assert_eq!((answer.text(), answer.reasoning(), answer.finish()), ("hi", "hm", Some(Finish::Length)));
    assert_eq!(
        (answer.usage().input, answer.usage().output, answer.usage().cached),
        (Some(9), Some(4), Some(5))
    );
    assert_eq!(answer.answer().model.as_deref(), Some("gpt-9-0101"));
    assert_eq!(answer.raw(), &reply);
    assert!(!format!("{answer:?}").contains("hi"));
}

#[tokio::test(start_paused = true)]
async fn tool_calls_are_read_and_sent_back_as_they_came() {
    let reply = bodies::openai_tool_call("call_1", "add", r#"{"a": 1}"#);
    let answer = chat([Reply::json(200, &reply)]).complete(&ask()).await.unwrap();
    assert_eq!(answer.tool_calls(), [ToolCall::new("call_1", "add", r#"{"a": 1}"#)]);
    let message = serde_json::to_value(answer.to_message()).unwrap();
    assert_eq!(message["tool_calls"], reply["choices"][0]["message"]["tool_calls"]);
}

#[tokio::test(start_paused = true)]
async fn structured_answers_are_parsed() {
    let answer =
        chat([Reply::json(200, &bodies::openai_chat(r#"{"n": 3}"#))]).complete(&ask()).await.unwrap();
    assert_eq!(answer.parse::<serde_json::Value>().unwrap()["n"], 3);
}

#[tokio::test(start_paused = true)]
async fn an_error_reply_is_judged_and_kept() {
    let body =
        bodies::openai_error("insufficient_quota", Some("insufficient_quota"), "You are out of credit");
    let error = chat([Reply::json(429, &body)]).complete(&ask()).await.unwrap_err();
    assert_eq!((error.class(), error.status().unwrap().as_u16()), (Class::QuotaExhausted, 429));
    assert_eq!(
        (error.code(), error.to_string()),
        (Some("insufficient_quota"), "You are out of credit".into())
    );
    assert_eq!(error.body().unwrap(), &body.to_string());
    assert!(error.partial().is_none() && find_cause::<ErrorReply>(&error).is_some());
    finds_the_verdict(&error);
}

#[tokio::test(start_paused = true)]
async fn an_error_inside_a_success_is_an_error() {
    let body = json!({"error": {"code": 502, "message": "upstream"}});
    let error = chat([Reply::json(200, &body)]).complete(&ask()).await.unwrap_err();
    assert_eq!((error.class(), error.status().unwrap().as_u16()), (Class::ServerError, 502));
    finds_the_verdict(&error);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_answer_is_never_taken_for_one() {
    for body in ["", "<html>", r#"{"choices": []}"#, r#"{"choices": [{"mess"#, "null"] {
        let error = chat([Reply::ok(FaultBody::from(body))]).complete(&ask()).await.unwrap_err();
        assert_eq!((error.class(), error.code()), (Class::Malformed, Some("upstream_malformed")), "{body}");
        assert!(matches!(find_cause(&error), Some(ReplyError::NotAnAnswer { .. })));
        finds_the_verdict(&error);
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_body_is_an_error_and_an_error_reply_keeps_its_status_all_the_same() {
    let cut = FaultBody::from(r#"{"choices""#).fail("reset");
    let error = chat([Reply::ok(cut)]).complete(&ask()).await.unwrap_err();
    assert_eq!(error.class(), Class::Transport);
    assert!(find_cause::<ScriptedError>(&error).is_some());

    let cut = FaultBody::from("{").fail("reset");
    let error = chat([Reply::ok(cut).with_status(503)]).complete(&ask()).await.unwrap_err();
    assert_eq!((error.class(), error.status().unwrap().as_u16()), (Class::Overloaded, 503));
}

#[tokio::test(start_paused = true)]
async fn replies_are_bounded_and_exactly_the_bound_passes() {
    let body = bodies::openai_chat("four").to_string();
    let frames = || Reply::ok(FaultBody::new().frames(body.as_bytes().chunks(7).map(<[u8]>::to_vec)));
    let at = |max| chat([frames()]).with_max_reply(max).complete(&ask());
    assert_eq!(at(body.len()).await.unwrap().text(), "four");
    assert_eq!(at(body.len() - 1).await.unwrap_err().class(), Class::TooLarge);
}

#[tokio::test(start_paused = true)]
async fn no_reply_keeps_its_typed_cause() {
    let error = chat([Reply::fail("refused")]).complete(&ask()).await.unwrap_err();
    assert!(find_cause::<ScriptedError>(&error).is_some());
    assert_eq!((error.class(), error.code()), (Class::Transport, Some("upstream_unreachable")));
    finds_the_verdict(&error);
}

#[tokio::test(start_paused = true)]
async fn a_fallback_that_failed_tells_of_each_target() {
    let target = |name: &str, reply: Reply| {
        let name = Arc::new(TargetName::parse(name));
        let stack = ServiceBuilder::new()
            .layer(AttemptLayer::new(name.clone(), Arc::new(())))
            .layer(JudgeLayer::new(Kind::OpenAi))
            .service(ScriptedService::new([reply]));
        Target::new(name, stack)
    };
    let busy = Reply::json(429, &bodies::openai_error("rate_limit_error", None, "slow down"))
        .header(http::header::RETRY_AFTER, http::HeaderValue::from_static("7"));
    let fallback = Fallback::new([target("a", Reply::fail("refused")), target("b", busy)]);
    let error = Chat::new(fallback).complete(&ask()).await.unwrap_err();
    let failed = error.call_failed().unwrap();
    assert_eq!(failed.status.as_u16(), 429);
    assert_eq!((error.class(), error.status()), (Class::RateLimited, Some(failed.status)));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
    assert!(find_cause::<CallFailed>(&error).is_some());
    let classes: Vec<_> = error.attempts().iter().map(|attempt| attempt.class).collect();
    assert_eq!(classes, ["transport", "rate_limited"]);
    assert!(error.body().unwrap().starts_with(b"{\"error\""));
}

#[tokio::test(start_paused = true)]
async fn a_fallback_that_answered_says_who_did() {
    let well = Target::new(
        TargetName::parse("b/gpt-9-mini"),
        ScriptedService::new([Reply::json(200, &bodies::openai_chat("hi"))]),
    );
    let ill = Target::new(TargetName::parse("a"), ScriptedService::new([Reply::status(503)]));
    let answer = Chat::new(Fallback::new([ill, well])).complete(&ask()).await.unwrap();
    let served = answer.served().unwrap();
    assert_eq!((&*served.target.provider, &*served.model), ("b", "gpt-9-mini"));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_a_provider_repeats_is_cut_out() {
    let body = bodies::openai_error("invalid_request_error", None, "Incorrect API key: sk-0123456789");
    let chat = chat([Reply::json(401, &body)]).with_redactor(Redactor::new(["sk-0123456789"]));
    let error = chat.complete(&ask()).await.unwrap_err();
    assert_eq!(error.class(), Class::Auth);
    let mut shown = format!("{error} {error:?} {:?} {:?}", error.verdict(), error.body());
    let mut next = std::error::Error::source(&error);
    while let Some(cause) = next {
        shown.push_str(&format!("{cause} {cause:?}"));
        next = cause.source();
    }
    assert!(!shown.contains("0123456789"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn embeddings_come_in_the_order_of_their_texts() {
    let reply = json!({"data": [
        {"index": 1, "embedding": [3, 4.5]},
        {"index": 0, "embedding": [1.0, -2.0]},
    ], "usage": {"prompt_tokens": 5}});
    let chat = chat([Reply::json(200, &reply), Reply::json(200, &bodies::openai_embeddings("m", 1))]);
    let request = EmbedRequest::new("m", ["a", "b"]).with_dimensions(2).with("user", "u");
    let embeddings = chat.embed(&request).await.unwrap();
    assert_eq!(embeddings.vectors, [[1.0, -2.0], [3.0, 4.5]]);
    assert_eq!(embeddings.usage.input, Some(5));
    let received = &chat.service().requests()[0];
    assert_eq!(received.parts.uri.path(), "/v1/embeddings");
    let sent: serde_json::Value = serde_json::from_slice(received.body.as_deref().unwrap()).unwrap();
    let expected =
        json!({"model": "m", "input": ["a", "b"], "encoding_format": "float", "dimensions": 2, "user": "u"});
    assert_eq!(sent, expected);

    let error = chat.embed(&request).await.unwrap_err();
    assert_eq!(error.class(), Class::Malformed, "one vector for two texts");
}
