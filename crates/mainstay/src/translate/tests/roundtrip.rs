//! There and back: what both dialects have is what it was.

use super::*;
use proptest::prelude::*;
use serde_json::json;

/// Text that every dialect takes: with something to be read in it.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}", any::<String>().prop_map(|text| format!("x{text}"))]
}

fn turn() -> impl Strategy<Value = Vec<Value>> {
    let call = ("[a-z]{1,6}", "[a-z]{1,6}", text()).prop_map(|(id, name, argument)| (id, name, argument));
    prop_oneof![
        text().prop_map(|text| vec![
            json!({"role": "user", "content": text}),
            json!({"role": "assistant", "content": "yes"}),
        ]),
        (text(), "[A-Za-z0-9+/]{4,40}").prop_map(|(text, data)| vec![
            json!({"role": "user", "content": [
                {"type": "text", "text": text},
                {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}},
            ]}),
            json!({"role": "assistant", "content": "I see"}),
        ]),
        (prop::collection::vec(call, 1..4), text()).prop_map(|(calls, said)| {
            let ids = |n: usize, id: &str| format!("call_{id}_{n}");
            let made: Vec<Value> = calls
                .iter()
                .enumerate()
                .map(|(n, (id, name, argument))| {
                    let arguments = json!({"a": argument}).to_string();
                    json!({"id": ids(n, id), "type": "function", "function": {"name": name, "arguments": arguments}})
                })
                .collect();
            let mut turns = vec![
                json!({"role": "user", "content": "do"}),
                json!({"role": "assistant", "content": said, "tool_calls": made}),
            ];
            turns.extend(calls.iter().enumerate().map(|(n, (id, _, argument))| {
                json!({"role": "tool", "tool_call_id": ids(n, id), "content": argument})
            }));
            turns.push(json!({"role": "assistant", "content": "done"}));
            turns
        }),
    ]
}

prop_compose! {
    fn request()(
        system in prop::option::of(text()),
        turns in prop::collection::vec(turn(), 1..4),
        stop in prop::collection::vec("[a-z]{1,5}", 1..4),
        temperature in 0..10u32,
        max in 1..100_000u64,
        choice in prop::sample::select(vec![json!("auto"), json!("none"), json!("required"),
            json!({"type": "function", "function": {"name": "f"}})]),
        effort in prop::sample::select(vec!["low", "medium", "high"]),
        strict in any::<bool>(),
    ) -> Value {
        let mut messages: Vec<Value> = system.into_iter().map(|text| json!({"role": "system", "content": text})).collect();
        messages.extend(turns.into_iter().flatten());
        messages.push(json!({"role": "user", "content": "and now?"}));
        let schema = json!({"type": "object", "properties": {"p": {"type": "string"}}});
        json!({
            "model": "m",
            "messages": messages,
            "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}}],
            "tool_choice": choice,
            "max_completion_tokens": max,
            "temperature": f64::from(temperature) / 10.0,
            "stop": stop,
            "response_format": {"type": "json_schema",
                                "json_schema": {"name": "answer", "schema": schema, "strict": strict}},
            "reasoning_effort": effort,
        })
    }
}

/// What Responses have no place for.
fn without(mut body: Value, fields: &[&str]) -> Value {
    fields.iter().for_each(|field| drop(body.as_object_mut().unwrap().remove(*field)));
    body
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn chat_to_another_dialect_and_back_keeps_what_both_have(
        body in request(),
        over in prop::sample::select(vec![Api::Messages, Api::Gemini, Api::Responses]),
    ) {
        // What the dialect in the middle does not tell.
        let body = match over {
            Api::Responses => without(body, &["stop"]),
            // Whether a schema is strict; Gemini's thinking takes a level that comes back as a word.
            _ => {
                let mut body = body;
                body["response_format"]["json_schema"]["strict"] = json!(true);
                body
            }
        };
        let there = to(&layer_for(over), Api::Chat, &body).unwrap();
        let back = to(&layer_for(Api::Chat), over, &there).unwrap();
        prop_assert_eq!(back, body);
    }
}
