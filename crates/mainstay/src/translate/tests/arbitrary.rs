//! Anything at all: an answer, a refusal, never a panic, and always JSON.

use super::super::{form::Wishes, out::Out};
use super::*;
use proptest::prelude::*;
use serde_json::json;

const WORDS: [&str; 92] = [
    "role",
    "user",
    "assistant",
    "system",
    "tool",
    "content",
    "type",
    "text",
    "image_url",
    "url",
    "data:",
    "source",
    "base64",
    "media_type",
    "data",
    "file",
    "file_data",
    "file_id",
    "input_audio",
    "tool_calls",
    "id",
    "function",
    "name",
    "arguments",
    "{}",
    "tool_use",
    "tool_result",
    "tool_use_id",
    "input",
    "thinking",
    "image",
    "document",
    "parts",
    "functionCall",
    "functionResponse",
    "response",
    "args",
    "inlineData",
    "mimeType",
    "thought",
    "model",
    "message",
    "function_call",
    "function_call_output",
    "call_id",
    "output",
    "input_text",
    "input_image",
    "choices",
    "delta",
    "index",
    "finish_reason",
    "stop",
    "usage",
    "prompt_tokens",
    "candidates",
    "finishReason",
    "STOP",
    "usageMetadata",
    "content_block_start",
    "content_block",
    "content_block_delta",
    "partial_json",
    "text_delta",
    "input_json_delta",
    "message_start",
    "message_delta",
    "response.completed",
    "response.output_item.added",
    "item",
    "output_index",
    "reasoning_content",
    "response.output_text.delta",
    "summary",
    "annotations",
    "response.output_text.annotation.added",
    "annotation",
    "url_citation",
    "start_index",
    "end_index",
    "title",
    "citations",
    "citations_delta",
    "citation",
    "web_search_result_location",
    "groundingMetadata",
    "groundingChunks",
    "groundingSupports",
    "segment",
    "web",
    "uri",
    "groundingChunkIndices",
];

/// JSON made of the words that matter, in any places.
fn soup() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        3 => prop::sample::select(WORDS.to_vec()).prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
        1 => (0..3i64).prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(WORDS.to_vec()), inner), 0..5)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// A body in which a field of the dialect holds anything.
fn body(from: Api, field: &str, value: &Value) -> Value {
    let mut body = match from {
        Api::Chat | Api::Messages => json!({"model": "m", "messages": [{"role": "user", "content": "x"}]}),
        Api::Gemini => json!({"contents": [{"role": "user", "parts": [{"text": "x"}]}]}),
        Api::Responses => json!({"model": "m", "input": "x"}),
    };
    body[field] = value.clone();
    body
}

const FIELDS: [&str; 22] = [
    "messages",
    "input",
    "contents",
    "tools",
    "tool_choice",
    "system",
    "systemInstruction",
    "instructions",
    "generationConfig",
    "toolConfig",
    "thinking",
    "output_config",
    "reasoning",
    "text",
    "response_format",
    "stop",
    "stop_sequences",
    "temperature",
    "max_tokens",
    "metadata",
    "stream_options",
    "functions",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_request_is_written_as_json_or_refused(
        from in prop::sample::select(APIS.to_vec()),
        over in prop::sample::select(APIS.to_vec()),
        field in prop::sample::select(FIELDS.to_vec()),
        value in soup(),
        listed in any::<bool>(),
        lenient in any::<bool>(),
    ) {
        let value = if listed { json!([value]) } else { value };
        let layer = layer_for(over);
        let layer = if lenient { layer.lenient() } else { layer };
        // `to` checks that it is JSON.
        let _ = to(&layer, from, &body(from, field, &value));
    }

    #[test]
    fn any_message_is_written_as_json_or_refused(
        from in prop::sample::select(APIS.to_vec()),
        over in prop::sample::select(APIS.to_vec()),
        role in prop::sample::select(vec!["user", "assistant", "model", "tool", "system"]),
        content in soup(),
        extra in soup(),
    ) {
        let message = json!({"role": role, "content": content, "parts": content, "tool_calls": extra,
                             "type": extra, "tool_call_id": "a", "id": "a"});
        let value = json!([message, {"role": role, "content": [content], "parts": [content]}]);
        let field = match from {
            Api::Gemini => "contents",
            Api::Responses => "input",
            _ => "messages",
        };
        let _ = to(&layer_for(over).lenient(), from, &body(from, field, &value));
    }

    #[test]
    fn any_events_make_events_or_an_error(
        from in prop::sample::select(APIS.to_vec()),
        over in prop::sample::select(APIS.to_vec()),
        all in prop::collection::vec(soup(), 0..6),
    ) {
        let wishes = Wishes { include_usage: true, thoughts: true };
        let mut translator = StreamTranslator::new(from, over, wishes);
        let mut out = Out::default();
        for data in all {
            let event = crate::sse::Event::new("", data.to_string());
            if translator.event(&event, &mut out).is_err() {
                return Ok(());
            }
        }
        let _ = translator.end(&mut out);
        for line in out.finish().lines().filter_map(|line| line.strip_prefix("data: ")) {
            prop_assert!(line == "[DONE]" || serde_json::from_str::<Value>(line).is_ok(), "{}", line);
        }
    }

    #[test]
    fn any_answer_is_written_as_json_or_is_malformed(
        from in prop::sample::select(APIS.to_vec()),
        over in prop::sample::select(APIS.to_vec()),
        value in soup(),
    ) {
        let body = json!({"choices": [{"message": value, "delta": value}], "content": [value], "output": [value],
                          "candidates": [{"content": {"parts": [value]}, "groundingMetadata": value}], "usage": value});
        let wishes = Wishes { include_usage: true, thoughts: true };
        if let Ok(text) = translate_answer(from, over, wishes, false, "", body.to_string().as_bytes()) {
            prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
        }
    }
}

const TARGETS: [Kind; 3] = [Kind::OllamaNative, Kind::CohereV2, Kind::BedrockConverse];

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_request_is_written_for_a_target_as_json_or_refused(
        from in prop::sample::select(APIS.to_vec()),
        over in prop::sample::select(TARGETS.to_vec()),
        field in prop::sample::select(FIELDS.to_vec()),
        value in soup(),
        listed in any::<bool>(),
        lenient in any::<bool>(),
    ) {
        let value = if listed { json!([value]) } else { value };
        let layer = TranslateLayer::new(over);
        let layer = if lenient { layer.lenient() } else { layer };
        let _ = to(&layer, from, &body(from, field, &value));
    }

    #[test]
    fn any_events_and_answers_of_a_target_make_json_or_an_error(
        from in prop::sample::select(TARGETS.to_vec()),
        over in prop::sample::select(APIS.to_vec()),
        all in prop::collection::vec((prop::sample::select(TARGET_WORDS.to_vec()), soup(), soup()), 0..6),
    ) {
        let api = TranslateLayer::new(from).target.api;
        let wishes = Wishes { include_usage: true, thoughts: true };
        let event = |(kind, a, b): &(&str, Value, Value)| json!({
            "type": kind, "index": a, "contentBlockIndex": a, "usage": b, "done": b, "output": {"message": {"content": [b]}},
            "delta": {"text": a, "toolUse": {"input": b}, "message": {"content": b, "tool_calls": a, "tool_plan": a}},
            "start": {"toolUse": b}, "message": {"content": a, "tool_calls": [b], "thinking": a}, "stopReason": a,
        });
        for one in &all {
            if let Ok(text) = translate_answer(api, over, wishes, false, "m", event(one).to_string().as_bytes()) {
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
            }
        }
        let mut translator = StreamTranslator::new(api, over, wishes);
        let mut out = Out::default();
        for one in &all {
            if translator.event(&crate::sse::Event::new("", event(one).to_string()), &mut out).is_err() {
                return Ok(());
            }
        }
        let _ = translator.end(&mut out);
        for line in out.finish().lines().filter_map(|line| line.strip_prefix("data: ")) {
            prop_assert!(line == "[DONE]" || serde_json::from_str::<Value>(line).is_ok(), "{}", line);
        }
    }
}

const TARGET_WORDS: [&str; 6] = [
    "message-start",
    "content-delta",
    "tool-plan-delta",
    "tool-call-start",
    "tool-call-delta",
    "message-end",
];

#[test]
fn what_no_parser_agrees_on_is_refused() {
    let layer = layer_for(Api::Messages);
    let deep = format!(r#"{{"model":"m","messages":{}{}}}"#, "[".repeat(500), "]".repeat(500));
    for body in [
        deep.as_str(),
        r#"{"model":"m","messages":[{"role":"user","content":"\ud800"}]}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"x"}],"seed":1e999}"#,
    ] {
        let error = translated(&layer, path_of(Api::Chat), body.as_bytes()).unwrap_err();
        assert_eq!(error.code, "invalid_request");
    }
}

#[test]
fn a_request_has_room_for_so_many_parts_only() {
    let of = |item: &str| vec![item; 100_001].join(",");
    let tools = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"x"}}],"tools":[{}]}}"#,
        of(r#"{"function":{"name":"f"}}"#)
    );
    let parts = format!(r#"{{"model":"m","messages":[{{"role":"user","content":[{}]}}]}}"#, of("\"\""));
    for (body, param) in [(tools, "tools"), (parts, "messages[0].content")] {
        let error = translated(&layer_for(Api::Messages), path_of(Api::Chat), body.as_bytes()).unwrap_err();
        assert_eq!(error.param.as_deref(), Some(param));
    }
}

#[test]
fn a_stream_of_lanes_without_end_is_malformed() {
    let mut translator =
        StreamTranslator::new(Api::Chat, Api::Messages, Wishes { include_usage: true, thoughts: true });
    let mut out = Out::default();
    let mut read = |delta: Value| {
        let event =
            crate::sse::Event::new("", json!({"choices": [{"index": 0, "delta": delta}]}).to_string());
        translator.event(&event, &mut out)
    };
    read(json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}]}))
        .unwrap();
    let all = (0..10_000).try_for_each(|_| read(json!({"content": "x", "reasoning_content": "y"})));
    assert!(all.is_err());
}
