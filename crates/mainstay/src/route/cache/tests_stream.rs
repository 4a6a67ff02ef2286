//! Streams that are kept, and the ways in which that could hurt.

use super::{
    super::{
        Fallback, ReplyBody,
        testing::{End, Play, Provider, request, route},
    },
    *,
};
use crate::{body::RequestBody, judge::UsageCell};
use http::{Request, Response};
use http_body_util::BodyExt;
use mainstay_layers::BoxError;
use tower::ServiceExt;

const HOUR: Duration = Duration::from_secs(3600);
const PATH: &str = "/v1/chat/completions";
const BODY: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
const USAGE: &str = r#"{"id":"x","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}"#;

fn chunk(text: &str, finish: &str) -> String {
    format!(
        r#"{{"id":"x","choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":{finish}}}]}}"#
    )
}

/// A stream of these words that ends so.
fn words(words: &[&str], end: End) -> Play {
    let mut chunks: Vec<String> = words.iter().map(|word| chunk(word, "null")).collect();
    if end == End::Proper {
        chunks.extend([chunk("", "\"stop\""), USAGE.to_owned(), "[DONE]".to_owned()]);
    }
    Play::events(&chunks.iter().map(String::as_str).collect::<Vec<_>>(), end)
}

fn kept(provider: &Provider, serve: Serve) -> Fallback {
    let (fallback, _) = route(&[("a", provider)]);
    fallback.with_cache(AnswerCache::new(MemoryStore::new(1 << 20, HOUR), serve))
}

fn from(who: &str) -> Request<RequestBody> {
    let mut request = request(PATH, BODY);
    request.headers_mut().insert("authorization", format!("Bearer {who}").parse().unwrap());
    request
}

async fn call(fallback: &Fallback, request: Request<RequestBody>) -> Result<Response<ReplyBody>, BoxError> {
    fallback.clone().oneshot(request).await
}

/// All of a stream, whether it ended well, and whether it was kept.
async fn read(fallback: &Fallback, who: &str) -> Option<(String, bool, Option<Cached>)> {
    let response = call(fallback, from(who)).await.ok()?;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let cached = response.extensions().get::<Cached>().copied();
    let (mut body, mut text, mut well) = (response.into_body(), String::new(), true);
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => text += std::str::from_utf8(&frame.into_data().unwrap()).unwrap(),
            Err(_) => well = false,
        }
    }
    Some((text, well, cached))
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ended_whole_is_given_as_it_was_byte_for_byte() {
    for serve in [Serve::OnFailure, Serve::Always] {
        let a = Provider::new([words(&["one ", "two"], End::Proper), Play::error(500, "x")]);
        let fallback = kept(&a, serve);
        let (first, well, cached) = read(&fallback, "me").await.unwrap();
        assert!(well && cached.is_none() && first.ends_with("data: [DONE]\n\n"));
        tokio::time::advance(Duration::from_secs(9)).await;
        let (again, well, cached) = read(&fallback, "me").await.unwrap();
        assert!(well);
        assert_eq!(again, first);
        let cached = cached.unwrap();
        assert_eq!((cached.age.as_secs(), cached.stale), (9, serve == Serve::OnFailure));
        assert_eq!(a.calls(), if serve == Serve::Always { 1 } else { 2 });
        a.assert_idle();
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_was_cut_is_never_kept() {
    for end in [End::Break, End::Hang] {
        let a = Provider::new([words(&["one ", "two"], end), Play::error(500, "x")]);
        let fallback = kept(&a, Serve::Always);
        assert!(!read(&fallback, "me").await.unwrap().1, "it ended in an error");
        assert!(read(&fallback, "me").await.is_none());
    }
    // One that ends without having said so.
    let cut = Play::events(&[&chunk("one", "null")], End::Proper);
    let fallback = kept(&Provider::new([cut, Play::error(500, "x")]), Serve::Always);
    assert!(!read(&fallback, "me").await.unwrap().1);
    assert!(read(&fallback, "me").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn nor_is_one_whose_caller_left() {
    let slow = words(&["one ", "two"], End::Proper).pause_before_each(Duration::from_secs(1));
    let a = Provider::new([slow, Play::error(500, "x")]);
    let fallback = kept(&a, Serve::Always);
    let mut body = call(&fallback, from("me")).await.unwrap().into_body();
    body.frame().await.unwrap().unwrap();
    drop(body);
    a.assert_idle();
    assert!(read(&fallback, "me").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn nor_is_one_that_two_targets_gave() {
    let a = Provider::new([words(&["one two three "], End::Break), Play::error(500, "x")]);
    let b = Provider::new([words(&["four"], End::Proper), Play::error(500, "x")]);
    let (fallback, watch) = route(&[("a", &a), ("b", &b)]);
    let cache = AnswerCache::new(MemoryStore::new(1 << 20, HOUR), Serve::Always);
    let fallback = fallback.with_recovery(true).with_cache(cache);
    let (text, well, _) = read(&fallback, "me").await.unwrap();
    assert!(well && text.contains("four"), "{text}");
    assert_eq!(watch.recoveries.lock().len(), 1);
    assert!(read(&fallback, "me").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn nor_one_that_is_longer_than_an_entry_may_be() {
    let a = Provider::new([words(&["one ", "two"], End::Proper), Play::error(500, "x")]);
    let (fallback, _) = route(&[("a", &a)]);
    let cache = AnswerCache::new(MemoryStore::new(1 << 20, HOUR), Serve::Always).with_max_entry(100);
    let fallback = fallback.with_cache(cache);
    assert!(read(&fallback, "me").await.unwrap().1, "it passes all the same");
    assert!(read(&fallback, "me").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn nobody_gets_another_callers_stream_nor_a_stream_for_a_whole_answer() {
    let a = Provider::new([words(&["one"], End::Proper), Play::error(500, "x")]);
    let fallback = kept(&a, Serve::Always);
    read(&fallback, "me").await.unwrap();
    assert!(read(&fallback, "you").await.is_none());
    for other in
        [BODY.replace("true", "false"), BODY.replace("\"stream\":true,", ""), BODY.replace("hi", "ho")]
    {
        let mut request = request(PATH, &other);
        request.headers_mut().insert("authorization", "Bearer me".parse().unwrap());
        assert!(call(&fallback, request).await.is_err(), "{other}");
    }
    let mut forbids = from("me");
    forbids.headers_mut().insert("cache-control", "no-store".parse().unwrap());
    assert!(call(&fallback, forbids).await.is_err());
    assert!(read(&fallback, "me").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_kept_answer_spends_no_tokens() {
    let a = Provider::new([words(&["one"], End::Proper), Play::error(500, "x")]);
    let fallback = kept(&a, Serve::Always);
    for (tokens, parts) in [(Some(7), 1), (None, 0)] {
        let mut request = from("me");
        let (cell, log) = (UsageCell::default(), super::super::AttemptLog::default());
        request.extensions_mut().insert(cell.clone());
        request.extensions_mut().insert(log.clone());
        call(&fallback, request).await.unwrap().into_body().collect().await.unwrap();
        assert_eq!((cell.get().input, log.spent().len()), (tokens, parts));
    }
}

#[tokio::test(start_paused = true)]
async fn each_target_that_gave_a_part_of_an_answer_is_named_with_its_own_tokens() {
    let told = |text: &str, input: u64| {
        let mut fields: serde_json::Value = serde_json::from_str(&chunk(text, "null")).unwrap();
        fields["usage"] = serde_json::json!({"prompt_tokens": input, "completion_tokens": 3});
        fields.to_string()
    };
    let cut = Play::events(&[&told("one two three ", 5)], End::Break);
    let a = Provider::new([cut]);
    let b = Provider::new([words(&["four"], End::Proper)]);
    let (fallback, _) = route(&[("a", &a), ("b/m-2", &b)]);
    let mut request = from("me");
    let (cell, log) = (UsageCell::default(), super::super::AttemptLog::default());
    request.extensions_mut().insert(cell.clone());
    request.extensions_mut().insert(log.clone());
    call(&fallback.with_recovery(true), request).await.unwrap().into_body().collect().await.unwrap();
    let spent = log.spent();
    let spent: Vec<_> =
        spent.iter().map(|one| (one.target.to_string(), &*one.model, one.usage.input)).collect();
    assert_eq!(spent, [("a".into(), "m", Some(5)), ("b/m-2".into(), "m-2", Some(7))]);
    assert_eq!((cell.get().input, cell.get().output), (Some(12), Some(5)));
}
