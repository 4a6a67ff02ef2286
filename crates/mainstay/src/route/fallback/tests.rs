//! Calls over whole stacks of several targets, on paused time.

use super::super::{
    CallFailed, ModelNotFound, Router, Target,
    testing::{End, Play, Provider, Watch, chat, request, route},
};
use super::*;
use crate::{dialect::ErrorFamily, peek::Call};
use http::StatusCode;
use http_body_util::BodyExt;
use mainstay_layers::{classify::Class, deadline::Deadline, retry::NextTarget};
use std::time::Duration;
use tower::ServiceExt;

const SECOND: Duration = Duration::from_secs(1);

async fn ask_all(fallback: &Fallback) -> Result<Response<ReplyBody>, CallFailed> {
    ask_for(fallback, chat()).await
}

async fn ask_for(
    fallback: &Fallback,
    request: Request<RequestBody>,
) -> Result<Response<ReplyBody>, CallFailed> {
    fallback.clone().oneshot(request).await.map_err(|error| *error.downcast::<CallFailed>().unwrap())
}

async fn text(response: Response<ReplyBody>) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    body["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

fn stream() -> Request<RequestBody> {
    request("/v1/chat/completions", r#"{"model":"m","stream":true}"#)
}

fn classes(failed: &CallFailed) -> Vec<&'static str> {
    failed.attempts.iter().map(|attempt| attempt.class).collect()
}

fn well(text: &str) -> Provider {
    Provider::new([Play::answer(text)])
}

fn ill(status: u16) -> Provider {
    Provider::new([Play::error(status, "no")])
}

#[tokio::test(start_paused = true)]
async fn targets_are_asked_in_order_and_the_first_answer_is_the_callers() {
    let (a, b, c) = (ill(500), well("b"), well("c"));
    let (fallback, watch) = route(&[("a", &a), ("b/m-2", &b), ("c", &c)]);
    let response = ask_all(&fallback).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap().clone();
    assert_eq!((served.target.to_string(), &*served.model, served.tries), ("b/m-2".into(), "m-2", 2));
    assert_eq!(text(response).await, "b");
    assert_eq!((a.calls(), b.calls(), c.calls()), (1, 1, 0));
    assert_eq!((&a.bodies()[0]["model"], &b.bodies()[0]["model"]), (&"m".into(), &"m-2".into()));
    assert_eq!(*watch.fallbacks.lock(), ["a"]);
    assert_eq!(watch.classes(), [("a".into(), Class::ServerError), ("b/m-2".into(), Class::Success)]);
}

#[tokio::test(start_paused = true)]
async fn the_callers_own_mistakes_go_to_nobody_else() {
    for play in [
        Play::error(400, "temperature must be positive"),
        Play::error(422, "what"),
        Play::json(400, r#"{"error":{"message":"flagged","code":"content_policy_violation"}}"#),
    ] {
        let (a, b) = (Provider::new([play]).attempts(3), well("b"));
        let (fallback, watch) = route(&[("a", &a), ("b", &b)]);
        let failed = ask_all(&fallback).await.unwrap_err();
        assert_eq!((a.calls(), b.calls(), failed.tries), (1, 0, 1));
        assert!(failed.reply.is_some() && failed.status.is_client_error());
        assert!(watch.fallbacks.lock().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn what_concerns_one_target_goes_to_the_next() {
    for status in [401, 402, 403, 404, 413, 429, 500, 503, 529] {
        let (a, b) = (ill(status), well("b"));
        let (fallback, _) = route(&[("a", &a), ("b", &b)]);
        assert!(ask_all(&fallback).await.is_ok(), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_a_cooling_and_an_unfit_target_are_passed_by_without_a_call() {
    let (a, b, c, d) = (well("a"), well("b"), well("c"), well("d"));
    a.breaker.force_open();
    let watch = Arc::new(Watch::default());
    let unfit = c.target("c", &watch).with_calls(|call: &Call| call.family == ErrorFamily::Anthropic);
    let cooling = b.target("b", &watch);
    let wait = mainstay_layers::classify::Verdict::new(Class::RateLimited).with_wait(Some(SECOND));
    cooling.cool(StatusCode::TOO_MANY_REQUESTS, &wait, true, &"m".into());
    let targets = [a.target("a", &watch), cooling, unfit, d.target("d", &watch)];
    let fallback = Fallback::new(targets);
    assert_eq!(text(ask_all(&fallback).await.unwrap()).await, "d");
    assert_eq!((a.calls(), b.calls(), c.calls(), d.calls()), (0, 0, 0, 1));

    tokio::time::advance(SECOND).await;
    assert_eq!(text(ask_all(&fallback).await.unwrap()).await, "b");
    a.breaker.force_close();
    assert_eq!(text(ask_all(&fallback).await.unwrap()).await, "a");
}

#[tokio::test(start_paused = true)]
async fn if_all_are_passed_by_the_caller_is_told_at_once_of_the_one_that_comes_back_first() {
    let (a, b) = (ill(429), ill(503));
    let (fallback, _) = route(&[("a", &a), ("b", &b)]);
    let targets = fallback.targets();
    let wait = |seconds: u32| {
        mainstay_layers::classify::Verdict::new(Class::RateLimited).with_wait(Some(SECOND * seconds))
    };
    targets[0].cool(StatusCode::TOO_MANY_REQUESTS, &wait(7), true, &"m".into());
    b.breaker.force_open();
    let failed = ask_all(&fallback).await.unwrap_err();
    assert_eq!((failed.status, failed.code), (StatusCode::TOO_MANY_REQUESTS, Some("rate_limited")));
    assert_eq!(failed.retry_after, Some(SECOND * 7));
    assert_eq!((failed.tries, classes(&failed)), (0, vec!["cooling", "circuit_open"]));

    targets[0].cool(StatusCode::TOO_MANY_REQUESTS, &wait(90), true, &"m".into());
    let failed = ask_all(&fallback).await.unwrap_err();
    assert_eq!((failed.status, failed.code), (StatusCode::SERVICE_UNAVAILABLE, Some("circuit_open")));
    assert!(failed.retry_after.unwrap() <= SECOND * 30);
    assert_eq!((a.calls(), b.calls()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_dialect_that_no_target_has_is_the_callers_mistake() {
    let watch = Arc::new(Watch::default());
    let a = well("a");
    let fallback = Fallback::new([a.target("a", &watch).with_calls(|_| false)]);
    let failed = ask_all(&fallback).await.unwrap_err();
    assert_eq!((failed.status, failed.code), (StatusCode::BAD_REQUEST, Some("unsupported_by_target")));
    assert_eq!((failed.retry_after, a.calls()), (None, 0));
}

#[tokio::test(start_paused = true)]
async fn whatever_fails_there_are_at_most_attempts_times_targets_tries() {
    let plays = [
        Play::Silence,
        Play::Refuse,
        Play::error(500, "x"),
        Play::error(503, "x").header("retry-after", "1"),
        Play::error(429, "x"),
        Play::error(404, "x"),
        Play::json(200, ""),
        Play::json(200, r#"{"error":{"message":"x","code":500}}"#),
        Play::events(&[], End::Break),
        Play::events(&[], End::Hang),
    ];
    for one in &plays {
        for two in &plays {
            let a = Provider::new([one.clone()]).attempts(3);
            let b = Provider::new([two.clone()]).attempts(2);
            let (fallback, watch) = route(&[("a", &a), ("b", &b)]);
            let failed = ask_all(&fallback).await.unwrap_err();
            assert!((1..=3).contains(&a.calls()) && (1..=2).contains(&b.calls()), "{one:?} {two:?}");
            assert_eq!(failed.tries as usize, a.calls() + b.calls());
            // Each try is told once, and has ended.
            assert_eq!(watch.classes().len(), a.calls() + b.calls());
            a.assert_idle();
            b.assert_idle();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_status_is_that_of_the_last_provider_that_replied_in_full() {
    let limited = || Play::error(429, "slow down").header("retry-after", "90");
    for (one, two, status, code, wait) in [
        (limited(), Play::Refuse, 429, None, Some(90)),
        (Play::Refuse, limited(), 429, None, Some(90)),
        (limited(), Play::error(500, "x"), 500, None, None),
        (Play::error(500, "x"), limited(), 429, None, Some(90)),
        (Play::Refuse, Play::Refuse, 502, Some("upstream_unreachable"), None),
        (Play::Refuse, Play::json(200, "<html>"), 502, Some("upstream_malformed"), None),
        (Play::Refuse, Play::events(&[], End::Hang), 504, Some("idle_timeout"), None),
    ] {
        let (a, b) = (Provider::new([one]), Provider::new([two]));
        let (fallback, _) = route(&[("a", &a), ("b", &b)]);
        let failed = ask_for(&fallback, request("/v1/chat/completions", r#"{"model":"m","stream":true}"#))
            .await
            .unwrap_err();
        assert_eq!((failed.status.as_u16(), failed.code), (status, code), "{:?}", failed.attempts);
        assert_eq!(failed.retry_after.map(|wait| wait.as_secs()), wait);
        assert_eq!(failed.attempts.len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_last_target_does_not_hide_what_the_one_before_said() {
    let (a, b) = (ill(500), well("b"));
    b.breaker.force_open();
    let (fallback, watch) = route(&[("a", &a), ("b", &b)]);
    let failed = ask_all(&fallback).await.unwrap_err();
    assert_eq!(failed.status.as_u16(), 500);
    assert_eq!(classes(&failed), ["server_error", "circuit_open"]);
    assert!(watch.fallbacks.lock().is_empty(), "nobody was there to fall back to");
}

#[tokio::test(start_paused = true)]
async fn a_target_is_told_whether_another_one_is_left() {
    let (a, b, c) = (ill(500), ill(500), well("c"));
    c.breaker.force_open();
    let (fallback, _) = route(&[("a", &a), ("b", &b), ("c", &c)]);
    ask_all(&fallback).await.unwrap_err();
    let told = |provider: &Provider| provider.got.lock()[0].next;
    assert_eq!((told(&a), told(&b)), (Some(NextTarget(true)), Some(NextTarget(false))));
}

#[tokio::test(start_paused = true)]
async fn a_silent_target_is_asked_once_while_another_is_left_and_the_last_one_keeps_its_tries() {
    let (a, b) = (
        Provider::new([Play::events(&[], End::Hang)]).attempts(3),
        Provider::new([Play::events(&[], End::Hang)]).attempts(3),
    );
    let (fallback, _) = route(&[("a", &a), ("b", &b)]);
    ask_for(&fallback, stream()).await.unwrap_err();
    assert_eq!((a.calls(), b.calls()), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn no_target_is_asked_after_the_deadline() {
    let (a, b) = (Provider::new([Play::error(500, "x").after(SECOND * 2)]), well("b"));
    let (fallback, _) = route(&[("a", &a), ("b", &b)]);
    let mut late = chat();
    late.extensions_mut().insert(Deadline::after(SECOND));
    let failed = ask_for(&fallback, late).await.unwrap_err();
    assert_eq!(b.calls(), 0);
    // The timer of the call's own stack was first.
    assert_eq!((failed.status.as_u16(), failed.code), (504, Some("deadline_exceeded")));

    let (a, b) = (well("a"), well("b"));
    let (fallback, _) = route(&[("a", &a), ("b", &b)]);
    let mut late = chat();
    late.extensions_mut().insert(Deadline::after(Duration::ZERO));
    let failed = ask_for(&fallback, late).await.unwrap_err();
    assert_eq!((failed.code, failed.tries, a.calls()), (Some("deadline_exceeded"), 0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_last_target_cools_too_while_another_one_would_answer() {
    let (a, b) = (Provider::new([Play::error(500, "x"), Play::answer("a")]), ill(401));
    let (fallback, _) = route(&[("a", &a), ("b", &b)]);
    ask_all(&fallback).await.unwrap_err();
    assert!(fallback.targets()[1].cooling_for("m").is_some());
    assert_eq!(text(ask_all(&fallback).await.unwrap()).await, "a");
}

#[tokio::test(start_paused = true)]
async fn a_lone_target_with_a_refused_key_is_asked_again_and_a_wait_is_kept_to() {
    let a = Provider::new([
        Play::error(401, "bad key"),
        Play::error(429, "x").header("retry-after", "300"),
        Play::answer("a"),
    ]);
    let (fallback, _) = route(&[("a", &a)]);
    ask_all(&fallback).await.unwrap_err();
    ask_all(&fallback).await.unwrap_err();
    tokio::time::advance(SECOND * 100).await;
    let failed = ask_all(&fallback).await.unwrap_err();
    assert_eq!((a.calls(), failed.status.as_u16(), failed.tries), (2, 429, 0));
    assert_eq!(failed.retry_after, Some(SECOND * 200));
    tokio::time::advance(SECOND * 201).await;
    assert!(ask_all(&fallback).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_is_recorded_once_and_frees_everything_at_every_await_point() {
    let wait = Duration::from_millis(100);
    let chunks = [
        r#"{"choices":[{"index":0,"delta":{"role":"assistant"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"x"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"y"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    ];
    let mut ends = Vec::new();
    for polls in 0..20 {
        // A failure, a sleep of a second before the second try, a failure, a stream of the next target.
        let a =
            Provider::new([Play::error(500, "x").after(wait), Play::error(500, "x").after(wait)]).attempts(2);
        let b = Provider::new([Play::events(&chunks, End::Proper).after(wait).pause_before_each(wait)]);
        let (fallback, watch) = route(&[("a", &a), ("b", &b)]);
        let call = async {
            let mut body = ask_for(&fallback, stream()).await.unwrap().into_body();
            while body.frame().await.is_some() {}
        };
        let whole = tokio::time::timeout(wait * polls + wait / 2, call).await.is_ok();
        a.assert_idle();
        b.assert_idle();
        let classes = watch.classes();
        assert_eq!(classes.len(), a.calls() + b.calls(), "each try ends once: {classes:?}");
        let cancelled = classes.iter().filter(|(_, class)| *class == Class::Cancelled).count();
        // In the sleep between two tries there is no try to cancel.
        assert_eq!(cancelled, usize::from(!whole && !(1..11).contains(&polls)), "{polls}: {classes:?}");
        assert_eq!(a.breaker.metrics().probes_in_flight, 0);
        ends.push(whole);
    }
    assert!(ends.contains(&false) && ends.contains(&true));
}

#[tokio::test(start_paused = true)]
async fn exact_name_then_pattern_then_provider_and_model() {
    let (a, b) = (well("a"), well("b"));
    let watch = Arc::new(Watch::default());
    let (fast, slow) = (Fallback::new([a.target("a", &watch)]), Fallback::new([b.target("b", &watch)]));
    let router = Router::builder()
        .route("gpt-*", slow)
        .route("gpt-5", fast)
        .provider("b", b.target("b", &watch))
        .build();
    for (model, provider, asked) in
        [("gpt-5", &a, "gpt-5"), ("gpt-4", &b, "gpt-4"), ("b/meta/llama", &b, "meta/llama")]
    {
        let body = format!(r#"{{"messages":[],"model":"{model}"}}"#);
        let response = router.clone().oneshot(request("/v1/chat/completions", &body)).await.unwrap();
        assert!(response.status().is_success());
        assert_eq!(provider.bodies().last().unwrap()["model"], asked);
        assert_eq!(&*response.extensions().get::<Served>().unwrap().model, asked);
    }
    for model in ["x", "b/", "c/model", "b"] {
        let body = format!(r#"{{"model":"{model}"}}"#);
        let error = router.clone().oneshot(request("/v1/chat/completions", &body)).await.unwrap_err();
        let error = error.downcast::<ModelNotFound>().unwrap();
        assert_eq!(error.known, ["gpt-5", "gpt-*", "b/<model>"], "{model}");
    }
    // Whatever callers name, the labels are those of the configuration.
    assert!(watch.classes().iter().all(|(name, _)| ["a", "b"].contains(&name.as_str())));
}

#[tokio::test(start_paused = true)]
async fn a_target_that_is_listed_twice_is_no_other_target() {
    let a = ill(401);
    let (fallback, _) = route(&[("a", &a), ("a", &a)]);
    let shared = fallback.targets()[0].clone();
    let fallback = Fallback::new([shared.clone(), shared]);
    ask_all(&fallback).await.unwrap_err();
    assert!(fallback.targets()[0].cooldown().cooling().is_none());
}

#[tokio::test]
async fn a_route_without_targets_says_so() {
    let fallback = Fallback::new(Vec::<Target>::new());
    let failed = ask_all(&fallback).await.unwrap_err();
    assert_eq!((failed.status.as_u16(), failed.tries), (503, 0));
}
