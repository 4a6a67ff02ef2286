//! An answer with sources, of each provider that has them: whole and as a stream.

use super::*;

pub(super) const SPAIN: &str = "Spain \u{1f600} won.";
pub(super) const FRANCE: &str = "Fran\u{e7}ais \"\\ l\u{e0}.";
pub(super) const A: &str = "https://a.example/x?y=1&z=\u{e9}";
pub(super) const B: &str = "https://b.example/";
pub(super) const C: &str = "https://c.example/";

/// A provider with sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provider {
    Chat,
    Responses,
    Messages,
    Gemini,
    Converse,
}

pub(super) const PROVIDERS: [Provider; 5] =
    [Provider::Chat, Provider::Responses, Provider::Messages, Provider::Gemini, Provider::Converse];

impl From<Provider> for TargetApi {
    fn from(provider: Provider) -> Self {
        match provider {
            Provider::Chat => TargetApi::Chat,
            Provider::Responses => TargetApi::Responses,
            Provider::Messages => TargetApi::Messages,
            Provider::Gemini => TargetApi::Gemini,
            Provider::Converse => TargetApi::Converse,
        }
    }
}

/// What all of them say: one page for the first words, two for the last, and a page for nothing in particular where that can
/// be told.
pub(super) fn expected(provider: Provider) -> Vec<Cited> {
    let mut all = vec![
        cited(A, "A \"quoted\"", Some(SPAIN)),
        cited(B, "", Some(FRANCE)),
        cited(A, "A \"quoted\"", Some(FRANCE)),
    ];
    if !matches!(provider, Provider::Messages | Provider::Converse) {
        all.push(cited(C, "C", None));
    }
    all
}

/// `url_citation`s, with places relative to a text that begins `from` characters before the first words.
fn annotations(nested: bool, from: usize) -> Vec<Value> {
    let (spain, france) = (SPAIN.chars().count(), FRANCE.chars().count());
    let places = [
        (A, "A \"quoted\"", from, from + spain),
        (B, "", from + spain, from + spain + france),
        (A, "A \"quoted\"", from + spain, from + spain + france),
        (C, "C", 0, 0),
    ];
    let made = places.map(|(url, title, start, end)| {
        let citation = json!({"url": url, "title": title, "start_index": start, "end_index": end});
        if nested {
            return json!({"type": "url_citation", "url_citation": citation});
        }
        let mut flat = citation;
        flat["type"] = json!("url_citation");
        flat
    });
    // What names a file is nobody else's.
    let file = json!({"type": "file_citation", "file_id": "file-1", "filename": "a.pdf", "index": 3});
    made.into_iter().chain([file]).collect()
}

fn block_citations(urls: &[(&str, &str)]) -> Vec<Value> {
    let page = |(url, title): &(&str, &str)| {
        let title = if title.is_empty() { Value::Null } else { json!(title) };
        json!({"type": "web_search_result_location", "url": url, "title": title, "cited_text": "so", "encrypted_index": "E"})
    };
    let document = json!({"type": "char_location", "document_index": 0, "cited_text": "so", "document_title": "d",
                          "start_char_index": 0, "end_char_index": 2});
    urls.iter().map(page).chain([document]).collect()
}

fn grounding() -> Value {
    let (spain, france) = (SPAIN.len(), FRANCE.len());
    json!({
        "webSearchQueries": ["who won"],
        "groundingChunks": [{"web": {"uri": A, "title": "A \"quoted\""}}, {"retrievedContext": {"uri": "gs://x"}}, {"web": {"uri": B}},
                            {"web": {"uri": C, "title": "C"}}],
        "groundingSupports": [
            {"segment": {"endIndex": spain, "text": SPAIN}, "groundingChunkIndices": [0, 1], "confidenceScores": [0.9]},
            {"segment": {"startIndex": spain, "endIndex": spain + france}, "groundingChunkIndices": [2, 0, 99]},
        ],
    })
}

fn converse_citations(urls: &[(&str, &str)]) -> Vec<Value> {
    let page = |(url, title): &(&str, &str)| json!({"title": title, "location": {"web": {"url": url, "domain": "x"}}});
    let document =
        json!({"title": "d", "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 3}}});
    urls.iter().map(page).chain([document]).collect()
}

const OF_SPAIN: [(&str, &str); 1] = [(A, "A \"quoted\"")];
const OF_FRANCE: [(&str, &str); 2] = [(B, ""), (A, "A \"quoted\"")];

pub(super) fn whole(provider: Provider) -> Value {
    let said = format!("{SPAIN}{FRANCE}");
    match provider {
        Provider::Chat => {
            json!({"id": "chatcmpl-1", "created": 1, "model": "m", "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "reasoning_content": "hm", "content": said, "annotations": annotations(true, 0)}}]})
        }
        Provider::Responses => {
            json!({"id": "resp_1", "created_at": 1, "model": "m", "status": "completed", "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": said, "annotations": annotations(false, 0)}]}]})
        }
        Provider::Messages => json!({"id": "msg_1", "model": "m", "stop_reason": "end_turn", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            {"type": "text", "text": SPAIN, "citations": block_citations(&OF_SPAIN)},
            {"type": "text", "text": FRANCE, "citations": block_citations(&OF_FRANCE)},
            {"type": "text", "text": "", "citations": null}]}),
        Provider::Gemini => {
            json!({"responseId": "r1", "modelVersion": "m", "candidates": [{"index": 0, "finishReason": "STOP",
            "content": {"role": "model", "parts": [{"text": said}]}, "groundingMetadata": grounding()}]})
        }
        Provider::Converse => {
            json!({"stopReason": "end_turn", "output": {"message": {"role": "assistant", "content": [
            {"reasoningContent": {"reasoningText": {"text": "hm"}}},
            {"citationsContent": {"content": [{"text": SPAIN}], "citations": converse_citations(&OF_SPAIN)}},
            {"citationsContent": {"content": [{"text": FRANCE}], "citations": converse_citations(&OF_FRANCE)}}]}}})
        }
    }
}

pub(super) fn events(provider: Provider) -> Vec<Value> {
    // A piece of each letter but one, so that no place falls on a border by luck.
    let pieces = |text: &str| {
        let letters: Vec<char> = text.chars().collect();
        letters.chunks(3).map(|letters| letters.iter().collect::<String>()).collect::<Vec<_>>()
    };
    let said = format!("{SPAIN}{FRANCE}");
    let mut all = Vec::new();
    match provider {
        Provider::Chat => {
            let chunk = |delta: Value| json!({"id": "chatcmpl-1", "created": 1, "model": "m", "choices": [{"index": 0, "delta": delta}]});
            all.push(chunk(json!({"role": "assistant", "content": "", "annotations": []})));
            all.push(chunk(json!({"reasoning_content": "hm"})));
            all.extend(pieces(&said).iter().map(|piece| chunk(json!({"content": piece}))));
            all.push(chunk(json!({"content": "", "annotations": annotations(true, 0)})));
            all.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
        }
        Provider::Responses => {
            let of_part = |mut data: Value| {
                (data["output_index"], data["content_index"], data["item_id"]) =
                    (json!(1), json!(0), json!("msg_1"));
                data
            };
            let mut item = whole(provider)["output"][2].clone();
            item["id"] = json!("msg_1");
            all.push(json!({"type": "response.created", "response": {"id": "resp_1", "created_at": 1, "model": "m"}}));
            all.push(json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "content": []}}));
            all.extend(
                pieces(&said)
                    .iter()
                    .map(|piece| of_part(json!({"type": "response.output_text.delta", "delta": piece}))),
            );
            all.extend(annotations(false, 0).into_iter().enumerate().map(|(n, annotation)| {
                of_part(json!({"type": "response.output_text.annotation.added", "annotation_index": n, "annotation": annotation}))
            }));
            all.push(json!({"type": "response.output_item.done", "output_index": 1, "item": item}));
            all.push(json!({"type": "response.completed", "response": {"id": "resp_1", "output": [{"type": "reasoning", "summary": []}, item]}}));
        }
        Provider::Messages => {
            all.push(json!({"type": "message_start", "message": {"id": "msg_1", "model": "m"}}));
            for (index, (text, urls)) in
                [(SPAIN, &OF_SPAIN[..]), (FRANCE, &OF_FRANCE[..]), ("", &[][..])].into_iter().enumerate()
            {
                all.push(json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": "", "citations": []}}));
                let delta =
                    |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
                let citations = block_citations(urls)
                    .into_iter()
                    .map(|it| delta(json!({"type": "citations_delta", "citation": it})));
                let texts =
                    pieces(text).into_iter().map(|piece| delta(json!({"type": "text_delta", "text": piece})));
                // They come before the words as well as after.
                if index == 0 {
                    all.extend(citations.chain(texts))
                } else {
                    all.extend(texts.chain(citations))
                }
                all.push(json!({"type": "content_block_stop", "index": index}));
            }
            all.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}));
            all.push(json!({"type": "message_stop"}));
        }
        Provider::Gemini => {
            let response = |parts: Value| {
                json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}],
                "modelVersion": "m", "responseId": "r1"})
            };
            all.push(response(json!([{"text": "hm", "thought": true}])));
            all.extend(pieces(&said).iter().map(|piece| response(json!([{"text": piece}]))));
            let mut grounded = response(json!([{"text": ""}]));
            grounded["candidates"][0]["groundingMetadata"] = grounding();
            // It is repeated, and not on the last one.
            all.extend([grounded.clone(), grounded]);
            all.push(json!({"candidates": [{"index": 0, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 9}}));
        }
        Provider::Converse => {
            for (index, (text, urls)) in
                [(SPAIN, &OF_SPAIN[..]), (FRANCE, &OF_FRANCE[..])].into_iter().enumerate()
            {
                let delta = |delta: Value| json!({"contentBlockIndex": index, "delta": delta});
                all.extend(pieces(text).into_iter().map(|piece| delta(json!({"text": piece}))));
                all.extend(converse_citations(urls).into_iter().map(|it| delta(json!({"citation": it}))));
                all.push(json!({"contentBlockIndex": index}));
            }
            all.push(json!({"stopReason": "end_turn"}));
        }
    }
    all
}
