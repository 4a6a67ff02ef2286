//! Requests: what goes where, and what is refused by which name.

use super::*;
use serde_json::json;

fn chat(extra: Value) -> Value {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

fn messages(extra: Value) -> Value {
    let mut body = chat(extra);
    body["max_tokens"] = json!(64);
    body
}

#[test]
fn a_chat_conversation_with_tools_becomes_turns_with_the_results_first() {
    let body = json!({
        "model": "m",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [
                {"type": "text", "text": "a \"quoted\" \u{1f600}\n"},
                {"type": "text", "text": "  "},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA+/", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": "https://h/i.png"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,BBBB"}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c.1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1.0}"}},
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": ""}},
            ]},
            {"role": "developer", "content": "and polite"},
            {"role": "tool", "tool_call_id": "c2", "content": "two"},
            {"role": "tool", "tool_call_id": "c.1", "content": [{"type": "text", "text": "one"}]},
            {"role": "user", "content": "go on"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "description": "d",
                   "parameters": {"type": "object", "properties": {"a": {"type": "number"}}}, "strict": true}},
                  {"type": "function", "function": {"name": "g"}}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "parallel_tool_calls": false,
        "stop": "END", "temperature": 0.30, "top_p": 1, "user": "u", "stream": true,
    });
    assert_eq!(
        to(&layer_for(Api::Messages), Api::Chat, &body).unwrap(),
        json!({
            "model": "m",
            "max_tokens": 8192,
            "system": "be brief\nand polite",
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "a \"quoted\" \u{1f600}\n"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA+/"}},
                    {"type": "image", "source": {"type": "url", "url": "https://h/i.png"}},
                    {"type": "document", "title": "a.pdf",
                     "source": {"type": "base64", "media_type": "application/pdf", "data": "BBBB"}},
                ]},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "c_1", "name": "f", "input": {"a": 1.0}},
                    {"type": "tool_use", "id": "c2", "name": "g", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c2", "content": "two"},
                    {"type": "tool_result", "tool_use_id": "c_1", "content": "one"},
                    {"type": "text", "text": "go on"},
                ]},
            ],
            "tools": [
                {"name": "f", "description": "d", "strict": true,
                 "input_schema": {"type": "object", "properties": {"a": {"type": "number"}}}},
                {"name": "g", "input_schema": {"type": "object", "properties": {}}},
            ],
            "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true},
            "temperature": 0.3, "top_p": 1, "stop_sequences": ["END"],
            "metadata": {"user_id": "u"}, "stream": true,
        })
    );
}

#[test]
fn a_messages_conversation_with_tools_becomes_a_message_for_each_result() {
    let body = json!({
        "model": "m", "max_tokens": 64, "stream": true,
        "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "let me "}, {"type": "text", "text": "see"},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"big": 12345678901234567890u64}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": [
                    {"type": "text", "text": "seen"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                ]},
                {"type": "text", "text": "go on", "cache_control": {"type": "ephemeral"}},
            ]},
        ],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
        "stop_sequences": ["A", "B"], "metadata": {"user_id": "u"}, "service_tier": "auto",
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    });
    assert_eq!(
        to(&layer_for(Api::Chat), Api::Messages, &body).unwrap(),
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "let me see", "tool_calls": [
                    {"id": "t1", "type": "function",
                     "function": {"name": "f", "arguments": "{\"big\":12345678901234567890}"}},
                ]},
                {"role": "tool", "tool_call_id": "t1", "content": "seen"},
                {"role": "user", "content": [
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                    {"type": "text", "text": "go on"},
                ]},
            ],
            "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
            "tool_choice": "required", "parallel_tool_calls": false,
            "max_completion_tokens": 64, "stop": ["A", "B"],
            "response_format": {"type": "json_schema",
                                "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": true}},
            "reasoning_effort": "low", "user": "u",
            "stream": true, "stream_options": {"include_usage": true},
        })
    );
}

#[test]
fn what_anthropic_has_nothing_like_is_refused_by_its_name() {
    let layer = layer_for(Api::Messages);
    for (field, value, param) in [
        ("n", json!(2), "n"),
        ("logprobs", json!(true), "logprobs"),
        ("top_logprobs", json!(3), "top_logprobs"),
        ("logit_bias", json!({"1": 2}), "logit_bias"),
        ("modalities", json!(["text", "audio"]), "modalities"),
        ("audio", json!({"voice": "v"}), "audio"),
        ("prediction", json!({"type": "content"}), "prediction"),
        ("web_search_options", json!({}), "web_search_options"),
        ("response_format", json!({"type": "json_object"}), "response_format"),
        ("tools", json!([{"type": "custom", "custom": {"name": "x"}}]), "tools[0]"),
        ("seed", json!(1), "seed"),
        ("presence_penalty", json!(0.5), "presence_penalty"),
        ("temperature", json!(1.5), "temperature"),
        ("stop", json!(["a", " \n"]), "stop"),
        ("nobody_knows", json!(1), "nobody_knows"),
        (
            "messages",
            json!([{"role": "user", "content": [{"type": "input_audio",
            "input_audio": {"data": "AA", "format": "wav"}}]}]),
            "messages[0].content[0].input_audio",
        ),
        (
            "messages",
            json!([{"role": "user", "content": [{"type": "file",
            "file": {"file_id": "f"}}]}]),
            "messages[0].content[0].file.file_id",
        ),
    ] {
        assert_eq!(refused(&layer, Api::Chat, &chat(json!({field: value}))), param);
    }
}

#[test]
fn what_changes_nothing_is_dropped_in_silence() {
    let body = chat(json!({
        "n": 1, "logprobs": false, "top_logprobs": null, "logit_bias": {}, "modalities": ["text"], "seed": null,
        "frequency_penalty": 0, "presence_penalty": 0.0, "store": true, "metadata": {"a": "b"},
        "service_tier": "flex", "prompt_cache_key": "k", "verbosity": "medium", "tools": null, "stop": null,
        "response_format": {"type": "text"}, "parallel_tool_calls": true,
    }));
    assert_eq!(
        to(&layer_for(Api::Messages), Api::Chat, &body).unwrap(),
        json!({"model": "m", "max_tokens": 8192, "messages": [{"role": "user", "content": "hi"}]})
    );
}

#[test]
fn what_openai_has_nothing_like_is_refused_by_its_name() {
    let layer = layer_for(Api::Chat);
    for (field, value, param) in [
        ("top_k", json!(4), "top_k"),
        ("container", json!("c"), "container"),
        ("mcp_servers", json!([{"url": "u"}]), "mcp_servers"),
        ("tools", json!([{"type": "web_search_20250305", "name": "web_search"}]), "tools[0]"),
        ("stop_sequences", json!(["1", "2", "3", "4", "5"]), "stop_sequences"),
        (
            "messages",
            json!([{"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": "u"}}]}]),
            "messages[0].content[0].source",
        ),
        (
            "messages",
            json!([{"role": "user", "content": [{"type": "document", "citations": {"enabled": true},
            "source": {"type": "text", "media_type": "text/plain", "data": "d"}}]}]),
            "messages[0].content[0].citations",
        ),
    ] {
        assert_eq!(refused(&layer, Api::Messages, &messages(json!({field: value}))), param);
    }
    let gemini = json!({"contents": "hi", "cachedContent": "c"});
    assert_eq!(refused(&layer, Api::Gemini, &gemini), "cachedContent");
    let gemini = json!({"contents": "hi", "safety_settings": [{"category": "c"}]});
    assert_eq!(refused(&layer, Api::Gemini, &gemini), "safetySettings");
    let responses = json!({"model": "m", "input": "hi", "reasoning": {"effort": "low", "nobody_knows": 1}});
    assert_eq!(refused(&layer_for(Api::Messages), Api::Responses, &responses), "reasoning.nobody_knows");
}

#[test]
fn what_gemini_has_nothing_like_is_refused_by_its_name() {
    let layer = layer_for(Api::Gemini);
    let tool = json!([{"type": "function", "function": {"name": "f"}}]);
    for (extra, param) in [
        (json!({"logit_bias": {"1": 1}}), "logit_bias"),
        (json!({"tools": tool, "parallel_tool_calls": false}), "parallel_tool_calls"),
        (json!({"n": 2}), "n"),
        (json!({"stop": ["1", "2", "3", "4", "5", "6"]}), "stop"),
        (
            json!({"messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "https://h/i.png"}}]}]}),
            "messages[0].content[0].image_url",
        ),
    ] {
        assert_eq!(refused(&layer, Api::Chat, &chat(extra)), param);
    }
}

#[test]
fn a_field_of_a_wrong_type_is_refused_by_its_name() {
    for (extra, param) in [
        (json!({"messages": 7}), "messages"),
        (json!({"messages": [7]}), "messages[0]"),
        (json!({"messages": [{"role": "nobody"}]}), "messages[0].role"),
        (json!({"messages": [{"role": "user", "content": 7}]}), "messages[0].content"),
        (json!({"messages": [{"role": "tool", "content": "x"}]}), "messages[0].tool_call_id"),
        (
            json!({"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "function":
            {"name": "f", "arguments": "{oops"}}]}]}),
            "messages[0].tool_calls[0].function.arguments",
        ),
        (json!({"temperature": "hot"}), "temperature"),
        (json!({"max_tokens": -1}), "max_tokens"),
        (json!({"max_tokens": 1.5}), "max_tokens"),
        (json!({"tools": {}}), "tools"),
        (json!({"tools": [7]}), "tools[0]"),
        (json!({"stop": [7]}), "stop[0]"),
        (json!({"messages": []}), "messages"),
        (json!({"messages": [{"role": "user", "content": " "}]}), "messages"),
    ] {
        assert_eq!(refused(&layer_for(Api::Messages), Api::Chat, &chat(extra)), param);
    }
    let huge = br#"{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":1e999}"#;
    let error = translated(&layer_for(Api::Messages), path_of(Api::Chat), huge).unwrap_err();
    assert_eq!(error.param.as_deref(), Some("temperature"));
}

#[test]
fn the_message_names_the_target() {
    let layer = layer_for(Api::Messages).with_name("claude-eu");
    let error = to(&layer, Api::Chat, &chat(json!({"n": 2}))).unwrap_err();
    assert!(error.message.contains("claude-eu") && error.message.contains('n'), "{error}");
}

#[test]
fn a_lenient_layer_drops_what_it_cannot_carry_and_clamps_what_it_can() {
    let layer = layer_for(Api::Messages).lenient();
    let body = chat(json!({"n": 2, "seed": 1, "temperature": 1.5, "nobody_knows": 1}));
    let written = to(&layer, Api::Chat, &body).unwrap();
    assert_eq!(
        written,
        json!({"model": "m", "max_tokens": 8192, "messages": [{"role": "user", "content": "hi"}], "temperature": 1})
    );
}

#[test]
fn an_effort_becomes_a_budget_for_old_models_and_stays_a_word_for_new_ones() {
    let layer = layer_for(Api::Messages);
    let thinking = |model: &str, extra: Value| {
        let mut body = chat(extra);
        body["model"] = json!(model);
        let written = to(&layer, Api::Chat, &body).unwrap();
        (written["thinking"].clone(), written["output_config"].clone())
    };
    let high = json!({"reasoning_effort": "high"});
    assert_eq!(
        thinking("claude-opus-5", high.clone()),
        (json!({"type": "adaptive"}), json!({"effort": "high"}))
    );
    let budget = |tokens: u64| (json!({"type": "enabled", "budget_tokens": tokens}), Value::Null);
    assert_eq!(thinking("claude-sonnet-4-5", high.clone()), budget(4096));
    let long = json!({"reasoning_effort": "high", "max_completion_tokens": 64000});
    assert_eq!(thinking("claude-3-7-sonnet", long), budget(24576));
    let short = json!({"reasoning_effort": "high", "max_completion_tokens": 500});
    assert_eq!(thinking("claude-sonnet-4-5", short), (Value::Null, Value::Null));
    assert_eq!(thinking("claude-opus-5", json!({"reasoning_effort": "none"})), (Value::Null, Value::Null));
}

#[test]
fn gemini_is_told_names_of_results_and_its_address_names_the_model() {
    let body = json!({
        "model": "gemini-3", "stream": true, "max_tokens": 5, "reasoning_effort": "low",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "42"},
        ],
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
    });
    let (path, written) =
        translated(&layer_for(Api::Gemini), path_of(Api::Chat), body.to_string().as_bytes()).unwrap();
    assert_eq!(path, "/v1beta/models/gemini-3:streamGenerateContent?alt=sse");
    assert_eq!(
        serde_json::from_slice::<Value>(&written).unwrap(),
        json!({
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}]},
                {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "f", "args": {}},
                                             "thoughtSignature": "skip_thought_signature_validator"}]},
                {"role": "user", "parts": [{"functionResponse":
                    {"id": "c1", "name": "f", "response": {"result": "42"}}}]},
            ],
            "generationConfig": {
                "maxOutputTokens": 5, "responseMimeType": "application/json",
                "responseJsonSchema": {"type": "object"},
                "thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": true},
            },
        })
    );
}

#[test]
fn gemini_callers_may_write_snake_case_and_leave_ids_out() {
    let body = json!({
        "system_instruction": {"parts": [{"text": "s"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}, {"inline_data": {"mime_type": "image/png", "data": "AA"}}]},
            {"role": "model", "parts": [{"text": "hm", "thought": true},
                                        {"function_call": {"name": "f", "args": {"a": 1}}},
                                        {"functionCall": {"name": "f", "args": {"a": 2}}}]},
            {"role": "user", "parts": [{"function_response": {"name": "f", "response": {"result": "one"}}},
                                       {"functionResponse": {"name": "f", "response": {"x": 2}}}]},
        ],
        "tools": [{"function_declarations": [{"name": "f", "parameters":
            {"type": "OBJECT", "properties": {"a": {"type": "INTEGER", "nullable": true}}}}]}],
        "tool_config": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f"]}},
        "generation_config": {"max_output_tokens": 7, "stopSequences": ["E"], "thinking_config": {"thinking_budget": 0}},
    });
    let written = to(&layer_for(Api::Messages), Api::Gemini, &body).unwrap();
    assert_eq!(written["system"], "s");
    assert_eq!(written["max_tokens"], 7);
    assert_eq!(written["stop_sequences"], json!(["E"]));
    assert_eq!(written["tool_choice"], json!({"type": "tool", "name": "f"}));
    assert_eq!(
        written["tools"][0]["input_schema"],
        json!({"type": "object", "properties": {"a": {"type": ["integer", "null"]}}})
    );
    let calls = written["messages"][1]["content"].as_array().unwrap();
    let results = written["messages"][2]["content"].as_array().unwrap();
    assert_eq!((calls.len(), results.len()), (2, 2));
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    assert_eq!(calls[0]["id"], results[0]["tool_use_id"]);
    assert_eq!(calls[1]["id"], results[1]["tool_use_id"]);
    assert_eq!(results[0]["content"], "one");
    assert_eq!(results[1]["content"], "{\"x\":2}");
}

#[test]
fn what_a_hostile_data_url_holds_stays_inside_its_string() {
    let body = chat(json!({"messages": [{"role": "user", "content": [{"type": "image_url",
        "image_url": {"url": "data:image/png;base64,AA\"},{\"type\":\"text\\"}}]}]}));
    let written = to(&layer_for(Api::Messages), Api::Chat, &body).unwrap();
    let parts = written["messages"][0]["content"].as_array().unwrap();
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0]["source"]["data"], "AA\"},{\"type\":\"text\\");
}

#[test]
fn data_of_a_type_that_nobody_names_is_refused() {
    for url in ["data:;base64,AAAA", "data:;charset=x;base64,AAAA"] {
        let body = chat(json!({"messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": url}}]}]}));
        let refused = to(&layer_for(Api::Messages), Api::Chat, &body).unwrap_err();
        assert!(refused.to_string().contains("messages[0].content[0].image_url"), "{refused}");
        assert!(refused.to_string().contains("media type"), "{refused}");
    }
}

#[test]
fn a_large_request_costs_its_own_size_once_more_and_little_besides() {
    let image = "iVBORw0KGgoA".repeat(8_500);
    let image = json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{image}")}});
    let mut parts =
        vec![json!({"type": "text", "text": "Once \u{201c}upon\u{201d}\na time, ".repeat(40_000)})];
    parts.extend(vec![image; 10]);
    let chat = json!({"model": "m", "messages": [{"role": "user", "content": parts}]});
    for from in APIS {
        let body =
            if from == Api::Chat { chat.clone() } else { to(&layer_for(from), Api::Chat, &chat).unwrap() };
        let body = body.to_string();
        for to in APIS.into_iter().filter(|to| *to != from) {
            // The copy that the call has of the body is part of it.
            let held = allocation_counter::measure(|| {
                translated(&layer_for(to), path_of(from), body.as_bytes()).unwrap();
            });
            let share = held.bytes_max as f64 / body.len() as f64;
            assert!(share <= 2.2, "{from:?} to {to:?}: {share}");
        }
    }
}
