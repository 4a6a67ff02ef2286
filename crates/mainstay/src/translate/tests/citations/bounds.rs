//! Places that are none, pages without end, wrong types: the answer is not lost.

use super::*;
use proptest::prelude::*;

const MAX: usize = 1000;

fn chat(content: &str, annotations: &Value) -> Value {
    json!({"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": content, "annotations": annotations}}]})
}

fn citation(url: &str, start: &Value, end: &Value) -> Value {
    json!({"type": "url_citation", "url_citation": {"url": url, "start_index": start, "end_index": end}})
}

#[test]
fn a_place_beyond_the_text_is_cut_to_it_and_one_that_is_none_is_told_as_none() {
    let cases = [
        (json!(0), json!(3), Some("h\u{e9}y")),
        (json!(1), json!(99), Some("\u{e9}y")),
        (json!(1), json!(18446744073709551615u64), Some("\u{e9}y")),
        (json!(3), json!(3), Some("")),
        (json!(1.0), json!(2.0), Some("\u{e9}")),
        (json!(-1), json!(2), None),
        (json!(2), json!(1), None),
        (json!(4), json!(9), None),
        (json!(18446744073709551615u64), json!(18446744073709551615u64), None),
        (json!(1e300), json!(1e301), None),
        (json!("0"), json!("2"), None),
        (json!(null), json!(2), None),
        (json!(0), json!([]), None),
        (json!(0), json!(0), None),
    ];
    for (start, end, words) in cases {
        let body = chat("h\u{e9}y", &json!([citation("https://a.example", &start, &end)]));
        for to in CITING {
            let got = sources(to, &answer(Api::Chat, to, &body));
            assert_eq!(got, [cited("https://a.example", "", words)], "{start}..{end} to {to:?}");
        }
    }
}

#[test]
fn what_is_no_source_is_left_out_and_the_answer_is_not() {
    for annotations in [
        json!(null),
        json!({}),
        json!("x"),
        json!([[]]),
        json!([null, 1, "x", {}, {"type": "url_citation"}, {"type": "url_citation", "url_citation": 7}]),
        json!([{"type": "url_citation", "url_citation": {"url": ""}}, {"type": "url_citation", "url_citation": {"url": ["x"]}}]),
        json!([{"type": "file_citation", "url_citation": {"url": "https://a.example"}}]),
        json!([{"url": "https://a.example", "start_index": 0, "end_index": 1}]),
        json!([citation(&format!("https://{}", "x".repeat(8 << 10)), &json!(0), &json!(1))]),
    ] {
        for to in APIS {
            let got = answer(Api::Chat, to, &chat("so", &annotations));
            assert!(got.to_string().contains("so"), "{annotations}");
            assert_eq!(sources(to, &got), [], "{annotations}");
        }
    }
    for metadata in [
        json!(7),
        json!([]),
        json!({"groundingChunks": 1, "groundingSupports": 2}),
        json!({"groundingChunks": [1, {"web": 2}, {"web": {"uri": 3}}],
               "groundingSupports": [4, {"segment": 5, "groundingChunkIndices": 6}, {"groundingChunkIndices": [0, -1, 1e99, "x"]}]}),
    ] {
        let body = json!({"candidates": [{"content": {"parts": [{"text": "so"}]}, "groundingMetadata": metadata, "citationMetadata": metadata}]});
        for to in APIS {
            let got = answer(Api::Gemini, to, &body);
            assert!(got.to_string().contains("so"), "{metadata}");
            assert_eq!(sources(to, &got), [], "{metadata}");
        }
    }
}

#[test]
fn a_source_is_told_once() {
    let one = citation("https://a.example", &json!(0), &json!(2));
    let other = citation("https://a.example", &json!(1), &json!(2));
    let body = chat("so", &json!([one, one, other, one, other]));
    for to in CITING {
        let want = [cited("https://a.example", "", Some("so")), cited("https://a.example", "", Some("o"))];
        assert_eq!(sources(to, &answer(Api::Chat, to, &body)), want, "{to:?}");
    }
}

#[test]
fn an_answer_has_so_many_sources_only() {
    let many: Vec<Value> =
        (0..MAX + 500).map(|n| citation(&format!("https://a.example/{n}"), &json!(0), &json!(2))).collect();
    for to in CITING {
        let body = chat("so", &json!(many));
        assert_eq!(sources(to, &answer(Api::Chat, to, &body)).len(), MAX, "{to:?}");
        // All that come before the words wait.
        let chunk = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
        let mut events: Vec<Value> = many.iter().map(|one| chunk(json!({"annotations": [one]}))).collect();
        events.push(chunk(json!({"content": "so"})));
        events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
        assert_eq!(streamed(to, &stream(Api::Chat, to, &events)).len(), MAX, "{to:?}");
    }
    // And they have so much room: 1 MiB.
    let long = "x".repeat(8000);
    let many: Vec<Value> =
        (0..MAX).map(|n| citation(&format!("https://a.example/{n}/{long}"), &json!(0), &json!(2))).collect();
    assert_eq!(
        sources(Api::Chat, &answer(Api::Chat, Api::Chat, &chat("so", &json!(many)))).len(),
        (1 << 20) / 8022
    );
}

#[test]
fn segments_of_many_pages_each_are_no_more_than_that() {
    let pages: Vec<Value> =
        (0..2000).map(|n| json!({"web": {"uri": format!("https://a.example/{n}")}})).collect();
    let all: Vec<usize> = (0..2000).collect();
    let supports: Vec<Value> =
        (0..100).map(|_| json!({"segment": {"endIndex": 2}, "groundingChunkIndices": all})).collect();
    let metadata = json!({"groundingChunks": pages, "groundingSupports": supports});
    let body =
        json!({"candidates": [{"content": {"parts": [{"text": "so"}]}, "groundingMetadata": metadata}]});
    assert_eq!(sources(Api::Chat, &answer(Api::Gemini, Api::Chat, &body)).len(), MAX);
}

#[test]
fn a_stream_that_is_cut_ends_no_differently_for_its_sources() {
    let chunk = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let mut translator = StreamTranslator::new(Api::Chat, Api::Responses, WISHES);
    let mut out = Out::default();
    for event in [
        chunk(json!({"content": "so"})),
        chunk(json!({"annotations": [citation("https://a.example", &json!(0), &json!(2))]})),
    ] {
        translator.event(&Event::new("", event.to_string()), &mut out).unwrap();
    }
    let text = out.finish();
    assert!(
        text.contains("annotation.added") && !text.contains("done") && !text.contains("completed"),
        "{text}"
    );
}

proptest! {
    #[test]
    fn any_place_is_a_piece_of_the_text(
        content in "[a\u{e9}\u{4e00}\u{1f600}]{0,6}",
        places in prop::collection::vec((any::<i64>(), any::<i64>()), 0..4),
        small in prop::collection::vec((0..8i64, 0..8i64), 0..4),
        gemini in any::<bool>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let places: Vec<_> = places.into_iter().chain(small).collect();
        let letters: Vec<char> = content.chars().collect();
        let (one, other) = letters.split_at(cut.index(letters.len() + 1));
        let (one, other): (String, String) = (one.iter().collect(), other.iter().collect());
        let (from, whole, events) = if gemini {
            let supports: Vec<Value> = places.iter().map(|(start, end)| json!({"segment": {"startIndex": start, "endIndex": end,
                "partIndex": start % 3}, "groundingChunkIndices": [0]})).collect();
            let metadata = json!({"groundingChunks": [{"web": {"uri": "https://a.example"}}], "groundingSupports": supports});
            let response = |text: &str, metadata: &Value| json!({"candidates": [{"content": {"parts": [{"text": text}]}, "groundingMetadata": metadata}]});
            (Api::Gemini, response(&content, &metadata), vec![response(&one, &metadata), response(&other, &metadata)])
        } else {
            let all: Vec<Value> = places.iter().map(|(start, end)| citation("https://a.example", &json!(start), &json!(end))).collect();
            let chunk = |text: &str| json!({"choices": [{"index": 0, "delta": {"content": text, "annotations": all}}]});
            (Api::Chat, chat(&content, &json!(all)), vec![chunk(&one), chunk(&other)])
        };
        // Its own dialect is not translated.
        for to in CITING.into_iter().filter(|to| *to != from) {
            // `sources` and `streamed` check that each place is in the text.
            let whole = sources(to, &answer(from, to, &whole));
            let mut of_stream = streamed(to, &stream(from, to, &events));
            if to != Api::Gemini && !content.is_empty() {
                let mut whole = whole;
                whole.sort();
                of_stream.sort();
                prop_assert_eq!(of_stream, whole, "{:?} to {:?}", from, to);
            }
        }
    }
}
