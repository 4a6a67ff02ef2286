//! Answers and their streams, to every caller.

use super::{super::streams::said, *};

const TEXT: &str = "He\u{e9}\u{1f600}\"\\ llo";

fn calls() -> Value {
    json!([["a", "f", {"x": 1}], ["b", "g", {"y": "}"}]])
}

#[test]
fn every_target_says_the_same_to_every_caller() {
    for kind in KINDS {
        let stream = sample(kind).concat();
        for to in APIS {
            let said = said(to, &translate(kind, to, [&stream[..]]).unwrap());
            let case = format!("{kind} to {to:?}");
            assert_eq!((&said["text"], &said["thought"]), (&json!(TEXT), &json!("hm")), "{case}");
            assert_eq!((&said["calls"], &said["finish"]), (&calls(), &json!("tool_calls")), "{case}");
            let usage = &said["usage"];
            assert_eq!(
                (&usage["prompt_tokens"], &usage["completion_tokens"]),
                (&json!(9), &json!(5)),
                "{case}"
            );
            if kind == Kind::BedrockConverse {
                assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 4, "{case}");
            }
        }
    }
}

/// The text without what is made up anew each time: ids of answers, times.
fn timeless(stream: &str) -> String {
    fn blank(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for name in ["created", "created_at"] {
                    fields.remove(name);
                }
                fields.values_mut().for_each(blank);
            }
            Value::Array(items) => items.iter_mut().for_each(blank),
            Value::String(text)
                if ["chatcmpl-", "msg_", "resp_", "rs_", "fc_"].iter().any(|made| text.starts_with(made)) =>
            {
                text.clear();
            }
            _ => {}
        }
    }
    let line = |line: &str| match line.strip_prefix("data: ").and_then(|data| serde_json::from_str(data).ok())
    {
        Some(mut value) => {
            blank(&mut value);
            value.to_string()
        }
        None => line.to_owned(),
    };
    stream.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_stream_is_the_same_wherever_it_is_cut() {
    for kind in KINDS {
        let stream = sample(kind).concat();
        for to in APIS {
            let whole = timeless(&translate(kind, to, [&stream[..]]).unwrap());
            // At every byte for one caller; what is read of it is the same for the others.
            for at in (0..stream.len()).step_by(if to == Api::Chat { 1 } else { 5 }) {
                let (head, tail) = stream.split_at(at);
                let cut = translate(kind, to, [head, tail]).unwrap();
                assert_eq!(timeless(&cut), whole, "{kind} to {to:?}, cut at {at}");
            }
            let bytes = stream.chunks(1);
            assert_eq!(
                timeless(&translate(kind, to, bytes).unwrap()),
                whole,
                "{kind} to {to:?}, byte by byte"
            );
        }
    }
}

#[test]
fn a_piece_of_text_is_handed_on_as_soon_as_it_is_there() {
    for kind in KINDS {
        let from = api_of(kind);
        let mut translator = StreamTranslator::new(from, Api::Chat, WISHES);
        let mut framing = Framing::of(from.dialect(), 1 << 20);
        let mut out = Out::default();
        for piece in sample(kind) {
            let has_text = piece.windows(3).any(|three| three == b"llo");
            framing.push(piece.into());
            while let Ok(Some(unit)) = framing.next() {
                if let Some(event) = event_of(unit) {
                    translator.event(&event, &mut out).unwrap();
                }
            }
            let text = out.take();
            assert!(!has_text || text.contains("\"content\":\"llo\""), "{kind}: {text}");
        }
    }
}

fn whole(kind: Kind) -> Value {
    let calls = |arguments: fn(Value) -> Value| {
        let call = |id: &str, name: &str, value: Value| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments(value)}});
        json!([call("a", "f", json!({"x": 1})), call("b", "g", json!({"y": "}"}))])
    };
    match kind {
        Kind::OllamaNative => json!({
            "model": "m", "created_at": "2026-01-01T00:00:00Z", "done": true, "done_reason": "stop",
            "message": {"role": "assistant", "content": TEXT, "thinking": "hm", "tool_calls": calls(|value| value)},
            "prompt_eval_count": 9, "eval_count": 5,
        }),
        Kind::CohereV2 => json!({
            "id": "c1", "finish_reason": "TOOL_CALL",
            "message": {"role": "assistant", "tool_plan": "He\u{e9}\u{1f600}\"\\ ", "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "llo"}],
                "tool_calls": calls(|value| json!(value.to_string())), "citations": []},
            "usage": {"billed_units": {"input_tokens": 9, "output_tokens": 5}},
        }),
        _ => json!({
            "output": {"message": {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                {"text": "He\u{e9}\u{1f600}\"\\ "},
                {"citationsContent": {"content": [{"text": "llo"}], "citations": [{"title": "t"}]}},
                {"toolUse": {"toolUseId": "a", "name": "f", "input": {"x": 1}}},
                {"toolUse": {"toolUseId": "b", "name": "g", "input": {"y": "}"}}},
            ]}},
            "stopReason": "tool_use",
            "usage": {"inputTokens": 2, "cacheReadInputTokens": 4, "cacheWriteInputTokens": 3, "outputTokens": 5},
        }),
    }
}

#[test]
fn an_answer_in_one_piece_reaches_every_caller_whole_and_as_a_stream() {
    for kind in KINDS {
        let body = whole(kind).to_string();
        for to in APIS {
            let case = format!("{kind} to {to:?}");
            let streamed = translate_answer(api_of(kind), to, WISHES, true, "m", body.as_bytes()).unwrap();
            let said = said(to, &streamed);
            assert_eq!((&said["text"], &said["calls"]), (&json!(TEXT), &calls()), "{case}");
            assert_eq!(said["usage"]["total_tokens"], 14, "{case}");
            let whole = translate_answer(api_of(kind), to, WISHES, false, "m", body.as_bytes()).unwrap();
            let whole: Value = serde_json::from_str(&whole).unwrap();
            let names_model = whole["model"] == "m" || whole["modelVersion"] == "m";
            assert!(names_model, "{case}: {whole}");
        }
    }
}

#[test]
fn reasons_for_the_end_become_the_callers() {
    for (kind, reason, expected) in [
        (Kind::OllamaNative, "stop", "stop"),
        (Kind::OllamaNative, "length", "length"),
        (Kind::CohereV2, "COMPLETE", "stop"),
        (Kind::CohereV2, "STOP_SEQUENCE", "stop"),
        (Kind::CohereV2, "MAX_TOKENS", "length"),
        (Kind::BedrockConverse, "end_turn", "stop"),
        (Kind::BedrockConverse, "stop_sequence", "stop"),
        (Kind::BedrockConverse, "max_tokens", "length"),
        (Kind::BedrockConverse, "model_context_window_exceeded", "length"),
        (Kind::BedrockConverse, "guardrail_intervened", "content_filter"),
        (Kind::BedrockConverse, "content_filtered", "content_filter"),
    ] {
        let body = match kind {
            Kind::OllamaNative => json!({"message": {"content": "x"}, "done": true, "done_reason": reason}),
            Kind::CohereV2 => json!({"message": {"content": [{"text": "x"}]}, "finish_reason": reason}),
            _ => json!({"output": {"message": {"content": [{"text": "x"}]}}, "stopReason": reason}),
        };
        let body = body.to_string();
        let text = translate_answer(api_of(kind), Api::Chat, WISHES, false, "m", body.as_bytes()).unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["choices"][0]["finish_reason"], expected, "{kind} {reason}");
    }
}

#[test]
fn tool_calls_without_ids_get_one_each_and_another_one_in_each_answer() {
    let ids = |second: u32| {
        let call = json!({"function": {"name": "f", "arguments": {}}});
        let body = json!({"model": "m", "created_at": format!("2026-01-01T00:00:0{second}Z"), "done": true,
            "message": {"content": "", "tool_calls": [call, call]}});
        let from = api_of(Kind::OllamaNative);
        let text =
            translate_answer(from, Api::Chat, WISHES, false, "m", body.to_string().as_bytes()).unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        let calls = answer["choices"][0]["message"]["tool_calls"].as_array().unwrap().clone();
        [calls[0]["id"].clone(), calls[1]["id"].clone()]
    };
    let (first, again, other) = (ids(1), ids(1), ids(2));
    assert_eq!(first, again);
    assert!(first[0] != first[1] && first[0] != other[0] && first[1] != other[1], "{first:?} {other:?}");
}

#[test]
fn calls_of_an_answer_without_a_name_have_ids_of_their_own_too() {
    let tool = json!({"name": "f", "input": {}});
    let body = json!({"stopReason": "tool_use", "output": {"message": {"content": [{"toolUse": tool}, {"toolUse": tool}]}}});
    let start =
        |block: u64| json!({"contentBlockIndex": block, "start": {"toolUse": {"name": "f"}}}).to_string();
    let from = api_of(Kind::BedrockConverse);
    let mut ids = std::collections::HashSet::new();
    for _ in 0..2 {
        let text =
            translate_answer(from, Api::Chat, WISHES, false, "m", body.to_string().as_bytes()).unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        let calls = answer["choices"][0]["message"]["tool_calls"].as_array().unwrap().clone();
        ids.extend(calls.iter().map(|call| call["id"].as_str().unwrap().to_owned()));
        let mut translator = StreamTranslator::new(from, Api::Chat, WISHES);
        let mut out = Out::default();
        for block in 0..2 {
            translator.event(&crate::sse::Event::new("", start(block)), &mut out).unwrap();
        }
        let text = out.finish();
        ids.extend(
            text.split("\"id\":\"")
                .skip(1)
                .filter_map(|rest| rest.split('"').next())
                .filter(|id| id.starts_with("call_"))
                .map(str::to_owned),
        );
    }
    assert_eq!(ids.len(), 8, "{ids:?}");
}

#[test]
fn what_is_no_answer_is_malformed() {
    for (kind, body) in [
        (Kind::OllamaNative, "[]"),
        (Kind::CohereV2, "{}"),
        (Kind::CohereV2, r#"{"message": "text"}"#),
        (Kind::BedrockConverse, r#"{"output": {}}"#),
        (Kind::BedrockConverse, r#"{"output": {"message": {"content": "x"}}}"#),
    ] {
        let answer = translate_answer(api_of(kind), Api::Chat, WISHES, false, "m", body.as_bytes());
        assert!(answer.is_err(), "{kind} {body}");
    }
}

#[test]
fn an_answer_calls_so_many_tools_only() {
    let call = r#"{"function":{"name":"f","arguments":{}}}"#;
    let body = format!(r#"{{"message":{{"tool_calls":[{}]}},"done":true}}"#, vec![call; 1025].join(","));
    let from = api_of(Kind::OllamaNative);
    assert!(translate_answer(from, Api::Chat, WISHES, false, "m", body.as_bytes()).is_err());
}

#[test]
fn a_call_that_cannot_be_written_leaves_no_half_of_an_event() {
    let from = api_of(Kind::OllamaNative);
    let mut translator = StreamTranslator::new(from, Api::Gemini, WISHES);
    let mut out = Out::default();
    let line =
        |message: Value| crate::sse::Event::new("", json!({"message": message, "done": false}).to_string());
    translator.event(&line(json!({"content": "hi"})), &mut out).unwrap();
    let before = out.len();
    let call = json!({"function": {"name": "f", "arguments": "no object"}});
    let broken = [
        translator.event(&line(json!({"content": "", "tool_calls": [call]})), &mut out),
        translator.end(&mut out),
    ];
    assert!(broken.iter().any(Result::is_err));
    assert_eq!(out.len(), before);
}
