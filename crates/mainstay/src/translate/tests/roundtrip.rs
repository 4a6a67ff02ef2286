//! There and back: what both dialects have is what it was.

use super::{
    super::{form::Wishes, out::Out},
    spec::{Spec, spec},
    *,
};
use proptest::prelude::*;
use serde_json::json;

/// `spec` in dialect `from`, written for a provider of `over` and from there back.
fn there_and_back(spec: &Spec, from: Api, over: Api) -> (Value, Value) {
    let body = spec.clone().for_api(from).for_api(over).write(from);
    let there = carried(&layer_for(over), from, spec.stream, &body);
    let back = carried(&layer_for(from), over, spec.stream, &there);
    (body, back)
}

/// What a provider is asked.
fn carried(layer: &TranslateLayer, from: Api, stream: bool, body: &Value) -> Value {
    let path = match (from, stream) {
        (Api::Gemini, true) => "/v1beta/models/m:streamGenerateContent?alt=sse",
        _ => path_of(from),
    };
    let (_, written) = translated(layer, path, body.to_string().as_bytes())
        .unwrap_or_else(|error| panic!("{error}: {body}"));
    serde_json::from_slice(&written).expect("what is written is JSON")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 384, ..ProptestConfig::default() })]

    #[test]
    fn from_one_dialect_over_another_and_back_keeps_every_field_that_both_have(
        spec in spec(),
        from in prop::sample::select(APIS.to_vec()),
        over in prop::sample::select(APIS.to_vec()),
    ) {
        if from != over {
            let (body, back) = there_and_back(&spec, from, over);
            prop_assert_eq!(back, body, "{:?} over {:?}", from, over);
        }
    }
}

/// An answer of chat completions whose sources are anywhere in its text, and the same in events.
fn sourced() -> impl Strategy<Value = (Value, Vec<Value>)> {
    let pieces = prop::collection::vec("[a\u{e9}\u{4e00}\u{1f600}\"\\\\\n]{1,5}", 1..5);
    let pages = prop::collection::vec(("[a-c]", any::<[prop::sample::Index; 2]>()), 1..6);
    (pieces, pages).prop_map(|(pieces, pages)| {
        let letters = pieces.concat().chars().count();
        let mut all: Vec<Value> = Vec::new();
        for (page, at) in pages {
            let [one, other] = at.map(|at| at.index(letters + 1));
            // Nothing at the very beginning is how it is said that there is no place.
            let (start, end) = (one.min(other), one.max(other).max(1));
            let citation = json!({"start_index": start, "end_index": end, "title": format!("\"{page}"), "url": format!("https://{page}.example/\u{e9}")});
            let one = json!({"type": "url_citation", "url_citation": citation});
            if !all.contains(&one) {
                all.push(one);
            }
        }
        let choice = |what: &str, value: Value| json!({"id": "chatcmpl-1", "created": 1, "model": "m", "choices": [{"index": 0, what: value}]});
        let mut events: Vec<Value> = pieces.iter().map(|text| choice("delta", json!({"content": text}))).collect();
        events.push(choice("delta", json!({"annotations": all})));
        events.push(choice("finish_reason", json!("stop")));
        (choice("message", json!({"content": pieces.concat(), "annotations": all})), events)
    })
}

const ALL: Wishes = Wishes { include_usage: true, thoughts: true };

fn translated_answer(from: Api, to: Api, body: &Value) -> Value {
    let text = translate_answer(from, to, ALL, false, "m", body.to_string().as_bytes()).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn translated_stream(from: Api, to: Api, events: &[Value]) -> Vec<Value> {
    let mut translator = StreamTranslator::new(from, to, ALL);
    let mut out = Out::default();
    for event in events {
        translator.event(&crate::sse::Event::new("", event.to_string()), &mut out).unwrap();
    }
    translator.end(&mut out).unwrap();
    let text = out.finish();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

proptest! {
    #[test]
    fn sources_are_what_they_were(
        (body, events) in sourced(),
        over in prop::sample::select(vec![Api::Responses, Api::Gemini]),
    ) {
        let asked = &body["choices"][0]["message"]["annotations"];
        let back = translated_answer(over, Api::Chat, &translated_answer(Api::Chat, over, &body));
        prop_assert_eq!(&back["choices"][0]["message"]["annotations"], asked, "{:?}", over);
        let back = translated_stream(over, Api::Chat, &translated_stream(Api::Chat, over, &events));
        let told: Vec<&Value> = back.iter().map(|event| &event["choices"][0]["delta"]["annotations"]).filter(|list| list.is_array()).collect();
        prop_assert_eq!(told, vec![asked], "{:?}, stream", over);
    }
}
