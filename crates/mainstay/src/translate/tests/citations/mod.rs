//! Sources: every caller is told the same pages for the same words, whole and in streams.

mod bounds;
mod pairs;
mod requests;
mod samples;

use super::{
    super::{TargetApi, form::Wishes, out::Out},
    *,
};
use crate::sse::{Event, Scanner};
use serde_json::json;

const WISHES: Wishes = Wishes { include_usage: true, thoughts: true };

/// The dialects that have sources, for callers.
const CITING: [Api; 3] = [Api::Chat, Api::Gemini, Api::Responses];

/// A page, its title, and the words that come from it, where that is told.
type Cited = (String, String, Option<String>);

fn cited(url: &str, title: &str, words: Option<&str>) -> Cited {
    (url.to_owned(), title.to_owned(), words.map(str::to_owned))
}

fn answer(from: impl Into<TargetApi>, to: Api, body: &Value) -> Value {
    let body = body.to_string();
    let text = translate_answer(from, to, WISHES, false, "m", body.as_bytes()).unwrap();
    serde_json::from_str(&text).expect("JSON")
}

/// Translates a stream of events.
fn stream(from: impl Into<TargetApi>, to: Api, events: &[Value]) -> Vec<Value> {
    let mut translator = StreamTranslator::new(from, to, WISHES);
    let mut out = Out::default();
    for event in events {
        translator.event(&Event::new("", event.to_string()), &mut out).unwrap();
    }
    translator.end(&mut out).unwrap();
    let mut scanner = Scanner::new();
    scanner.push(Bytes::from(out.finish()));
    let mut all = Vec::new();
    while let Some(block) = scanner.next_block().unwrap() {
        let event = block.event.expect("nothing but events");
        if !event.is_done() {
            all.push(serde_json::from_slice(event.data()).expect("JSON"));
        }
    }
    all
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Characters of a text; nothing at its beginning is no place.
fn words(text: &str, citation: &Value) -> Option<String> {
    let [start, end] =
        ["start_index", "end_index"].map(|name| citation[name].as_u64().expect("a number") as usize);
    assert!(start <= end && end <= text.chars().count(), "{start}..{end} of {text:?}");
    (end > 0).then(|| text.chars().skip(start).take(end - start).collect())
}

fn of_annotations(said: &str, annotations: &Value) -> Vec<Cited> {
    let annotations = annotations.as_array().into_iter().flatten();
    annotations
        .map(|annotation| {
            assert_eq!(annotation["type"], "url_citation");
            let citation = annotation.get("url_citation").unwrap_or(annotation);
            assert!(citation["title"].is_string(), "{citation}");
            (text(&citation["url"]), text(&citation["title"]), words(said, citation))
        })
        .collect()
}

/// What a whole answer names as its sources.
fn sources(api: Api, answer: &Value) -> Vec<Cited> {
    match api {
        Api::Chat => {
            let message = &answer["choices"][0]["message"];
            of_annotations(&text(&message["content"]), &message["annotations"])
        }
        Api::Responses => {
            let items = answer["output"].as_array().unwrap().iter();
            let parts = items.flat_map(|item| item["content"].as_array().into_iter().flatten());
            parts.flat_map(|part| of_annotations(&text(&part["text"]), &part["annotations"])).collect()
        }
        Api::Gemini => {
            let candidate = &answer["candidates"][0];
            let parts: Vec<String> = candidate["content"]["parts"]
                .as_array()
                .unwrap()
                .iter()
                .map(|part| text(&part["text"]))
                .collect();
            of_grounding(&parts, &candidate["groundingMetadata"])
        }
        Api::Messages => Vec::new(),
    }
}

fn of_grounding(parts: &[String], grounding: &Value) -> Vec<Cited> {
    let chunks = grounding["groundingChunks"].as_array().cloned().unwrap_or_default();
    let page = |at: usize, words| (text(&chunks[at]["web"]["uri"]), text(&chunks[at]["web"]["title"]), words);
    let mut all = Vec::new();
    let mut bare: Vec<usize> = (0..chunks.len()).collect();
    for support in grounding["groundingSupports"].as_array().into_iter().flatten() {
        let segment = &support["segment"];
        let part = &parts[segment["partIndex"].as_u64().unwrap_or(0) as usize];
        let [start, end] = ["startIndex", "endIndex"].map(|name| segment[name].as_u64().unwrap() as usize);
        for index in support["groundingChunkIndices"].as_array().unwrap() {
            let index = index.as_u64().unwrap() as usize;
            all.push(page(index, Some(part[start..end].to_owned())));
            bare.retain(|at| *at != index);
        }
    }
    all.extend(bare.into_iter().map(|at| page(at, None)));
    all
}

/// What a stream names as its sources, put together as SDKs do it.
fn streamed(api: Api, events: &[Value]) -> Vec<Cited> {
    match api {
        Api::Chat => {
            let deltas = || events.iter().map(|event| &event["choices"][0]["delta"]);
            let content: String = deltas().map(|delta| text(&delta["content"])).collect();
            let lists: Vec<_> = deltas().filter(|delta| delta["annotations"].is_array()).collect();
            assert!(lists.len() <= 1, "some SDKs keep the last list only: {lists:?}");
            lists.iter().flat_map(|delta| of_annotations(&content, &delta["annotations"])).collect()
        }
        Api::Responses => {
            let last = events.last().unwrap();
            assert_eq!(last["type"], "response.completed");
            // Each was told by itself too, in its place.
            for event in
                events.iter().filter(|event| event["type"] == "response.output_text.annotation.added")
            {
                let [item, part, at] = ["output_index", "content_index", "annotation_index"]
                    .map(|name| event[name].as_u64().expect("a number") as usize);
                let item = &last["response"]["output"][item];
                assert_eq!(item["id"], event["item_id"]);
                assert_eq!(item["content"][part]["annotations"][at], event["annotation"]);
            }
            let added =
                events.iter().filter(|event| event["type"] == "response.output_text.annotation.added");
            let all = sources(api, &last["response"]);
            assert_eq!(added.count(), all.len());
            all
        }
        Api::Gemini => {
            let parts = events
                .iter()
                .flat_map(|event| event["candidates"][0]["content"]["parts"].as_array().unwrap());
            let said: String =
                parts.filter(|part| part["thought"] != true).map(|part| text(&part["text"])).collect();
            of_grounding(&[said], &events.last().unwrap()["candidates"][0]["groundingMetadata"])
        }
        Api::Messages => Vec::new(),
    }
}
