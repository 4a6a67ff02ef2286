//! Old answers: whose, when, and when not.

use super::{
    super::{
        CallFailed, Fallback, Served,
        testing::{Play, Provider, request, route},
    },
    *,
};
use crate::body::RequestBody;
use http::{Request, Response};
use http_body_util::BodyExt;
use mainstay_layers::deadline::Deadline;
use tower::ServiceExt;

const HOUR: Duration = Duration::from_secs(3600);
const PATH: &str = "/v1/chat/completions";
const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":1}"#;

fn kept(provider: &Provider, serve: Serve) -> Fallback {
    let (fallback, _) = route(&[("a", provider)]);
    fallback.with_cache(AnswerCache::new(MemoryStore::new(1 << 20, HOUR), serve))
}

fn from(who: &str, body: &str) -> Request<RequestBody> {
    let mut request = request(PATH, body);
    request.headers_mut().insert("authorization", format!("Bearer {who}").parse().unwrap());
    request
}

async fn ask(
    fallback: &Fallback,
    request: Request<RequestBody>,
) -> Result<(String, Option<Cached>), CallFailed> {
    let response: Response<super::super::ReplyBody> =
        fallback.clone().oneshot(request).await.map_err(|error| *error.downcast::<CallFailed>().unwrap())?;
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.extensions().get::<Served>().unwrap().target.to_string(), "a");
    let cached = response.extensions().get::<Cached>().copied();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    Ok((body["choices"][0]["message"]["content"].as_str().unwrap().to_owned(), cached))
}

fn one_then(status: u16) -> Provider {
    Provider::new([Play::answer("first"), Play::error(status, "x")])
}

#[tokio::test(start_paused = true)]
async fn when_all_fail_the_last_good_answer_is_given_and_marked() {
    let a = Provider::new([Play::answer("first"), Play::answer("second"), Play::error(500, "x")]);
    let fallback = kept(&a, Serve::OnFailure);
    assert_eq!(ask(&fallback, from("me", BODY)).await.unwrap(), ("first".into(), None));
    assert_eq!(ask(&fallback, from("me", BODY)).await.unwrap(), ("second".into(), None));
    tokio::time::advance(Duration::from_secs(7)).await;
    let (text, cached) = ask(&fallback, from("me", BODY)).await.unwrap();
    let cached = cached.unwrap();
    assert_eq!((text.as_str(), cached.age.as_secs(), cached.stale), ("second", 7, true));
    assert_eq!(a.calls(), 3, "it was asked first");
    tokio::time::advance(HOUR).await;
    assert!(ask(&fallback, from("me", BODY)).await.is_err(), "it is too old");
    a.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn always_asks_nobody_while_the_answer_is_young() {
    let a = Provider::new([Play::answer("first"), Play::answer("second")]);
    let fallback = kept(&a, Serve::Always);
    for _ in 0..3 {
        assert_eq!(ask(&fallback, from("me", BODY)).await.unwrap().0, "first");
    }
    assert_eq!(a.calls(), 1);
    tokio::time::advance(HOUR).await;
    assert_eq!(ask(&fallback, from("me", BODY)).await.unwrap(), ("second".into(), None));
}

#[tokio::test(start_paused = true)]
async fn nobody_gets_another_callers_answer() {
    let a = one_then(500);
    let fallback = kept(&a, Serve::Always);
    ask(&fallback, from("me", BODY)).await.unwrap();
    assert!(ask(&fallback, from("you", BODY)).await.is_err());
    assert!(ask(&fallback, request(PATH, BODY)).await.is_err(), "nor does one without a credential");
    let mut other_form = request(PATH, BODY);
    other_form.headers_mut().insert("x-api-key", "you".parse().unwrap());
    assert!(ask(&fallback, other_form).await.is_err());
    assert!(ask(&fallback, from("me", BODY)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn nobody_gets_the_answer_to_another_question() {
    let a = one_then(500);
    let fallback = kept(&a, Serve::Always);
    ask(&fallback, from("me", BODY)).await.unwrap();
    for other in [
        BODY.replace("hi", "ho"),
        BODY.replace("\"m\"", "\"n\""),
        BODY.replace(":1}", ":1.5}"),
        BODY.replace(":1}", ":1,\"seed\":7}"),
        BODY.replace("user", "system"),
    ] {
        assert!(ask(&fallback, from("me", &other)).await.is_err(), "{other}");
    }
    let mut beta = from("me", BODY);
    beta.headers_mut().insert("anthropic-beta", "x".parse().unwrap());
    assert!(ask(&fallback, beta).await.is_err());
    let mut path = from("me", BODY);
    *path.uri_mut() = "/v1/responses".parse().unwrap();
    assert!(ask(&fallback, path).await.is_err());
    // The same question in another order of fields is the same.
    let same = r#"{"temperature": 1, "messages":[{"role":"user","content":"hi"}], "model":"m"}"#;
    assert!(ask(&fallback, from("me", same)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_mistake_or_a_refused_key_is_never_covered() {
    for status in [400, 401, 403, 404, 413] {
        let fallback = kept(&one_then(status), Serve::OnFailure);
        ask(&fallback, from("me", BODY)).await.unwrap();
        let failed = ask(&fallback, from("me", BODY)).await.unwrap_err();
        assert_eq!(failed.status.as_u16(), status);
    }
    for status in [402, 429, 500, 503] {
        let fallback = kept(&one_then(status), Serve::OnFailure);
        ask(&fallback, from("me", BODY)).await.unwrap();
        assert!(ask(&fallback, from("me", BODY)).await.is_ok(), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_is_covered_too() {
    let a = one_then(500);
    let fallback = kept(&a, Serve::OnFailure);
    ask(&fallback, from("me", BODY)).await.unwrap();
    a.breaker.force_open();
    assert!(ask(&fallback, from("me", BODY)).await.unwrap().1.unwrap().stale);
    assert_eq!(a.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn failures_are_not_kept() {
    let fallback = kept(&Provider::new([Play::error(500, "x")]), Serve::Always);
    assert!(ask(&fallback, from("me", BODY)).await.is_err());
    assert!(ask(&fallback, from("me", BODY)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn what_is_larger_than_an_entry_may_be_passes_and_is_not_kept() {
    let (fallback, _) = route(&[("a", &Provider::new([Play::answer("first"), Play::answer("second")]))]);
    let cache = AnswerCache::new(MemoryStore::new(1 << 20, HOUR), Serve::Always).with_max_entry(20);
    let fallback = fallback.with_cache(cache);
    for text in ["first", "second"] {
        assert_eq!(ask(&fallback, from("me", BODY)).await.unwrap(), (text.into(), None));
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_has_nothing_and_holds_nobody_up_for_long() {
    struct Hangs;
    impl AnswerStore for Hangs {
        fn get(&self, _: CacheKey) -> StoreFuture<'_, Option<Answer>> {
            Box::pin(std::future::pending())
        }
        fn put(&self, _: CacheKey, _: Answer) -> StoreFuture<'_, ()> {
            Box::pin(std::future::pending())
        }
    }
    let a = one_then(500);
    let (fallback, _) = route(&[("a", &a)]);
    let fallback = fallback.with_cache(AnswerCache::new(Hangs, Serve::Always));
    let before = tokio::time::Instant::now();
    assert_eq!(ask(&fallback, from("me", BODY)).await.unwrap().0, "first");
    assert!(ask(&fallback, from("me", BODY)).await.is_err());
    assert!(before.elapsed() <= Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn when_the_deadline_is_over_the_last_good_answer_is_given_too() {
    let slow = Play::answer("late").after(Duration::from_secs(50));
    for plays in [[Play::answer("first"), slow], [Play::answer("first"), Play::Silence]] {
        let a = Provider::new(plays);
        let fallback = kept(&a, Serve::OnFailure);
        let late = || {
            let mut request = from("me", BODY);
            request.extensions_mut().insert(Deadline::after(Duration::from_secs(3)));
            request
        };
        ask(&fallback, late()).await.unwrap();
        let before = tokio::time::Instant::now();
        let (text, cached) = ask(&fallback, late()).await.unwrap();
        assert_eq!((text.as_str(), cached.unwrap().stale), ("first", true));
        assert_eq!(before.elapsed(), Duration::from_secs(3));
        a.assert_idle();
        // Another question has no answer yet.
        let mut other = from("me", &BODY.replace("hi", "ho"));
        other.extensions_mut().insert(Deadline::after(Duration::from_secs(3)));
        assert_eq!(ask(&fallback, other).await.unwrap_err().code, Some("deadline_exceeded"));
    }
}

/// A stack without any timer.
#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_stack_that_has_no_timer_of_its_own() {
    let hangs = tower::service_fn(|_: Request<RequestBody>| {
        std::future::pending::<Result<Response<http_body_util::Full<bytes::Bytes>>, std::convert::Infallible>>(
        )
    });
    let fallback = Fallback::new([super::super::Target::new(TargetName::parse("a"), hangs)]);
    let mut request = from("me", BODY);
    request.extensions_mut().insert(Deadline::after(Duration::from_secs(3)));
    let before = tokio::time::Instant::now();
    assert_eq!(ask(&fallback, request).await.unwrap_err().code, Some("deadline_exceeded"));
    assert_eq!(before.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_caller_can_keep_its_call_out() {
    let with = |word: &'static str| {
        let mut request = from("me", BODY);
        request.headers_mut().insert("cache-control", word.parse().unwrap());
        request
    };
    let a = Provider::new([Play::answer("first"), Play::answer("second"), Play::answer("third")]);
    let fallback = kept(&a, Serve::Always);
    ask(&fallback, with("max-age=0, no-store")).await.unwrap();
    assert_eq!(ask(&fallback, from("me", BODY)).await.unwrap(), ("second".into(), None));
    assert_eq!(ask(&fallback, with("No-Cache")).await.unwrap(), ("third".into(), None));
    assert_eq!(ask(&fallback, from("me", BODY)).await.unwrap().0, "third");
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_is_bounded() {
    let store = MemoryStore::new(10_000, HOUR);
    let answer = |size: usize| Answer {
        status: StatusCode::OK,
        content_type: HeaderValue::from_static("application/json"),
        body: vec![b'x'; size].into(),
        target: Arc::new(TargetName::parse("a")),
        model: "m".into(),
        age: Duration::ZERO,
    };
    let mut keys = Vec::new();
    for n in 0..100 {
        let (parts, body) = from("me", &BODY.replace("hi", &n.to_string())).into_parts();
        let key = CacheKey::of(&parts, &body).unwrap();
        store.put(key, answer(1000)).await;
        keys.push(key);
    }
    store.answers_for_test().run_pending_tasks();
    let mut left = 0;
    for key in keys {
        left += usize::from(store.get(key).await.is_some());
    }
    assert!((1..=6).contains(&left), "{left}");
}
