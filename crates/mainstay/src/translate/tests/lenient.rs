//! What a lenient layer leaves of a request must still be one that the target takes.

use super::*;
use serde_json::json;

const KINDS: [Kind; 7] = [
    Kind::OpenAi,
    Kind::OpenAiResponses,
    Kind::Anthropic,
    Kind::Gemini,
    Kind::OllamaNative,
    Kind::CohereV2,
    Kind::BedrockConverse,
];

fn lenient(kind: Kind) -> TranslateLayer {
    TranslateLayer::new(kind).lenient()
}

/// Something that only Google has, and so no target takes from a Messages caller: a file by its id.
fn file() -> Value {
    json!({"type": "document", "source": {"type": "file", "file_id": "f"}})
}

fn conversation(turns: Value) -> Value {
    json!({"model": "claude-9", "max_tokens": 9, "messages": turns,
        "tools": [{"name": "f", "input_schema": {"type": "object"}}]})
}

/// The caller's dialect: one that the target does not speak.
fn caller_of(kind: Kind, body: &Value) -> (Api, Value) {
    match kind {
        Kind::Anthropic => {
            let image = json!({"type": "file", "file": {"file_id": "f"}});
            let text = body.to_string().replace(&file().to_string(), &image.to_string());
            (Api::Chat, serde_json::from_str(&text).unwrap())
        }
        _ => (Api::Messages, body.clone()),
    }
}

/// Lists of what a message holds, wherever the target has them.
fn empty_lists(written: &Value) -> usize {
    let lists = |value: &Value| match value {
        Value::Object(fields) => {
            let named = |name: &&String| ["content", "parts", "output"].contains(&name.as_str());
            fields.iter().filter(|(name, value)| named(name) && **value == json!([])).count()
        }
        _ => 0,
    };
    match value_children(written) {
        children if children.is_empty() => lists(written),
        children => lists(written) + children.into_iter().map(empty_lists).sum::<usize>(),
    }
}

fn value_children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_message_of_which_nothing_is_left_is_none() {
    let body = conversation(json!([
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": [file()]},
        {"role": "assistant", "content": "four"},
        {"role": "user", "content": "five"},
    ]));
    for kind in KINDS {
        let (caller, body) = caller_of(kind, &body);
        let written = to(&lenient(kind), caller, &body).unwrap();
        assert_eq!(empty_lists(&written), 0, "{kind}: {written}");
        for word in ["one", "two", "four", "five"] {
            assert!(written.to_string().contains(word), "{kind}: {written}");
        }
    }
}

#[test]
fn bedrock_hears_two_turns_of_one_role_as_one() {
    let body = conversation(json!([
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": [file()]},
        {"role": "assistant", "content": "four"},
        {"role": "user", "content": " "},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [file()]}]},
    ]));
    let written = to(&lenient(Kind::BedrockConverse), Api::Messages, &body).unwrap();
    assert_eq!(
        written["messages"],
        json!([
            {"role": "user", "content": [{"text": "one"}]},
            {"role": "assistant", "content": [{"text": "two"}, {"text": "four"},
                {"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"json": {}}]}}]},
        ])
    );
}

#[test]
fn a_mark_that_is_left_alone_is_no_message_for_bedrock() {
    let mut marked = file();
    marked["cache_control"] = json!({"type": "ephemeral"});
    let body = conversation(json!([{"role": "user", "content": [marked]}]));
    assert_eq!(refused(&lenient(Kind::BedrockConverse), Api::Messages, &body), "messages");
}

#[test]
fn a_request_of_which_no_word_is_left_is_refused() {
    let body = conversation(json!([{"role": "user", "content": [file()]}]));
    for kind in KINDS {
        let (caller, body) = caller_of(kind, &body);
        assert_eq!(refused(&lenient(kind), caller, &body), "messages", "{kind}");
    }
}

#[test]
fn an_assistant_that_only_showed_something_says_nothing() {
    let body = json!({"contents": [
        {"role": "user", "parts": [{"text": "draw"}]},
        {"role": "model", "parts": [{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]},
        {"role": "user", "parts": [{"text": "again"}]},
    ]});
    for kind in KINDS.into_iter().filter(|kind| *kind != Kind::Gemini) {
        let written = to(&lenient(kind), Api::Gemini, &body).unwrap();
        // Anthropic's assistants may have shown a picture.
        let silent = kind == Kind::Anthropic || !written.to_string().contains("assistant");
        assert!(silent && empty_lists(&written) == 0, "{kind}: {written}");
    }
}

#[test]
fn the_result_of_a_tool_of_which_nothing_is_left_is_still_one() {
    let body = conversation(json!([
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [file()]}]},
    ]));
    for kind in KINDS.into_iter().filter(|kind| *kind != Kind::Anthropic) {
        let written = to(&lenient(kind), Api::Messages, &body).unwrap();
        // An empty text is none to Bedrock, and is to others.
        assert_eq!(empty_lists(&written), 0, "{kind}: {written}");
        let list = ["messages", "contents", "input"].iter().find_map(|name| written[*name].as_array());
        assert_eq!(list.unwrap().len(), 3, "{kind}: {written}");
    }
}

#[test]
fn cohere_is_asked_for_a_format_or_told_of_tools_never_both() {
    let schema = json!({"type": "object", "properties": {}});
    let tool = json!({"name": "f", "parameters": schema});
    let requests = [
        (
            Api::Chat,
            "response_format",
            json!({"model": "m", "messages": [{"role": "user", "content": "hi"}],
                "tools": [{"type": "function", "function": tool}],
                "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}),
        ),
        (
            Api::Chat,
            "response_format",
            json!({"model": "m", "messages": [{"role": "user", "content": "hi"}],
                "tools": [{"type": "function", "function": tool}], "response_format": {"type": "json_object"}}),
        ),
        (
            Api::Responses,
            "text.format",
            json!({"model": "m", "input": "hi", "tools": [{"type": "function", "name": "f", "parameters": schema}],
                "text": {"format": {"type": "json_schema", "name": "n", "schema": schema}}}),
        ),
        (
            Api::Messages,
            "output_config.format",
            json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}],
                "tools": [{"name": "f", "input_schema": schema}],
                "output_config": {"format": {"type": "json_schema", "schema": schema}}}),
        ),
        (
            Api::Gemini,
            "generationConfig.responseJsonSchema",
            json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}],
                "tools": [{"functionDeclarations": [tool]}],
                "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema}}),
        ),
    ];
    for (caller, param, mut body) in requests {
        assert_eq!(refused(&TranslateLayer::new(Kind::CohereV2), caller, &body), param);
        let written = to(&lenient(Kind::CohereV2), caller, &body).unwrap();
        assert_eq!(
            (written["tools"][0]["function"]["name"].as_str(), written.get("response_format")),
            (Some("f"), None)
        );
        body["tools"] = Value::Null;
        let written = to(&TranslateLayer::new(Kind::CohereV2), caller, &body).unwrap();
        assert_eq!(written["response_format"]["type"], "json_object");
    }
    // Tools that must not be called need not be told.
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "tool_choice": "none",
        "tools": [{"type": "function", "function": tool}], "response_format": {"type": "json_object"}});
    let written = to(&TranslateLayer::new(Kind::CohereV2), Api::Chat, &body).unwrap();
    assert_eq!((written.get("tools"), written.get("tool_choice")), (None, None));
    assert_eq!(written["response_format"]["type"], "json_object");
}
