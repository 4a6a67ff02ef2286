//! What is written for Bedrock.

use super::*;

const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

fn layer() -> TranslateLayer {
    TranslateLayer::new(Kind::BedrockConverse)
}

fn messages(model: &str, extra: Value) -> Value {
    let mut body =
        json!({"model": model, "max_tokens": 9000, "messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

#[test]
fn a_conversation_for_converse() {
    let body = json!({
        "model": CLAUDE, "max_tokens": 64,
        "system": [{"type": "text", "text": "be brief"}, {"type": "text", "text": " "}, {"type": "text", "text": "and polite"}],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "look"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AA+/"}},
                {"type": "document", "title": "John's  report.v2.pdf",
                 "source": {"type": "base64", "media_type": "application/pdf", "data": "BBBB"}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "notes"}},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "let me see"},
                {"type": "tool_use", "id": "t.1", "name": "browser.open", "input": {"big": 12345678901234567890u64}},
            ]},
            {"role": "user", "content": [
                {"type": "text", "text": "go on"},
                {"type": "tool_result", "tool_use_id": "t.1", "is_error": true, "content": [
                    {"type": "text", "text": "seen"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                ]},
            ]},
        ],
        "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}, {"name": "g", "description": "", "input_schema": {}}],
        "tool_choice": {"type": "tool", "name": "f"},
        "stop_sequences": ["A"], "temperature": 0.5, "top_p": 0.9, "top_k": 40,
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object", "properties": {"a": {}}}}},
    });
    let (path, _) = translated(&layer(), path_of(Api::Messages), body.to_string().as_bytes()).unwrap();
    assert_eq!(path, "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse");
    let written = to(&layer(), Api::Messages, &body).unwrap();
    let id = written["messages"][1]["content"][1]["toolUse"]["toolUseId"].as_str().unwrap().to_owned();
    assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{id}");
    assert_eq!(
        written,
        json!({
            "messages": [
                {"role": "user", "content": [
                    {"text": "look"},
                    {"image": {"format": "jpeg", "source": {"bytes": "AA+/"}}},
                    {"document": {"format": "pdf", "name": "John s report v2", "source": {"bytes": "BBBB"}}},
                    {"document": {"format": "txt", "name": "document-2", "source": {"text": "notes"}}},
                ]},
                {"role": "assistant", "content": [
                    {"text": "let me see"},
                    {"toolUse": {"toolUseId": id, "name": "browser_open", "input": {"big": 12345678901234567890u64}}},
                ]},
                {"role": "user", "content": [
                    {"toolResult": {"toolUseId": id, "status": "error", "content": [
                        {"text": "seen"}, {"image": {"format": "png", "source": {"bytes": "AAAA"}}}]}},
                    {"text": "go on"},
                ]},
            ],
            "system": [{"text": "be brief"}, {"text": "and polite"}],
            "inferenceConfig": {"maxTokens": 64, "temperature": 0.5, "topP": 0.9, "stopSequences": ["A"]},
            "toolConfig": {
                "tools": [
                    {"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": {"type": "object"}}}},
                    {"toolSpec": {"name": "g", "inputSchema": {"json": {"type": "object", "properties": {}}}}},
                ],
                "toolChoice": {"tool": {"name": "f"}},
            },
            "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema":
                {"schema": "{\"properties\":{\"a\":{}},\"type\":\"object\"}"}}}},
            "additionalModelRequestFields": {"top_k": 40},
        })
    );
}

#[test]
fn a_stream_and_a_profile_stand_in_the_path() {
    let body =
        messages("arn:aws:bedrock:us-east-1:1:application-inference-profile/ab", json!({"stream": true}));
    let (path, _) = translated(&layer(), path_of(Api::Messages), body.to_string().as_bytes()).unwrap();
    assert_eq!(
        path,
        "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aapplication-inference-profile%2Fab/converse-stream"
    );
    let written = to(&layer(), Api::Messages, &body).unwrap();
    assert!(written.get("model").is_none() && written.get("stream").is_none());
}

#[test]
fn a_conversation_that_called_tools_tells_them_again() {
    let history = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": ""}]},
    ]);
    let written = to(&layer(), Api::Messages, &messages(CLAUDE, json!({"messages": history}))).unwrap();
    let spec = json!({"name": "f", "inputSchema": {"json": {"type": "object", "properties": {}}}});
    assert_eq!(written["toolConfig"], json!({"tools": [{"toolSpec": spec}]}));
    // An empty result is no empty block.
    assert_eq!(written["messages"][2]["content"][0]["toolResult"]["content"], json!([{"json": {}}]));
    let tools = json!([{"name": "f", "input_schema": {"type": "object"}}]);
    let forbidden =
        messages(CLAUDE, json!({"messages": history, "tools": tools, "tool_choice": {"type": "none"}}));
    assert_eq!(refused(&layer(), Api::Messages, &forbidden), "tool_choice");
    // Without such turns to forbid them is not to tell them.
    let forbidden = messages(CLAUDE, json!({"tools": tools, "tool_choice": {"type": "none"}}));
    assert!(to(&layer(), Api::Messages, &forbidden).unwrap().get("toolConfig").is_none());
}

#[test]
fn wishes_to_think_become_what_each_family_calls_them() {
    let fields = |model: &str, extra: Value| {
        to(&layer(), Api::Messages, &messages(model, extra)).unwrap()["additionalModelRequestFields"].clone()
    };
    let effort = || json!({"output_config": {"effort": "medium"}});
    assert_eq!(
        fields(CLAUDE, json!({"thinking": {"type": "enabled", "budget_tokens": 2048}})),
        json!({"thinking": {"type": "enabled", "budget_tokens": 2048}})
    );
    assert_eq!(
        fields("anthropic.claude-opus-5-v1:0", effort()),
        json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}})
    );
    assert_eq!(fields("openai.gpt-oss-120b-1:0", effort()), json!({"reasoning_effort": "medium"}));
    assert_eq!(
        fields("us.amazon.nova-2-lite-v1:0", effort()),
        json!({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "medium"}})
    );
    assert_eq!(fields("amazon.nova-pro-v1:0", json!({"top_k": 5})), json!({"inferenceConfig": {"topK": 5}}));
    assert_eq!(fields("meta.llama4-v1:0", effort()), Value::Null);
}

#[test]
fn what_converse_has_nothing_like_is_refused_by_its_name() {
    let user = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let source = |kind: &str, data: &str| json!({"type": "base64", "media_type": kind, "data": data});
    for (model, extra, param) in [
        ("meta.llama", json!({"top_k": 4}), "top_k"),
        (
            CLAUDE,
            user(json!([{"type": "image", "source": {"type": "url", "url": "https://h/i.png"}}])),
            "messages[0].content[0].source",
        ),
        (
            CLAUDE,
            user(json!([{"type": "image", "source": source("image/tiff", "AA")}])),
            "messages[0].content[0].source",
        ),
        // A document alone is refused.
        (
            CLAUDE,
            user(json!([{"type": "document", "source": source("application/pdf", "AA")}])),
            "messages[0].content[0].source",
        ),
        (CLAUDE, json!({"tools": [{"name": "a.b", "input_schema": {"type": "object"}}]}), "tools[0]"),
    ] {
        assert_eq!(refused(&layer(), Api::Messages, &messages(model, extra)), param);
    }
    let chat = |extra: Value| {
        let mut body = json!({"model": CLAUDE, "messages": [{"role": "user", "content": "hi"}]});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        body
    };
    for (extra, param) in [
        (json!({"seed": 1}), "seed"),
        (json!({"presence_penalty": 0.5}), "presence_penalty"),
        (json!({"temperature": 1.5}), "temperature"),
        (json!({"response_format": {"type": "json_object"}}), "response_format"),
    ] {
        assert_eq!(refused(&layer(), Api::Chat, &chat(extra)), param);
    }
}

#[test]
fn what_lies_in_a_bucket_is_named() {
    let body = json!({"contents": [{"role": "user", "parts": [
        {"text": "look"}, {"fileData": {"fileUri": "s3://bucket/i.png", "mimeType": "image/png"}}]}]});
    let written = to(&layer(), Api::Gemini, &body).unwrap();
    assert_eq!(
        written["messages"][0]["content"][1],
        json!({"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/i.png"}}}})
    );
}

#[test]
fn marks_for_the_cache_become_cache_points_where_the_model_has_one() {
    let mark = json!({"type": "ephemeral"});
    let body = |model: &str| {
        messages(
            model,
            json!({
                "system": [{"type": "text", "text": "s", "cache_control": mark}],
                "tools": [{"name": "f", "input_schema": {"type": "object"}, "cache_control": mark}],
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": mark}]},
                    {"role": "assistant", "content": "b"},
                    {"role": "user", "content": [{"type": "text", "text": " ", "cache_control": mark}]},
                ],
            }),
        )
    };
    let point = json!({"cachePoint": {"type": "default"}});
    let written = to(&layer(), Api::Messages, &body(CLAUDE)).unwrap();
    assert_eq!(written["system"], json!([{"text": "s"}, point]));
    assert_eq!(written["toolConfig"]["tools"][1], point);
    assert_eq!(written["messages"][0]["content"], json!([{"text": "a"}, point]));
    // A mark alone is no message.
    assert_eq!(written["messages"].as_array().unwrap().len(), 2);
    let written = to(&layer(), Api::Messages, &body("meta.llama4-v1:0")).unwrap();
    assert!(!written.to_string().contains("cachePoint"), "{written}");
    for api in [Api::Chat, Api::Gemini, Api::Responses] {
        let written = to(&layer_for(api), Api::Messages, &body("m")).unwrap().to_string();
        assert!(written.contains("\"a\"") && !written.contains("cache"), "{written}");
    }
}
