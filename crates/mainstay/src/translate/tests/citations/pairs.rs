//! From each provider to each caller, and back.

use super::{samples::*, *};

#[test]
fn every_caller_is_told_the_same_pages_for_the_same_words() {
    for provider in PROVIDERS {
        for to in CITING {
            let case = format!("{provider:?} to {to:?}");
            assert_eq!(sources(to, &answer(provider, to, &whole(provider))), expected(provider), "{case}");
            assert_eq!(
                streamed(to, &stream(provider, to, &events(provider))),
                expected(provider),
                "{case}, stream"
            );
        }
    }
}

#[test]
fn an_answer_in_one_piece_for_a_caller_that_asked_for_a_stream_has_its_sources() {
    for provider in PROVIDERS {
        for to in CITING {
            let body = whole(provider).to_string();
            let text = translate_answer(provider, to, WISHES, true, "m", body.as_bytes()).unwrap();
            let data =
                text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
            let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
            assert_eq!(streamed(to, &events), expected(provider), "{provider:?} to {to:?}");
        }
    }
}

#[test]
fn over_another_dialect_and_back_they_are_what_they_were() {
    for from in CITING {
        let provider = match from {
            Api::Chat => Provider::Chat,
            Api::Gemini => Provider::Gemini,
            _ => Provider::Responses,
        };
        for over in CITING {
            let there = answer(provider, over, &whole(provider));
            let back = answer(over, from, &there);
            assert_eq!(sources(from, &back), expected(provider), "{from:?} over {over:?}");
            let there = stream(provider, over, &events(provider));
            let back = stream(over, from, &there);
            assert_eq!(streamed(from, &back), expected(provider), "{from:?} over {over:?}, stream");
        }
    }
}

#[test]
fn a_round_trip_keeps_the_very_numbers() {
    let there = answer(Provider::Chat, Api::Responses, &whole(Provider::Chat));
    let back = answer(Api::Responses, Api::Chat, &there);
    let mut asked = whole(Provider::Chat)["choices"][0]["message"]["annotations"].clone();
    // The last names a file.
    asked.as_array_mut().unwrap().pop();
    assert_eq!(back["choices"][0]["message"]["annotations"], asked);
}

#[test]
fn callers_of_messages_are_told_none() {
    for provider in PROVIDERS {
        let body = answer(provider, Api::Messages, &whole(provider)).to_string();
        assert!(body.contains("Spain") && !body.contains("a.example"), "{provider:?}: {body}");
        let all = stream(provider, Api::Messages, &events(provider));
        assert!(!all.iter().any(|event| event.to_string().contains("a.example")), "{provider:?}");
    }
}

#[test]
fn an_event_for_responses_has_its_number_and_its_place_before_the_text_is_done() {
    for provider in PROVIDERS {
        let all = stream(provider, Api::Responses, &events(provider));
        let at = |kind: &str| all.iter().position(|event| event["type"] == kind).expect(kind);
        for (n, event) in all.iter().enumerate() {
            assert_eq!(event["sequence_number"], n as u64, "{provider:?}");
        }
        let first = at("response.output_text.annotation.added");
        assert!(first < at("response.output_text.done"), "{provider:?}");
        let (part, item) =
            (&all[at("response.content_part.done")]["part"], &all[at("response.output_item.done")]["item"]);
        let annotations = part["annotations"].as_array().unwrap();
        assert_eq!(annotations.len(), expected(provider).len(), "{provider:?}");
        // The first of this stream is a thought where the provider has one.
        let texts = all.iter().filter(|event| event["type"] == "response.content_part.done");
        assert_eq!(texts.count(), 1);
        assert!(item["type"] == "reasoning" || item["content"][0]["annotations"] == part["annotations"]);
    }
}

#[test]
fn sources_of_a_search_result_are_told_where_they_are_addresses() {
    let block = |source: &str| {
        json!({"id": "msg_1", "content": [{"type": "text", "text": "so", "citations": [
            {"type": "search_result_location", "source": source, "title": "T", "search_result_index": 0, "cited_text": "x"}]}]})
    };
    assert_eq!(
        sources(Api::Chat, &answer(Api::Messages, Api::Chat, &block("HTTPS://a.example"))),
        [cited("HTTPS://a.example", "T", Some("so"))]
    );
    for source in ["handbook/7", "file:///etc/x", ""] {
        assert_eq!(sources(Api::Chat, &answer(Api::Messages, Api::Chat, &block(source))), []);
    }
}

#[test]
fn parts_of_a_gemini_answer_are_counted_as_they_stand() {
    let segment = |part: u64, start: usize, end: usize| json!({"segment": {"partIndex": part, "startIndex": start, "endIndex": end}, "groundingChunkIndices": [0]});
    let body = json!({"candidates": [{"content": {"parts": [
        {"text": "hm", "thought": true}, {"text": "\u{e9}ins. "}, {"functionCall": {"name": "f", "args": {}}}, {"text": "zw\u{f6}lf"}]},
        "groundingMetadata": {"groundingChunks": [{"web": {"uri": "https://a.example"}}],
            "groundingSupports": [segment(1, 0, 6), segment(3, 0, 6), segment(2, 0, 1), segment(9, 0, 1), segment(1, 5, 100)]}}]});
    for to in CITING {
        let mut all = sources(to, &answer(Api::Gemini, to, &body));
        all.sort();
        let words = |words: &str| cited("https://a.example", "", Some(words));
        // Of parts that are no text there is a page and no place. Gemini's callers have the page already.
        let bare = cited("https://a.example", "", None);
        let mut want = vec![words("\u{e9}ins."), words("zw\u{f6}lf"), words(". ")];
        want.extend((to != Api::Gemini).then_some(bare));
        want.sort();
        assert_eq!(all, want, "{to:?}");
    }
}

#[test]
fn what_a_model_recited_has_its_source() {
    for name in ["citationSources", "citations"] {
        let body = json!({"candidates": [{"content": {"parts": [{"text": "\u{e9}a bc"}]}, "citationMetadata":
            {name: [{"startIndex": 3, "endIndex": 6, "uri": "https://a.example", "license": "MIT"}, {"endIndex": 4}]}}]});
        assert_eq!(
            sources(Api::Chat, &answer(Api::Gemini, Api::Chat, &body)),
            [cited("https://a.example", "", Some(" bc"))]
        );
    }
}

#[test]
fn texts_around_a_call_have_their_own_sources() {
    // Two texts are two items for Responses, and two parts for Gemini: each counts for itself.
    let page = |url: &str| json!([{"type": "web_search_result_location", "url": url}]);
    let body = json!({"id": "msg_1", "stop_reason": "tool_use", "content": [
        {"type": "text", "text": "\u{e9}ins", "citations": page("https://a.example")},
        {"type": "tool_use", "id": "t", "name": "f", "input": {}},
        {"type": "text", "text": "zw\u{f6}lf", "citations": page("https://b.example")}]});
    let want = [
        cited("https://a.example", "", Some("\u{e9}ins")),
        cited("https://b.example", "", Some("zw\u{f6}lf")),
    ];
    for to in CITING {
        assert_eq!(sources(to, &answer(Api::Messages, to, &body)), want, "{to:?}");
    }
    let responses = answer(Api::Messages, Api::Responses, &body);
    assert_eq!(responses["output"][2]["content"][0]["annotations"][0]["start_index"], 0);
    assert_eq!(sources(Api::Chat, &answer(Api::Responses, Api::Chat, &responses)), want);
    // A source that runs over the call is cut there.
    let chat = answer(Api::Messages, Api::Chat, &body);
    assert_eq!(chat["choices"][0]["message"]["annotations"][1]["url_citation"]["start_index"], 4);
}

#[test]
fn a_source_that_comes_after_a_call_is_in_the_answer_as_a_whole() {
    let chunk = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let all = stream(
        Api::Chat,
        Api::Responses,
        &[
            chunk(json!({"content": "so"})),
            chunk(
                json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]}),
            ),
            chunk(
                json!({"annotations": [{"type": "url_citation", "url_citation": {"url": "https://a.example", "start_index": 0, "end_index": 2}}]}),
            ),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        ],
    );
    assert_eq!(streamed(Api::Responses, &all), [cited("https://a.example", "", Some("so"))]);
}

#[test]
fn annotations_may_stand_beside_the_message_and_come_before_the_words() {
    let annotation = json!({"type": "url_citation", "url_citation": {"url": "https://a.example", "title": "T", "start_index": 1, "end_index": 4}});
    let unplaced = json!({"type": "url_citation", "url_citation": {"url": "https://b.example", "start_index": 0, "end_index": 0}});
    for to in [Api::Gemini, Api::Responses] {
        let all = stream(
            Api::Chat,
            to,
            &[
                json!({"choices": [{"index": 0, "annotations": [annotation, unplaced], "delta": {"role": "assistant"}}]}),
                json!({"choices": [{"index": 0, "delta": {"content": "a\u{e9}"}}]}),
                json!({"choices": [{"index": 0, "delta": {"content": "\u{e9}\u{e9}b"}, "finish_reason": "stop"}]}),
            ],
        );
        let want = [
            cited("https://a.example", "T", Some("\u{e9}\u{e9}\u{e9}")),
            cited("https://b.example", "", None),
        ];
        assert_eq!(streamed(to, &all), want, "{to:?}");
    }
}

#[test]
fn responses_that_tell_their_sources_with_the_item_only_tell_them_all() {
    let item = json!({"type": "message", "content": [
        {"type": "output_text", "text": "one", "annotations": [{"type": "url_citation", "url": "https://a.example", "start_index": 0, "end_index": 3}]},
        {"type": "output_text", "text": " two", "annotations": [{"type": "url_citation", "url": "https://b.example", "start_index": 1, "end_index": 4}]}]});
    let text = |part: u64, delta: &str| json!({"type": "response.output_text.delta", "output_index": 0, "content_index": part, "delta": delta});
    for last in [
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"output": [item]}}),
    ] {
        let all = stream(Api::Responses, Api::Chat, &[text(0, "one"), text(1, " two"), last]);
        let want = [cited("https://a.example", "", Some("one")), cited("https://b.example", "", Some("two"))];
        assert_eq!(streamed(Api::Chat, &all), want);
    }
}
