//! Answers with sources that callers send back as earlier turns: the words are what counts.

use super::*;

/// `turn` between two of the user's, in the caller's dialect.
fn conversation(from: Api, turn: &Value) -> Value {
    let user = |text: &str| json!({"role": "user", "content": text});
    match from {
        Api::Gemini => {
            let user = |text: &str| json!({"role": "user", "parts": [{"text": text}]});
            json!({"contents": [user("who won?"), turn, user("sure?")]})
        }
        Api::Responses => json!({"model": "m", "input": [user("who won?"), turn, user("sure?")]}),
        _ => json!({"model": "m", "max_tokens": 64, "messages": [user("who won?"), turn, user("sure?")]}),
    }
}

#[test]
fn an_answer_with_sources_may_be_sent_back_as_the_sdk_keeps_it() {
    let nested = json!({"type": "url_citation", "url_citation": {"url": "https://a.example", "title": "A", "start_index": 0, "end_index": 3}});
    let flat = json!({"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 3});
    let file = json!({"type": "file_citation", "file_id": "file-1", "filename": "a.pdf", "index": 1});
    let page = json!({"type": "web_search_result_location", "url": "https://a.example", "title": "A", "cited_text": "x", "encrypted_index": "E"});
    let chat = |annotations: Value| {
        json!({"role": "assistant", "content": "Spain.", "refusal": null, "audio": null,
        "function_call": null, "tool_calls": null, "annotations": annotations})
    };
    let responses = |annotations: Value| {
        json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Spain.", "annotations": annotations, "logprobs": null}]})
    };
    let messages = |citations: Value| json!({"role": "assistant", "content": [{"type": "text", "text": "Spain.", "citations": citations}]});
    let turns = [
        (Api::Chat, chat(json!([]))),
        (Api::Chat, chat(json!(null))),
        (Api::Chat, chat(json!([nested]))),
        (Api::Chat, chat(json!({"anything": 1}))),
        (Api::Responses, responses(json!([]))),
        (Api::Responses, responses(json!([flat, file]))),
        (Api::Messages, messages(json!(null))),
        (Api::Messages, messages(json!([]))),
        (Api::Messages, messages(json!([page]))),
        (Api::Gemini, json!({"role": "model", "parts": [{"text": "Spain."}]})),
    ];
    for (from, turn) in turns {
        for over in APIS.into_iter().filter(|over| *over != from) {
            let sent = to(&layer_for(over), from, &conversation(from, &turn))
                .unwrap_or_else(|error| panic!("{error}: {turn}"));
            let sent = sent.to_string();
            assert!(sent.contains("Spain.") && !sent.contains("a.example"), "{from:?} over {over:?}: {sent}");
        }
    }
}

#[test]
fn a_document_that_is_to_be_cited_is_refused_as_before() {
    let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [
        {"type": "document", "citations": {"enabled": true}, "source": {"type": "text", "media_type": "text/plain", "data": "x"}}]}]});
    assert_eq!(refused(&layer_for(Api::Chat), Api::Messages, &body), "messages[0].content[0].citations");
}
