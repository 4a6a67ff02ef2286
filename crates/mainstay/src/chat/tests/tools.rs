//! Tool calls in streams, as providers and their imitators send them.

use super::{super::*, DONE, delta, finish, stream_of};
use mainstay_testkit::memory::FaultBody;
use serde_json::{Value, json};

fn piece(call: Value) -> String {
    delta(json!({"tool_calls": [call]}))
}

fn started(index: usize, id: &str, name: &str) -> ChatEvent {
    ChatEvent::ToolCallStarted { index, id: id.into(), name: name.into() }
}

fn arguments(index: usize, piece: &str) -> ChatEvent {
    ChatEvent::ToolCallArguments { index, piece: piece.into() }
}

fn whole(id: &str, name: &str, arguments: &str) -> ChatEvent {
    ChatEvent::ToolCall(ToolCall::new(id, name, arguments))
}

async fn told(pieces: impl IntoIterator<Item = String>) -> Vec<ChatEvent> {
    let body = FaultBody::new().frames(pieces).data(finish("tool_calls")).data(DONE);
    let (mut events, error) = stream_of(body).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(events.pop(), Some(ChatEvent::Done(Finish::ToolCalls)));
    events
}

#[tokio::test(start_paused = true)]
async fn calls_that_grow_side_by_side_are_kept_apart() {
    let events = told([
        piece(json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}})),
        piece(json!({"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": ""}})),
        piece(json!({"index": 0, "function": {"arguments": "{\"x\""}})),
        piece(json!({"index": 1, "function": {"arguments": "{}"}})),
        piece(json!({"index": 0, "function": {"arguments": ":1}"}})),
    ])
    .await;
    assert_eq!(
        events,
        [
            started(0, "a", "f"),
            started(1, "b", "g"),
            arguments(0, "{\"x\""),
            arguments(1, "{}"),
            arguments(0, ":1}"),
            whole("a", "f", "{\"x\":1}"),
            whole("b", "g", "{}"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn ids_beat_indexes() {
    // All under index 0, the ids repeated or not.
    let events = told([
        piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}})),
        piece(json!({"index": 0, "id": "b", "function": {"name": "g", "arguments": "[1"}})),
        piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "}"}})),
        piece(json!({"index": 0, "id": "", "function": {"arguments": "]"}})),
    ])
    .await;
    assert_eq!(events[events.len() - 2..], [whole("a", "f", "{}"), whole("b", "g", "[1]")]);
}

#[tokio::test(start_paused = true)]
async fn calls_without_any_index_follow_one_another() {
    let events = told([
        piece(json!({"function": {"name": "f", "arguments": "{"}})),
        piece(json!({"function": {"arguments": "}"}})),
        piece(json!({"function": {"name": "f", "arguments": {"y": 2}}})),
    ])
    .await;
    assert_eq!(events[events.len() - 2..], [whole("", "f", "{}"), whole("", "f", "{\"y\":2}")]);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_comes_late_starts_the_call_with_what_there_is() {
    let events = told([
        piece(json!({"index": 3, "id": "a"})),
        piece(json!({"index": 3, "function": {"arguments": "{"}})),
        piece(json!({"index": 3, "function": {"name": "f", "arguments": "}"}})),
    ])
    .await;
    assert_eq!(events, [started(0, "a", "f"), arguments(0, "{}"), whole("a", "f", "{}")]);
}

#[tokio::test(start_paused = true)]
async fn several_calls_in_one_event_and_the_old_form_are_read() {
    let both = json!({"tool_calls": [
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}},
        {"index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}},
    ]});
    let events = told([delta(both)]).await;
    assert_eq!(events[events.len() - 2..], [whole("a", "f", "{}"), whole("b", "g", "{}")]);

    let old = [json!({"name": "f", "arguments": ""}), json!({"arguments": "{}"})];
    let events = told(old.map(|call| delta(json!({"function_call": call})))).await;
    assert_eq!(events.last(), Some(&whole("", "f", "{}")));
}

#[tokio::test(start_paused = true)]
async fn a_cut_call_is_never_told_as_a_whole_one() {
    let body = FaultBody::new()
        .data(piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\""}})))
        .fail("reset");
    let (events, error) = stream_of(body).await;
    assert_eq!(events, [started(0, "a", "f"), arguments(0, "{\"x\"")]);
    assert_eq!(error.unwrap().partial().unwrap().tool_calls, [ToolCall::new("a", "f", "{\"x\"")]);
}

#[tokio::test(start_paused = true)]
async fn more_calls_than_can_be_end_the_stream() {
    let calls = (0..2000).map(|index| piece(json!({"index": index, "function": {"arguments": "x"}})));
    let (_, error) = stream_of(FaultBody::new().frames(calls)).await;
    assert_eq!(error.unwrap().class(), mainstay_layers::classify::Class::TooLarge);
}

#[tokio::test(start_paused = true)]
async fn odd_shapes_are_passed_by() {
    let odd = [
        json!({"tool_calls": [null, 7, {"function": null}, {"function": {"name": 3, "arguments": 4}}], "content": "a"}),
        json!({"content": 5, "reasoning": {"a": 1}}),
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "b"}]}),
    ];
    let body = FaultBody::new().frames(odd.map(delta)).data(finish("stop"));
    let (events, error) = stream_of(body).await;
    assert!(error.is_none());
    let text: Vec<_> =
        events.iter().filter(|event| matches!(event, ChatEvent::Text(_) | ChatEvent::Reasoning(_))).collect();
    assert_eq!(
        text,
        [&ChatEvent::Text("a".into()), &ChatEvent::Reasoning("hm".into()), &ChatEvent::Text("b".into())]
    );
}
