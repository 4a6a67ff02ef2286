//! Answers that are streams.

use super::{super::*, DONE, ask, chat, data, delta, finds_the_verdict, finish, read, stream_of};
use crate::{
    body::RequestBody,
    judge::{JudgeLayer, ReplyError},
    provider::Kind,
};
use http::{Request, Response};
use mainstay_layers::{
    classify::Class,
    error::find_cause,
    retry::RetryLayer,
    timeout::{TimeoutConfig, TimeoutError, TimeoutLayer},
};
use mainstay_testkit::{
    bodies,
    memory::{FaultBody, Reply, ScriptedError, ScriptedService},
};
use serde_json::json;
use std::{convert::Infallible, time::Duration};
use tokio::time::Instant;
use tower::{ServiceBuilder, service_fn};

const SECOND: Duration = Duration::from_secs(1);

fn text(piece: &str) -> ChatEvent {
    ChatEvent::Text(piece.into())
}

fn usage() -> String {
    data(&json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}))
}

fn events() -> Vec<String> {
    vec![
        delta(json!({"role": "assistant", "content": ""})),
        ": ping\n\n".into(),
        delta(json!({"reasoning_content": "hm"})),
        delta(json!({"content": "Grü"})),
        delta(json!({"content": "ße\n\"x\""})),
        delta(json!({"refusal": "no"})),
        finish("stop"),
        usage(),
        DONE.into(),
    ]
}

fn expected() -> Vec<ChatEvent> {
    let tokens = crate::dialect::Usage { input: Some(3), output: Some(2), ..Default::default() };
    vec![
        ChatEvent::Reasoning("hm".into()),
        text("Grü"),
        text("ße\n\"x\""),
        ChatEvent::Refusal("no".into()),
        ChatEvent::Usage(tokens),
        ChatEvent::Done(Finish::Stop),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_stream_cut_into_frames_anywhere_tells_the_same() {
    let bytes = events().concat().into_bytes();
    for at in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(at);
        let (told, error) = stream_of(FaultBody::new().data(head.to_vec()).data(tail.to_vec())).await;
        assert_eq!((told, error.is_none()), (expected(), true), "{at}");
    }
    let each = FaultBody::new().frames(bytes.chunks(1).map(<[u8]>::to_vec));
    assert_eq!(stream_of(each).await.0, expected());
}

#[tokio::test(start_paused = true)]
async fn the_whole_answer_can_be_had_at_once() {
    let chat = chat([Reply::sse(events(), FaultBody::new())]);
    let answer = chat.stream(&ask()).await.unwrap().into_response().await.unwrap();
    assert_eq!((answer.text(), answer.reasoning()), ("Grüße\n\"x\"", "hm"));
    assert_eq!((answer.finish(), answer.usage().output), (Some(Finish::Stop), Some(2)));
    assert_eq!(answer.answer().model.as_deref(), Some("gpt-9-0101"));
}

#[tokio::test(start_paused = true)]
async fn events_come_as_soon_as_they_are_there() {
    let body = FaultBody::new()
        .data(delta(json!({"content": "a"})))
        .wait(5 * SECOND)
        .data([finish("stop"), DONE.into()].concat());
    let chat = chat([Reply::sse([], body)]);
    let (start, mut stream) = (Instant::now(), chat.stream(&ask()).await.unwrap());
    assert_eq!(stream.next().await.unwrap().unwrap(), text("a"));
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(stream.so_far().text, "a");
    assert_eq!(stream.next().await.unwrap().unwrap(), ChatEvent::Done(Finish::Stop));
    assert_eq!(start.elapsed(), 5 * SECOND);
    assert!(stream.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_just_ends_is_an_error_with_what_was_said() {
    let said = || FaultBody::new().data(delta(json!({"content": "half an"})));
    for body in [said(), said().data("data: {\"choices\": [{\"del"), said().data("\n\n")] {
        let (told, error) = stream_of(body).await;
        let error = error.unwrap();
        assert_eq!(told, [text("half an")]);
        assert_eq!(error.partial().unwrap().text, "half an");
        assert_eq!((error.class(), error.code()), (Class::Malformed, Some("stream_truncated")));
        assert_eq!(find_cause(&error), Some(&ReplyError::Truncated));
        assert!(error.verdict().committed);
        finds_the_verdict(&error);
        assert!(!format!("{error:?}").contains("half"), "an error shows no answer");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_keeps_what_was_said_and_the_cause() {
    let (_, error) =
        stream_of(FaultBody::new().data(delta(json!({"content": "so far"}))).fail("reset")).await;
    let error = error.unwrap();
    assert!(find_cause::<ScriptedError>(&error).is_some());
    assert_eq!(error.class(), Class::Transport);
    finds_the_verdict(&error);
    assert_eq!(error.into_partial().unwrap().text, "so far");
}

#[tokio::test(start_paused = true)]
async fn what_breaks_after_the_end_of_the_answer_is_no_failure() {
    let body = FaultBody::new().data(delta(json!({"content": "all"}))).data(finish("length")).fail("reset");
    assert_eq!(stream_of(body).await.0, [text("all"), ChatEvent::Done(Finish::Length)]);
    let body = FaultBody::new().data(delta(json!({"content": "all"}))).data(finish("stop"));
    assert_eq!(stream_of(body).await.0, [text("all"), ChatEvent::Done(Finish::Stop)], "no [DONE]");
}

#[tokio::test(start_paused = true)]
async fn an_error_event_ends_the_stream_before_content_and_after() {
    let failure = data(&json!({"error": {"message": "busy", "type": "overloaded_error", "code": 503}}));
    let (told, error) = stream_of(FaultBody::new().data(failure.clone()).data(DONE)).await;
    let error = error.unwrap();
    assert!(told.is_empty() && error.partial().is_none() && !error.verdict().committed);
    assert_eq!((error.class(), error.to_string()), (Class::Overloaded, "busy".into()));

    let body = FaultBody::new().data(delta(json!({"content": "well"}))).data(failure).data(DONE);
    let (told, error) = stream_of(body).await;
    let error = error.unwrap();
    assert_eq!((told, &*error.partial().unwrap().text), (vec![text("well")], "well"));
    assert_eq!((error.class(), error.verdict().committed), (Class::Overloaded, true));
    assert!(error.body().unwrap().starts_with(b"{"));
    finds_the_verdict(&error);
}

#[tokio::test(start_paused = true)]
async fn garbage_ends_the_stream_wherever_it_comes() {
    for garbage in ["data: <html>\n\n", "data: {\"choices\": [{\"delta\": {\"content\": \"b\"}]}\n\n"] {
        let body = FaultBody::new().data(delta(json!({"content": "a"}))).data(garbage).data(finish("stop"));
        let (told, error) = stream_of(body).await;
        assert_eq!((told, error.unwrap().class()), (vec![text("a")], Class::Malformed), "{garbage}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_a_word_is_no_answer() {
    let (told, error) = stream_of(FaultBody::new().data(finish("stop")).data(DONE)).await;
    assert_eq!((told.len(), error.unwrap().class()), (0, Class::Malformed));
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_bounded() {
    let piece = delta(json!({"content": "x".repeat(100)}));
    let chat = chat([Reply::sse(vec![piece; 20], FaultBody::new())]).with_max_reply(1000);
    let (told, error) = read(&mut chat.stream(&ask()).await.unwrap()).await;
    let error = error.unwrap();
    assert_eq!((told.len(), error.class()), (10, Class::TooLarge));
}

#[tokio::test(start_paused = true)]
async fn json_in_place_of_a_stream_is_an_error_of_its_own_or_no_answer() {
    let chat = chat([
        Reply::json(200, &bodies::openai_error("server_error", None, "oops")),
        Reply::json(200, &bodies::openai_chat("whole")),
        Reply::json(401, &bodies::openai_error("auth", None, "no")),
    ]);
    for class in [Class::ServerError, Class::Malformed, Class::Auth] {
        assert_eq!(chat.stream(&ask()).await.unwrap_err().class(), class);
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_a_stream_drops_the_body_and_an_ended_one_keeps_none() {
    let silent = || FaultBody::new().data(delta(json!({"content": "a"}))).silence();
    for (body, reads, kept) in [
        (silent(), 0, true),
        (silent(), 1, true),
        (FaultBody::new().frames(events()), 7, false),
        (FaultBody::new().fail("reset"), 1, false),
    ] {
        let watch = body.watch();
        let body = std::sync::Arc::new(parking_lot::Mutex::new(Some(body)));
        let chat = Chat::new(service_fn(move |_: Request<RequestBody>| {
            let body = body.lock().take().unwrap();
            async move { Ok::<_, Infallible>(Response::new(body)) }
        }));
        let mut stream = chat.stream(&ask()).await.unwrap();
        for _ in 0..reads {
            let _ = stream.next().await;
        }
        assert_eq!(watch.dropped(), !kept, "{reads}");
        drop(stream);
        assert!(watch.dropped());
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_before_its_reply_is_cancelled() {
    let chat = chat([Reply::never()]);
    for stream in [false, true] {
        let request = ask();
        let waits = async {
            if stream { drop(chat.stream(&request).await) } else { drop(chat.complete(&request).await) }
        };
        assert!(tokio::time::timeout(SECOND, waits).await.is_err());
    }
    assert_eq!((chat.service().in_flight(), chat.service().dropped()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_the_connection_open_after_the_end_is_left_after_a_moment() {
    let chat = chat([Reply::sse(events(), FaultBody::new().silence())]);
    let (start, mut stream) = (Instant::now(), chat.stream(&ask()).await.unwrap());
    while stream.next().await.unwrap().unwrap() != ChatEvent::Done(Finish::Stop) {}
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert!(stream.next().await.is_none());
    assert_eq!(start.elapsed(), Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn below_it_the_layers_do_their_work() {
    // An error inside a 200 before content is tried again; silence after content is a typed error with what was said.
    let failure = data(&json!({"error": {"message": "busy", "code": 503}}));
    let script = ScriptedService::new([
        Reply::sse([failure], FaultBody::new()),
        Reply::sse([delta(json!({"content": "well"}))], FaultBody::new().silence()),
    ]);
    let stack = ServiceBuilder::new()
        .layer(RetryLayer::new())
        .layer(JudgeLayer::new(Kind::OpenAi))
        .layer(TimeoutLayer::new(TimeoutConfig::new().with_idle(30 * SECOND)))
        .service(script.clone());
    let mut stream = Chat::new(stack).stream(&ask()).await.unwrap();
    let (told, error) = read(&mut stream).await;
    let error = error.unwrap();
    assert_eq!((told, script.calls()), (vec![text("well")], 2));
    assert_eq!((error.class(), error.code()), (Class::Timeout, Some("idle_timeout")));
    assert_eq!(error.partial().unwrap().text, "well");
    assert!(find_cause::<TimeoutError>(&error).is_some());
    finds_the_verdict(&error);
}
