//! Streams that are cut and go on, over whole stacks, on paused time.

mod gemini;

use super::super::testing::{End, Play, Provider, Watch, request, route};
use super::*;
use crate::{
    judge::UsageCell,
    sse::{Event, Scanner},
};
use http_body::Body;
use http_body_util::BodyExt;
use mainstay_layers::{
    BoxError,
    classify::{Class, Classify, HttpClassifier},
    error::find_cause,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tower::ServiceExt;

const CHAT: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;

/// What a caller saw.
struct Saw {
    events: Vec<Event>,
    error: Option<BoxError>,
    usage: UsageCell,
    watch: Arc<Watch>,
}

impl Saw {
    fn json(&self) -> Vec<Value> {
        self.events.iter().filter_map(|event| serde_json::from_slice(event.data()).ok()).collect()
    }

    /// The text as an OpenAI or Anthropic SDK puts it together.
    fn text(&self) -> String {
        let chat = |event: &Value| event["choices"][0]["delta"]["content"].as_str().map(str::to_owned);
        let messages = |event: &Value| event["delta"]["text"].as_str().map(str::to_owned);
        self.json().iter().filter_map(|event| chat(event).or_else(|| messages(event))).collect()
    }

    fn done(&self) -> bool {
        self.events.last().is_some_and(Event::is_done)
    }

    #[track_caller]
    fn assert_whole(&self, text: &str) {
        assert!(self.error.is_none(), "{:?}", self.error.as_ref().map(ToString::to_string));
        assert_eq!(self.text(), text);
        let finishes =
            self.json().iter().filter(|event| event["choices"][0]["finish_reason"].is_string()).count();
        let roles =
            self.json().iter().filter(|event| event["choices"][0]["delta"]["role"].is_string()).count();
        assert_eq!((finishes, roles, self.done()), (1, 1, true));
        let ids: Vec<_> = self.json().iter().map(|event| event["id"].clone()).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }

    /// The caller has `text` and then one error of this class.
    #[track_caller]
    fn assert_cut(&self, text: &str, class: Class) {
        assert_eq!(self.text(), text);
        let error = self.error.as_ref().expect("an error");
        let verdict = HttpClassifier::new().error(&**error);
        assert_eq!((verdict.class, verdict.committed), (class, true), "{error}");
        assert!(!self.done());
    }
}

async fn call(path: &str, body: &str, targets: &[(&str, &Provider)]) -> Saw {
    let (fallback, watch) = route(targets);
    let usage = UsageCell::default();
    let mut request = request(path, body);
    request.extensions_mut().insert(usage.clone());
    let response = fallback.with_recovery(true).oneshot(request).await.unwrap();
    let mut body = response.into_body();
    let mut scanner = Scanner::new();
    let (mut events, mut error) = (Vec::new(), None);
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => scanner.push(frame.into_data().unwrap()),
            Err(other) => {
                assert!(error.replace(other).is_none(), "one error only");
            }
        }
        while let Some(block) = scanner.next_block().unwrap() {
            events.extend(block.event);
        }
    }
    assert!(body.is_end_stream());
    drop(body);
    targets.iter().for_each(|(_, provider)| provider.assert_idle());
    Saw { events, error, usage, watch }
}

async fn stream(targets: &[(&str, &Provider)]) -> Saw {
    call("/v1/chat/completions", CHAT, targets).await
}

fn chunk(id: &str, delta: Value, finish: Option<&str>) -> String {
    json!({"id": id, "object": "chat.completion.chunk", "created": id.len(), "model": id,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    .to_string()
}

/// The chunks of a stream of these words, of which the first has the role.
fn words(id: &str, words: &[&str]) -> Vec<String> {
    let role = chunk(id, json!({"role": "assistant", "content": ""}), None);
    let rest = words.iter().map(|word| chunk(id, json!({"content": word}), None));
    std::iter::once(role).chain(rest).collect()
}

fn cut(id: &str, text: &[&str], end: End) -> Provider {
    let chunks = words(id, text);
    Provider::new([Play::events(&refs(&chunks), end)])
}

fn whole_play(id: &str, text: &[&str]) -> Play {
    let mut chunks = words(id, text);
    chunks.push(chunk(id, json!({}), Some("stop")));
    chunks.push("[DONE]".into());
    Play::events(&refs(&chunks), End::Proper)
}

fn whole(id: &str, text: &[&str]) -> Provider {
    Provider::new([whole_play(id, text)])
}

fn refs(chunks: &[String]) -> Vec<&str> {
    chunks.iter().map(String::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn a_cut_stream_is_continued_with_each_word_once() {
    for end in [End::Break, End::Proper, End::Hang] {
        let a = cut("one", &["w0 ", "w1 "], end);
        let b = whole("two", &["w2 ", "w3"]);
        let saw = stream(&[("a", &a), ("b/m-2", &b)]).await;
        saw.assert_whole("w0 w1 w2 w3");
        assert_eq!((a.calls(), b.calls()), (1, 1));
        let sent = &b.bodies()[0];
        assert_eq!(sent["model"], "m-2");
        assert_eq!(sent["messages"][1], json!({"role": "assistant", "content": "w0 w1"}));
        let class = if end == End::Hang { Class::Timeout } else { Class::Malformed };
        let class = if end == End::Break { Class::Transport } else { class };
        assert_eq!(saw.watch.classes(), [("a".into(), class), ("b/m-2".into(), Class::Success)]);
        assert_eq!(*saw.watch.recoveries.lock(), [("a".into(), Some("b/m-2".into()))]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_event_of_the_provider_is_a_cut_and_never_shown() {
    let mut chunks = words("one", &["w0 "]);
    chunks.push(r#"{"error":{"message":"overloaded","code":503}}"#.into());
    let a = Provider::new([Play::events(&refs(&chunks), End::Proper)]);
    let b = whole("two", &["w1"]);
    stream(&[("a", &a), ("b", &b)]).await.assert_whole("w0 w1");
}

#[tokio::test(start_paused = true)]
async fn a_whole_stream_passes_byte_for_byte_and_costs_one_call() {
    let a = whole("one", &["w0 ", "w1"]);
    let b = whole("two", &["never"]);
    let saw = stream(&[("a", &a), ("b", &b)]).await;
    saw.assert_whole("w0 w1");
    assert_eq!(b.calls(), 0);
    let sent: Vec<_> = words("one", &["w0 ", "w1"]);
    assert!(sent.iter().zip(&saw.events).all(|(sent, got)| sent.as_bytes() == got.data()));
}

#[tokio::test(start_paused = true)]
async fn a_continuation_that_is_cut_is_continued_too() {
    let a = cut("one", &["w0 "], End::Break);
    let b = cut("two", &["w1 "], End::Hang);
    let c = whole("three", &["w2"]);
    let saw = stream(&[("a", &a), ("b", &b), ("c", &c)]).await;
    saw.assert_whole("w0 w1 w2");
    assert_eq!(c.bodies()[0]["messages"][1]["content"], "w0 w1");
    assert_eq!(
        *saw.watch.recoveries.lock(),
        [("a".into(), Some("b".into())), ("b".into(), Some("c".into()))]
    );
}

#[tokio::test(start_paused = true)]
async fn a_target_that_begins_again_repeats_nothing() {
    let a = cut("one", &["w0 ", "w1 ", "w2 "], End::Break);
    let b = whole("two", &["w0 ", "w1 ", "w2 ", "w3"]);
    stream(&[("a", &a), ("b", &b)]).await.assert_whole("w0 w1 w2 w3");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_partial_answer_is_asked_once_more_from_the_start_and_spliced_where_it_repeats() {
    let a = cut("one", &["w0 ", "w1 "], End::Break);
    let refusal = Play::error(400, "the last message must be the user's");
    let b = Provider::new([refusal, whole_play("two", &["w0", " w1 w", "2"])]).attempts(3);
    let saw = stream(&[("a", &a), ("b", &b)]).await;
    saw.assert_whole("w0 w1 w2");
    assert_eq!(b.calls(), 2);
    assert_eq!(b.bodies()[1]["messages"].as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_that_says_something_else_is_one_error_and_none_of_its_words() {
    for other in [&["w0 ", "no"][..], &["W0 w1 w2"], &["w0 "], &[]] {
        let a = cut("one", &["w0 ", "w1 "], End::Break);
        let b = Provider::new([Play::error(400, "no prefill"), whole_play("two", other)]);
        let c = whole("three", &["never"]);
        let saw = stream(&[("a", &a), ("b", &b), ("c", &c)]).await;
        if other.is_empty() {
            // An empty answer is none: the next one is asked.
            continue;
        }
        saw.assert_cut("w0 w1 ", Class::Malformed);
        assert!(saw.error.unwrap().to_string().contains("something else"));
        assert_eq!(c.calls(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn if_nobody_can_go_on_the_first_error_is_what_the_caller_gets() {
    let a = cut("one", &["w0 "], End::Break);
    let b = Provider::new([Play::error(500, "down")]).attempts(2);
    let saw = stream(&[("a", &a), ("b", &b)]).await;
    saw.assert_cut("w0 ", Class::Transport);
    let error = saw.error.as_ref().unwrap();
    assert!(find_cause::<RecoveryFailed>(&**error).is_some());
    assert!(find_cause::<std::io::Error>(&**error).is_some());
    assert_eq!(b.calls(), 2);
    assert_eq!(*saw.watch.recoveries.lock(), [("a".into(), None)]);
}

#[tokio::test(start_paused = true)]
async fn a_target_with_an_open_circuit_is_not_asked_to_go_on() {
    let a = cut("one", &["w0 "], End::Break);
    let b = whole("two", &["never"]);
    b.breaker.force_open();
    let c = whole("three", &["w1"]);
    stream(&[("a", &a), ("b", &b), ("c", &c)]).await.assert_whole("w0 w1");
    assert_eq!(b.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_text_alone_is_never_continued() {
    let tool = json!({"tool_calls": [{"index": 0, "id": "t", "function": {"name": "f", "arguments": "{"}}]});
    for (last, body) in [
        (chunk("one", tool, None), CHAT.to_owned()),
        (chunk("one", json!({"refusal": "I will not"}), None), CHAT.to_owned()),
        (
            json!({"id": "one", "choices": [{"index": 1, "delta": {"content": "x"}, "finish_reason": null}]})
                .to_string(),
            CHAT.replace("\"stream\"", "\"n\":2,\"stream\""),
        ),
        (
            chunk("one", json!({"content": "{"}), None),
            CHAT.replace("\"stream\"", "\"response_format\":{\"type\":\"json_schema\"},\"stream\""),
        ),
    ] {
        let mut chunks = words("one", &["w0 "]);
        chunks.push(last);
        let a = Provider::new([Play::events(&refs(&chunks), End::Break)]);
        let b = whole("two", &["never"]);
        let saw = call("/v1/chat/completions", &body, &[("a", &a), ("b", &b)]).await;
        assert!(saw.error.is_some() && !saw.done());
        assert_eq!(b.calls(), 0, "{chunks:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn reasoning_alone_is_not_continued_and_that_of_a_continuation_is_not_shown() {
    let thought = chunk("one", json!({"reasoning_content": "hm"}), None);
    let a = Provider::new([Play::events(&[&thought], End::Break)]);
    let b = whole("two", &["never"]);
    let saw = stream(&[("a", &a), ("b", &b)]).await;
    assert!(saw.error.is_some());
    assert_eq!(b.calls(), 0);

    let a = Provider::new([Play::events(
        &[
            &chunk("one", json!({"role": "assistant"}), None),
            &thought,
            &chunk("one", json!({"content": "w0 "}), None),
        ],
        End::Break,
    )]);
    let mut again = words("two", &[]);
    again.push(chunk("two", json!({"reasoning_content": "hm"}), None));
    again.push(chunk("two", json!({"content": "w1"}), Some("stop")));
    let b = Provider::new([Play::events(&refs(&again), End::Proper)]);
    let saw = stream(&[("a", &a), ("b", &b)]).await;
    saw.assert_whole("w0 w1");
    let thoughts = saw
        .json()
        .iter()
        .filter(|event| event["choices"][0]["delta"]["reasoning_content"].is_string())
        .count();
    assert_eq!(thoughts, 1);
}

#[tokio::test(start_paused = true)]
async fn the_callers_own_ends_are_not_continued() {
    // A content filter's event says what holds elsewhere too.
    let mut chunks = words("one", &["w0 "]);
    chunks.push(r#"{"error":{"message":"flagged","code":"content_policy_violation"}}"#.into());
    let a = Provider::new([Play::events(&refs(&chunks), End::Proper)]);
    let b = whole("two", &["never"]);
    stream(&[("a", &a), ("b", &b)]).await.assert_cut("w0 ", Class::ContentPolicy);
    assert_eq!(b.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_tokens_of_both_replies_add_up_for_the_caller_and_for_us() {
    let usage = |n: u64| json!({"prompt_tokens": n, "completion_tokens": n, "prompt_tokens_details": {"cached_tokens": n}});
    let with = |id: &str, n: u64| json!({"id": id, "choices": [], "usage": usage(n)}).to_string();
    let mut one = words("one", &["w0 "]);
    one.push(with("one", 3));
    let mut two = words("two", &["w1"]);
    two.extend([chunk("two", json!({}), Some("stop")), with("two", 4), "[DONE]".into()]);
    let a = Provider::new([Play::events(&refs(&one), End::Break)]);
    let b = Provider::new([Play::events(&refs(&two), End::Proper)]);
    let saw = stream(&[("a", &a), ("b", &b)]).await;
    saw.assert_whole("w0 w1");
    assert_eq!(saw.json().last().unwrap()["usage"], usage(7));
    let ours = saw.usage.get();
    assert_eq!((ours.input, ours.output, ours.cached), (Some(7), Some(7), Some(7)));
}

#[tokio::test(start_paused = true)]
async fn the_callers_idempotency_key_stands_for_one_request_only() {
    let (a, b) = (cut("one", &["w0 "], End::Break), whole("two", &["w1"]));
    let (fallback, _) = route(&[("a", &a), ("b", &b)]);
    let mut request = request("/v1/chat/completions", CHAT);
    request.headers_mut().insert("idempotency-key", "mine".parse().unwrap());
    let response = fallback.with_recovery(true).oneshot(request).await.unwrap();
    response.into_body().collect().await.unwrap();
    assert_eq!(a.got.lock()[0].headers["idempotency-key"], "mine");
    assert!(!b.got.lock()[0].headers.contains_key("idempotency-key"));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_frees_everything_wherever_the_recovery_stands() {
    let wait = Duration::from_millis(100);
    for polls in 0..10 {
        let chunks = words("one", &["w0 ", "w1 "]);
        let a = Provider::new([Play::events(&refs(&chunks), End::Break).pause_before_each(wait)]);
        let b = Provider::new([whole_play("two", &["w2 ", "w3 ", "w4"]).after(wait).pause_before_each(wait)]);
        let (fallback, watch) = route(&[("a", &a), ("b", &b)]);
        let call = async {
            let response =
                fallback.with_recovery(true).oneshot(request("/v1/chat/completions", CHAT)).await.unwrap();
            let mut body = response.into_body();
            while body.frame().await.is_some() {}
        };
        assert!(tokio::time::timeout(wait * polls + wait / 2, call).await.is_err(), "{polls}");
        a.assert_idle();
        b.assert_idle();
        let classes = watch.classes();
        let cancelled = classes.iter().filter(|(_, class)| *class == Class::Cancelled).count();
        assert_eq!(cancelled, 1, "after {polls}: {classes:?}");
        assert!(classes.len() <= 2);
    }
}

fn block(kind: &str, index: u64, more: Value) -> (String, Value) {
    let mut event = json!({"type": kind, "index": index});
    event.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    (kind.into(), event)
}

fn messages(id: &str, input: u64, events: Vec<(String, Value)>, end: End) -> Play {
    let usage = json!({"input_tokens": input, "output_tokens": 1});
    let start = json!({"type": "message_start", "message": {"id": id, "role": "assistant", "content": [], "usage": usage}});
    let events = std::iter::once(("message_start".to_owned(), start)).chain(events);
    let chunks =
        events.map(|(name, data)| (Duration::ZERO, format!("event: {name}\ndata: {data}\n\n"))).collect();
    let headers = vec![("content-type", "text/event-stream".to_owned())];
    Play::Reply { status: 200, headers, after: Duration::ZERO, chunks, end }
}

fn said(index: u64, text: &str) -> (String, Value) {
    block("content_block_delta", index, json!({"delta": {"type": "text_delta", "text": text}}))
}

fn opened(index: u64, kind: &str) -> (String, Value) {
    block("content_block_start", index, json!({"content_block": {"type": kind, "text": ""}}))
}

fn closed(index: u64) -> (String, Value) {
    block("content_block_stop", index, json!({}))
}

fn ended(output: u64) -> Vec<(String, Value)> {
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": output}});
    vec![("message_delta".into(), delta), ("message_stop".into(), json!({"type": "message_stop"}))]
}

const MESSAGES: &str = r#"{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}"#;

async fn messages_call(plays: [Vec<Play>; 2]) -> (Saw, Provider) {
    let [a, b] = plays.map(Provider::new);
    let saw = call("/v1/messages", MESSAGES, &[("a", &a), ("b", &b)]).await;
    (saw, b)
}

fn shape(saw: &Saw) -> Vec<String> {
    let one = |event: &Event| {
        let data: Value = serde_json::from_slice(event.data()).unwrap();
        match data["index"].as_u64() {
            Some(index) => format!("{} {index}", event.name()),
            None => event.name().to_owned(),
        }
    };
    saw.events.iter().map(one).collect()
}

#[tokio::test(start_paused = true)]
async fn a_message_goes_on_in_the_block_that_was_open() {
    let one = messages("one", 10, vec![opened(0, "text"), said(0, "w0 "), said(0, "w1 ")], End::Break);
    let mut two = vec![opened(0, "text"), said(0, "w2"), closed(0)];
    two.extend(ended(5));
    let (saw, b) = messages_call([vec![one], vec![messages("two", 14, two, End::Proper)]]).await;
    assert!(saw.error.is_none());
    assert_eq!(saw.text(), "w0 w1 w2");
    let expected = [
        "message_start",
        "content_block_start 0",
        "content_block_delta 0",
        "content_block_delta 0",
        "content_block_delta 0",
        "content_block_stop 0",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(shape(&saw), expected);
    let usage = &saw.json()[6]["usage"];
    assert_eq!(*usage, json!({"input_tokens": 24, "output_tokens": 6}));
    assert_eq!(saw.usage.get().input, Some(24));
    // Anthropic refuses a prefill that ends in blanks.
    assert_eq!(b.bodies()[0]["messages"][1], json!({"role": "assistant", "content": "w0 w1"}));
}

#[tokio::test(start_paused = true)]
async fn a_message_from_the_start_is_spliced_over_its_blocks_and_its_thinking_is_dropped() {
    let one = messages(
        "one",
        1,
        vec![
            opened(0, "thinking"),
            closed(0),
            opened(1, "text"),
            said(1, "w0 "),
            closed(1),
            opened(2, "text"),
            said(2, "w1 "),
        ],
        End::Break,
    );
    let mut two = vec![
        opened(0, "thinking"),
        closed(0),
        opened(1, "text"),
        said(1, "w0 "),
        closed(1),
        opened(2, "text"),
        said(2, "w1 w2"),
        closed(2),
    ];
    two.extend(ended(5));
    let refusal = Play::json(
        400,
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no prefill"}})
            .to_string(),
    );
    let (saw, b) = messages_call([vec![one], vec![refusal, messages("two", 1, two, End::Proper)]]).await;
    assert!(saw.error.is_none());
    assert_eq!((saw.text().as_str(), b.calls()), ("w0 w1 w2", 2));
    let tail = [
        "content_block_delta 2",
        "content_block_delta 2",
        "content_block_stop 2",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(shape(&saw)[8..], tail[1..]);
}

#[tokio::test(start_paused = true)]
async fn a_message_may_go_on_with_a_tool_and_its_text_block_is_closed_first() {
    let one = messages("one", 1, vec![opened(0, "text"), said(0, "w0")], End::Break);
    let mut two = vec![opened(0, "tool_use"), closed(0)];
    two.extend(ended(5));
    let (saw, _) = messages_call([vec![one], vec![messages("two", 1, two, End::Proper)]]).await;
    let expected = [
        "content_block_stop 0",
        "content_block_start 1",
        "content_block_stop 1",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(shape(&saw)[3..], expected);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_calls_a_tool_or_thinks_is_not_continued() {
    for blocks in [
        vec![opened(0, "text"), said(0, "w0"), closed(0), opened(1, "tool_use")],
        vec![
            opened(0, "thinking"),
            block("content_block_delta", 0, json!({"delta": {"type": "thinking_delta", "thinking": "hm"}})),
        ],
    ] {
        let one = messages("one", 1, blocks, End::Break);
        let (saw, b) = messages_call([vec![one], vec![messages("two", 1, ended(5), End::Proper)]]).await;
        assert!(saw.error.is_some());
        assert_eq!(b.calls(), 0);
    }
}
