//! The same for callers of Gemini's API.

use super::*;

const PATH: &str = "/v1beta/models/m:streamGenerateContent?alt=sse";
const BODY: &str = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#;

/// A piece of an answer, with the tokens so far.
fn piece(id: &str, parts: Value, finish: Option<&str>, tokens: u64) -> String {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    json!({"candidates": [candidate], "responseId": id,
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": tokens, "totalTokenCount": 5 + tokens}})
    .to_string()
}

fn texts(id: &str, texts: &[&str]) -> Vec<String> {
    (1..).zip(texts).map(|(at, text)| piece(id, json!([{"text": text}]), None, at)).collect()
}

fn play(mut pieces: Vec<String>, last: Option<String>, end: End) -> Play {
    pieces.extend(last);
    Play::events(&refs(&pieces), end)
}

fn whole(id: &str, words: &[&str]) -> Play {
    play(texts(id, words), Some(piece(id, json!([{"text": ""}]), Some("STOP"), 9)), End::Proper)
}

async fn gemini(body: &str, a: Play, b: Play) -> (Saw, Provider) {
    let (a, b) = (Provider::new([a]), Provider::new([b]));
    let saw = call(PATH, body, &[("a", &a), ("b", &b)]).await;
    (saw, b)
}

fn text(saw: &Saw) -> String {
    let parts = saw
        .json()
        .into_iter()
        .flat_map(|event| event["candidates"][0]["content"]["parts"].as_array().cloned().unwrap_or_default());
    parts.filter_map(|part| part["text"].as_str().map(str::to_owned)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_cut_stream_goes_on_with_one_id_one_end_each_word_once_and_the_tokens_of_both() {
    for end in [End::Break, End::Proper, End::Hang] {
        let a = play(texts("one", &["so many ", "words "]), None, end);
        let (saw, b) = gemini(BODY, a, whole("two", &["and ", "more"])).await;
        assert!(saw.error.is_none(), "{end:?}");
        assert_eq!(text(&saw), "so many words and more");
        let events = saw.json();
        assert!(events.iter().all(|event| event["responseId"] == "one"), "{events:?}");
        let ends = events.iter().filter(|event| event["candidates"][0]["finishReason"].is_string()).count();
        assert_eq!(ends, 1);
        let tokens = &events.last().unwrap()["usageMetadata"];
        assert_eq!((&tokens["promptTokenCount"], &tokens["candidatesTokenCount"]), (&json!(10), &json!(11)));
        let sent = json!({"role": "model", "parts": [{"text": "so many words"}]});
        assert_eq!(b.bodies()[0]["contents"][1], sent);
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_begins_again_repeats_nothing_and_its_thoughts_are_not_shown() {
    let a = play(texts("one", &["so many ", "words "]), None, End::Break);
    let mut again = vec![piece("two", json!([{"text": "hm", "thought": true}]), None, 1)];
    again.extend(texts("two", &["so many words ", "and more"]));
    let last = piece("two", json!([]), Some("STOP"), 9);
    let (saw, _) = gemini(BODY, a, play(again, Some(last), End::Proper)).await;
    assert!(saw.error.is_none());
    assert_eq!(text(&saw), "so many words and more");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_text_alone_is_never_continued() {
    let said = || play(texts("one", &["so many words"]), None, End::Break);
    let tool =
        piece("one", json!([{"text": "let me"}, {"functionCall": {"name": "f", "args": {}}}]), None, 1);
    let image = piece("one", json!([{"inlineData": {"mimeType": "image/png", "data": "AA"}}]), None, 1);
    let thought = piece("one", json!([{"text": "hm", "thought": true}]), None, 1);
    let with = |config: &str| BODY.replacen('{', &format!(r#"{{"generationConfig":{config},"#), 1);
    for (body, a) in [
        (BODY.to_owned(), play(vec![tool], None, End::Break)),
        (BODY.to_owned(), play(vec![image], None, End::Break)),
        (BODY.to_owned(), play(vec![thought], None, End::Break)),
        (with(r#"{"candidateCount":2}"#), said()),
        (with(r#"{"responseMimeType":"application/json"}"#), said()),
        (with(r#"{"response_mime_type":"application/json"}"#), said()),
        (with(r#"{"responseModalities":["TEXT","IMAGE"]}"#), said()),
    ] {
        let (saw, b) = gemini(&body, a, whole("two", &["never"])).await;
        assert!(saw.error.is_some(), "{body}");
        assert_eq!(b.calls(), 0, "{body}");
    }
    let plain = with(r#"{"candidateCount":1,"responseMimeType":"text/plain","responseModalities":["TEXT"]}"#);
    let (saw, _) = gemini(&plain, said(), whole("two", &[" more"])).await;
    assert_eq!((text(&saw), saw.error.is_some()), ("so many words more".to_owned(), false));
}

#[tokio::test(start_paused = true)]
async fn a_tool_call_may_follow_and_held_text_goes_first() {
    let a = play(texts("one", &["so many ", "words "]), None, End::Break);
    let call = json!([{"text": "so many"}, {"functionCall": {"name": "f", "args": {"a": 1}}}]);
    let (saw, _) = gemini(BODY, a, play(vec![piece("two", call, Some("STOP"), 2)], None, End::Proper)).await;
    assert!(saw.error.is_none());
    assert_eq!(text(&saw), "so many words so many");
    let last = saw.json().pop().unwrap();
    assert_eq!(last["candidates"][0]["content"]["parts"][1]["functionCall"]["args"]["a"], 1);
}
