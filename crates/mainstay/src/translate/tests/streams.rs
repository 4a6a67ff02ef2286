//! Streams: the same bytes however they are cut, blocks in order, nothing closed that was cut.

use super::super::{form::Wishes, out::Out};
use super::*;
use crate::sse::Scanner;
use proptest::prelude::*;
use serde_json::json;

const WISHES: Wishes = Wishes { include_usage: true, thoughts: true };

fn event(data: Value) -> String {
    format!("data: {data}\n\n")
}

fn chunk(delta: Value) -> String {
    event(json!({"id": "chatcmpl-1", "created": 1, "model": "m", "choices": [{"index": 0, "delta": delta}]}))
}

/// A stream of each dialect that says: a thought, a text, two tool calls, the tokens.
fn sample(api: Api) -> String {
    match api {
        Api::Chat => [
            chunk(json!({"role": "assistant", "content": ""})),
            ": wait\n\n".to_owned(),
            chunk(json!({"reasoning_content": "hm"})),
            chunk(json!({"content": "He\u{e9}\u{1f600}\"\\ "})),
            chunk(json!({"content": "llo"})),
            chunk(json!({"annotations": [{"type": "url_citation", "url_citation":
                {"url": "https://a.example/\u{e9}", "title": "\"", "start_index": 2, "end_index": 4}}]})),
            chunk(json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}},
                                        {"index": 1, "id": "b", "function": {"name": "g", "arguments": ""}}]})),
            chunk(json!({"tool_calls": [{"index": 1, "function": {"arguments": "{\"y\": \"}"}}]})),
            chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"x\":1}"}}]})),
            chunk(json!({"tool_calls": [{"index": 1, "function": {"arguments": "\"}"}}]})),
            event(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})),
            event(json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14,
                "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}}})),
            "data: [DONE]\n\n".to_owned(),
        ]
        .concat(),
        Api::Messages => [
            json!({"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage":
                {"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 1}}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 1, "delta":
                {"type": "text_delta", "text": "He\u{e9}\u{1f600}\"\\ "}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "llo"}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta", "citation":
                {"type": "web_search_result_location", "url": "https://a.example/\u{e9}", "title": "\""}}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "content_block_start", "index": 2, "content_block":
                {"type": "tool_use", "id": "a", "name": "f", "input": {}}}),
            json!({"type": "content_block_delta", "index": 2, "delta":
                {"type": "input_json_delta", "partial_json": "{\"x\":"}}),
            json!({"type": "content_block_delta", "index": 2, "delta":
                {"type": "input_json_delta", "partial_json": "1}"}}),
            json!({"type": "content_block_stop", "index": 2}),
            json!({"type": "content_block_start", "index": 3, "content_block":
                {"type": "tool_use", "id": "b", "name": "g", "input": {}}}),
            json!({"type": "content_block_delta", "index": 3, "delta":
                {"type": "input_json_delta", "partial_json": "{\"y\": \"}\"}"}}),
            json!({"type": "content_block_stop", "index": 3}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage":
                {"output_tokens": 5, "output_tokens_details": {"thinking_tokens": 2}}}),
            json!({"type": "message_stop"}),
        ]
        .map(|data| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap()))
        .concat(),
        Api::Gemini => [
            json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "hm", "thought": true}]}}],
                   "modelVersion": "m", "responseId": "r1"}),
            json!({"candidates": [{"index": 0, "content": {"role": "model", "parts":
                [{"text": "He\u{e9}\u{1f600}\"\\ "}]}}]}),
            json!({"candidates": [{"index": 0, "content": {"role": "model", "parts":
                [{"text": "llo"}, {"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}}]}}]}),
            json!({"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts":
                [{"functionCall": {"id": "b", "name": "g", "args": {"y": "}"}}}]}, "groundingMetadata": {
                    "groundingChunks": [{"web": {"uri": "https://a.example/\u{e9}", "title": "\""}}],
                    "groundingSupports": [{"segment": {"startIndex": 2, "endIndex": 8}, "groundingChunkIndices": [0]}]}}],
                "usageMetadata": {"promptTokenCount": 9, "cachedContentTokenCount": 4, "candidatesTokenCount": 3,
                                  "thoughtsTokenCount": 2, "totalTokenCount": 14}}),
        ]
        .map(event)
        .concat(),
        // What is written is read too.
        Api::Responses => whole(Api::Chat, Api::Responses, &sample(Api::Chat)),
    }
}

/// Translates a stream that comes in `pieces`.
fn translate(from: Api, to: Api, pieces: &[&[u8]]) -> Result<String, &'static str> {
    let mut translator = StreamTranslator::new(from, to, WISHES);
    let mut scanner = Scanner::new();
    let mut out = Out::default();
    for piece in pieces {
        scanner.push(Bytes::copy_from_slice(piece));
        while let Some(block) = scanner.next_block().unwrap() {
            if let Some(event) = &block.event {
                translator.event(event, &mut out)?;
            }
        }
    }
    translator.end(&mut out)?;
    Ok(out.finish())
}

fn whole(from: Api, to: Api, stream: &str) -> String {
    translate(from, to, &[stream.as_bytes()]).unwrap()
}

/// The events of a stream as JSON, with their names.
fn events(stream: &str) -> Vec<(String, Value)> {
    let mut scanner = Scanner::new();
    scanner.push(Bytes::copy_from_slice(stream.as_bytes()));
    let mut all = Vec::new();
    while let Some(block) = scanner.next_block().unwrap() {
        let event = block.event.expect("nothing but events");
        if !event.is_done() {
            let data = serde_json::from_slice(event.data()).expect("JSON");
            all.push((event.name().to_owned(), data));
        }
    }
    all
}

/// What an answer says, whatever dialect it is in: its texts, thoughts, calls and counts as a whole chat completion.
pub(super) fn said(api: Api, stream: &str) -> Value {
    let chat = if api == Api::Chat { stream.to_owned() } else { whole(api, Api::Chat, stream) };
    let (mut text, mut thought, mut usage, mut finish) =
        (String::new(), String::new(), Value::Null, Value::Null);
    let mut calls: Vec<(Value, Value, String)> = Vec::new();
    for (_, data) in events(&chat) {
        if !data["usage"].is_null() {
            usage = data["usage"].clone();
        }
        let choice = &data["choices"][0];
        if !choice["finish_reason"].is_null() {
            finish = choice["finish_reason"].clone();
        }
        text += choice["delta"]["content"].as_str().unwrap_or_default();
        thought += choice["delta"]["reasoning_content"].as_str().unwrap_or_default();
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let index = call["index"].as_u64().unwrap() as usize;
            let function = &call["function"];
            if calls.len() <= index {
                calls.push((call["id"].clone(), function["name"].clone(), String::new()));
            }
            calls[index].2 += function["arguments"].as_str().unwrap_or_default();
        }
    }
    let calls: Vec<Value> = calls
        .into_iter()
        .map(|(id, name, arguments)| json!([id, name, serde_json::from_str::<Value>(&arguments).unwrap()]))
        .collect();
    json!({"text": text, "thought": thought, "calls": calls, "finish": finish, "usage": usage})
}

#[test]
fn every_dialect_says_the_same_in_every_other() {
    let expected = json!({
        "text": "He\u{e9}\u{1f600}\"\\ llo", "thought": "hm",
        "calls": [["a", "f", {"x": 1}], ["b", "g", {"y": "}"}]],
        "finish": "tool_calls",
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14,
                  "prompt_tokens_details": {"cached_tokens": 4},
                  "completion_tokens_details": {"reasoning_tokens": 2}},
    });
    for from in APIS {
        for to in APIS.into_iter().filter(|to| *to != from) {
            let mut said = said(to, &whole(from, to, &sample(from)));
            if to == Api::Messages {
                // It does not tell thoughts apart from other output.
                said["usage"]["completion_tokens_details"]["reasoning_tokens"] = json!(2);
            }
            assert_eq!(said, expected, "{from:?} to {to:?}");
        }
    }
}

#[test]
fn an_answer_in_one_piece_says_what_its_stream_says() {
    for from in APIS {
        let body = translate_answer(from, from, WISHES, false, "", whole_answer(from).as_bytes()).unwrap();
        for to in APIS {
            let streamed = translate_answer(from, to, WISHES, true, "", body.as_bytes()).unwrap();
            let said = said(to, &streamed);
            assert_eq!(said["text"], "He\u{e9}\u{1f600}\"\\ llo", "{from:?} to {to:?}");
            assert_eq!(
                said["calls"],
                json!([["a", "f", {"x": 1}], ["b", "g", {"y": "}"}]]),
                "{from:?} to {to:?}"
            );
            assert_eq!(said["usage"]["total_tokens"], 14);
        }
    }
}

/// An answer of `api` in one piece.
fn whole_answer(api: Api) -> String {
    let chat = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant",
            "content": "He\u{e9}\u{1f600}\"\\ llo", "reasoning_content": "hm", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}},
                {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{\"y\": \"}\"}"}}]}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14},
    });
    translate_answer(Api::Chat, api, WISHES, false, "", chat.to_string().as_bytes()).unwrap()
}

proptest! {
    #[test]
    fn a_stream_is_the_same_however_it_is_cut(
        from in prop::sample::select(APIS.to_vec()),
        to in prop::sample::select(APIS.to_vec()),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let stream = sample(from);
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
        at.push(0);
        at.push(stream.len());
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &stream.as_bytes()[pair[0]..pair[1]]).collect();
        // Gemini's answers have no time of their own.
        let timeless = |text: String| regex_free(&text);
        prop_assert_eq!(
            translate(from, to, &pieces).map(timeless),
            Ok(timeless(whole(from, to, &stream)))
        );
    }
}

/// The text without its times: the digits after `"created":` and `"created_at":`.
fn regex_free(text: &str) -> String {
    text.split("\"created")
        .map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit() || "_at\":".contains(c)))
        .collect()
}

#[test]
fn blocks_follow_one_another_and_each_ends_before_the_next_begins() {
    for from in [Api::Chat, Api::Gemini, Api::Responses] {
        let mut open = None;
        let mut next = 0;
        for (name, data) in events(&whole(from, Api::Messages, &sample(from))) {
            let index = data["index"].as_u64();
            match name.as_str() {
                "content_block_start" => {
                    assert_eq!((open, index), (None, Some(next)), "{from:?}");
                    open = index;
                }
                "content_block_delta" => assert_eq!(index, open, "{from:?}"),
                "content_block_stop" => {
                    assert_eq!(index, open, "{from:?}");
                    open = None;
                    next += 1;
                }
                _ => assert_eq!(open, None, "{from:?} {name}"),
            }
        }
        assert_eq!(next, 4, "{from:?}");
    }
}

#[test]
fn responses_events_are_numbered_without_a_gap_and_the_last_repeats_the_answer() {
    for from in [Api::Chat, Api::Messages, Api::Gemini] {
        let all = events(&whole(from, Api::Responses, &sample(from)));
        for (n, (name, data)) in all.iter().enumerate() {
            assert_eq!(data["sequence_number"], n as u64);
            assert_eq!(data["type"], **name);
        }
        let (name, last) = all.last().unwrap();
        assert_eq!(name, "response.completed");
        assert_eq!(last["response"]["output"].as_array().unwrap().len(), 4, "{from:?}");
    }
}

#[test]
fn a_call_that_is_cut_is_not_closed() {
    let cut = [
        chunk(json!({"role": "assistant", "content": ""})),
        chunk(
            json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x"}}]}),
        ),
    ]
    .concat();
    for (to, never) in [
        (Api::Messages, "content_block_stop"),
        (Api::Gemini, "functionCall"),
        (Api::Responses, "arguments.done"),
    ] {
        let mut translator = StreamTranslator::new(Api::Chat, to, WISHES);
        let mut scanner = Scanner::new();
        let mut out = Out::default();
        scanner.push(Bytes::from(cut.clone()));
        while let Some(block) = scanner.next_block().unwrap() {
            translator.event(&block.event.unwrap(), &mut out).unwrap();
        }
        let text = out.finish();
        assert!(!text.contains(never) && !text.contains("finish"), "{to:?}: {text}");
    }
}

#[test]
fn an_event_that_cannot_be_written_whole_is_not_written_at_all() {
    let call = |arguments: &str| {
        let function = json!({"name": "f", "arguments": arguments});
        crate::sse::Event::new(
            "",
            json!({"choices": [{"index": 0, "delta": {"content": "so", "tool_calls": [{"index": 0, "id": "a", "function": function}]}}]})
                .to_string(),
        )
    };
    // A list, where an object is due.
    let mut translator = StreamTranslator::new(Api::Chat, Api::Gemini, WISHES);
    let mut out = Out::default();
    translator.event(&call("[1]"), &mut out).unwrap_err();
    let all = events(&out.finish());
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].1["candidates"][0]["content"]["parts"][0]["text"], "so");
}

#[test]
fn tool_calls_without_ids_get_one_each() {
    let stream = [
        chunk(json!({"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]})),
        chunk(json!({"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]})),
        event(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})),
    ]
    .concat();
    let said = said(Api::Messages, &whole(Api::Chat, Api::Messages, &stream));
    let calls = said["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2);
    assert_ne!(calls[0][0], calls[1][0]);
}

#[test]
fn a_call_without_arguments_has_an_empty_object_of_them_in_a_chat_stream_too() {
    let stream = [
        event(json!({"type": "message_start", "message": {"id": "msg_1"}})),
        event(json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}})),
        event(json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": ""}})),
        event(json!({"type": "content_block_stop", "index": 0})),
        event(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})),
        event(json!({"type": "message_stop"})),
    ]
    .concat();
    assert_eq!(said(Api::Chat, &whole(Api::Messages, Api::Chat, &stream))["calls"], json!([["t", "f", {}]]));
}

#[test]
fn a_call_whose_provider_left_its_id_out_gets_the_same_one_whole_and_in_a_stream() {
    let item = json!({"type": "function_call", "id": "", "name": "f", "arguments": "{}"});
    let responses = json!({"id": "resp_1", "output": [item], "usage": {}});
    let message = json!({"id": "msg_1", "content": [{"type": "tool_use", "name": "f", "input": {}}]});
    let [added, done] = ["added", "done"].map(|what| {
        event(json!({"type": format!("response.output_item.{what}"), "output_index": 0, "item": item}))
    });
    let streams = [
        (
            Api::Responses,
            responses.clone(),
            [
                event(json!({"type": "response.created", "response": {"id": "resp_1"}})),
                added,
                done,
                event(json!({"type": "response.completed", "response": responses})),
            ]
            .concat(),
        ),
        (
            Api::Messages,
            message.clone(),
            [
                event(json!({"type": "message_start", "message": {"id": "msg_1"}})),
                event(json!({"type": "content_block_start", "index": 0, "content_block": message["content"][0]})),
                event(json!({"type": "content_block_stop", "index": 0})),
                event(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})),
                event(json!({"type": "message_stop"})),
            ]
            .concat(),
        ),
    ];
    for (from, answer, stream) in streams {
        let id = said(Api::Chat, &whole(from, Api::Chat, &stream))["calls"][0][0].clone();
        let of = |answer: &Value| {
            let text = answer.to_string();
            let text = translate_answer(from, Api::Chat, WISHES, false, "m", text.as_bytes()).unwrap();
            let answer: Value = serde_json::from_str(&text).unwrap();
            answer["choices"][0]["message"]["tool_calls"][0]["id"].clone()
        };
        assert!(id.as_str().is_some_and(|id| id.starts_with("call_")), "{id}");
        assert_eq!(of(&answer), id);
        // Another answer's call has another one: they meet in one conversation.
        let mut other = answer;
        other["id"] = json!("other");
        assert_ne!(of(&other), id);
    }
}

#[test]
fn arguments_that_come_before_the_name_are_kept_for_it() {
    let stream = [
        chunk(json!({"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": "{\"x\":"}}]})),
        chunk(json!({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "1}"}}]})),
        event(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})),
    ]
    .concat();
    assert_eq!(
        said(Api::Messages, &whole(Api::Chat, Api::Messages, &stream))["calls"],
        json!([["a", "f", {"x": 1}]])
    );
}

#[test]
fn thoughts_are_shown_to_messages_callers_that_asked_for_them_only() {
    let mut translator = StreamTranslator::new(Api::Chat, Api::Messages, Wishes::default());
    let mut out = Out::default();
    let event = crate::sse::Event::new("", r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}"#);
    translator.event(&event, &mut out).unwrap();
    assert!(!out.finish().contains("thinking"));
}

#[test]
fn pitfall_40_two_calls_may_be_told_in_turns_and_ids_beat_indexes() {
    let begin = |index: u64, id: &str, name: &str, arguments: &str| {
        let function = json!({"name": name, "arguments": arguments});
        chunk(json!({"tool_calls": [{"index": index, "id": id, "function": function}]}))
    };
    let more = |index: u64, arguments: &str| {
        chunk(json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}))
    };
    let end = event(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}));
    let in_turns = [
        begin(0, "a", "f", "{\"x\":"),
        begin(1, "b", "g", "{\"y\":"),
        more(0, "1}"),
        more(1, "2}"),
        end.clone(),
    ];
    let of_one_index = [begin(0, "a", "f", "{\"x\":1}"), begin(0, "b", "g", "{\"y\":2}"), end];
    for stream in [in_turns.concat(), of_one_index.concat()] {
        for to in [Api::Messages, Api::Responses] {
            let calls = &said(to, &whole(Api::Chat, to, &stream))["calls"];
            assert_eq!(*calls, json!([["a", "f", {"x": 1}], ["b", "g", {"y": 2}]]), "{to:?}: {stream}");
        }
    }
}

#[test]
fn a_call_that_there_was_no_room_for_is_left_out_where_it_must_be_whole() {
    let body = |finish: &str| {
        let function = json!({"name": "f", "arguments": "{\"city\": \"Par"});
        json!({"choices": [{"index": 0, "finish_reason": finish, "message":
            {"content": "so", "tool_calls": [{"id": "a", "type": "function", "function": function}]}}]})
        .to_string()
    };
    let translated = |to: Api, stream: bool, finish: &str| {
        translate_answer(Api::Chat, to, WISHES, stream, "", body(finish).as_bytes())
    };
    for to in [Api::Messages, Api::Gemini] {
        let whole = translated(to, false, "length").unwrap();
        assert!(whole.contains("so") && !whole.contains("Par"), "{to:?}: {whole}");
        assert!(whole.contains(if to == Api::Gemini { "MAX_TOKENS" } else { "max_tokens" }), "{whole}");
        assert!(translated(to, false, "tool_calls").is_err(), "{to:?}");
    }
    let stream = translated(Api::Gemini, true, "length").unwrap();
    assert!(stream.contains("MAX_TOKENS") && !stream.contains("functionCall"), "{stream}");
    // Text may end anywhere.
    assert!(translated(Api::Responses, false, "length").unwrap().contains("Par"));
}

#[test]
fn a_stream_is_the_same_cut_at_any_byte_and_at_all_of_them() {
    for from in APIS {
        let stream = sample(from);
        let wholes = APIS.map(|to| regex_free(&whole(from, to, &stream)));
        // To another dialect at each place: to each of them takes a minute.
        for at in 1..stream.len() {
            let (one, other) = stream.as_bytes().split_at(at);
            let to = at % APIS.len();
            let cut = translate(from, APIS[to], &[one, other]).unwrap();
            assert_eq!(regex_free(&cut), wholes[to], "{from:?} to {:?}, cut at {at}", APIS[to]);
        }
        let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        for (to, whole) in APIS.into_iter().zip(&wholes) {
            assert_eq!(regex_free(&translate(from, to, &bytes).unwrap()), *whole, "{from:?} to {to:?}");
        }
    }
}
