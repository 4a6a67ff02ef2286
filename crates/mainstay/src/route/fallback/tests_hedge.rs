//! Two targets for one call.

use super::super::testing::{End, Play, Provider, Watch, chat, request, route};
use super::*;
use crate::route::{CallFailed, HedgeAfter};
use http_body_util::BodyExt;
use mainstay_layers::{classify::Class, retry::Budget};
use std::time::Duration;
use tokio::time::Instant;
use tower::ServiceExt;

const SECOND: Duration = Duration::from_secs(1);
const AFTER: Hedge = Hedge::new(HedgeAfter::Time(Duration::from_secs(2)));

fn answer(text: &str, after: u32) -> Play {
    Play::answer(text).after(SECOND * after)
}

fn hedged(a: &Provider, b: &Provider) -> (Fallback, Arc<Watch>) {
    let (fallback, watch) = route(&[("a", a), ("b", b)]);
    (fallback.with_hedge(AFTER), watch)
}

async fn text(fallback: &Fallback) -> (String, String, u32) {
    let response = fallback.clone().oneshot(chat()).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap().clone();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let text = body["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    (text, served.target.to_string(), served.tries)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_answered_in_time_is_one_call() {
    let (a, b) = (Provider::new([answer("a", 1)]), Provider::new([answer("b", 0)]));
    let (fallback, watch) = hedged(&a, &b);
    assert_eq!(text(&fallback).await, ("a".into(), "a".into(), 1));
    assert_eq!((b.calls(), watch.hedges.lock().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_first_content_wins_and_the_other_call_is_dropped() {
    for (first, second, winner, took) in [(9, 1, "b", 3), (3, 9, "a", 3)] {
        let (a, b) = (Provider::new([answer("a", first)]), Provider::new([answer("b", second)]));
        let (fallback, watch) = hedged(&a, &b);
        let before = Instant::now();
        assert_eq!(text(&fallback).await, (winner.into(), winner.into(), 2));
        assert_eq!(before.elapsed(), SECOND * took);
        assert_eq!((a.calls(), b.calls()), (1, 1));
        assert_eq!(*watch.hedges.lock(), ["b"]);
        a.assert_idle();
        b.assert_idle();
        let mut classes = watch.classes();
        classes.sort_by_key(|(_, class)| class.as_str());
        let loser = if winner == "a" { "b" } else { "a" };
        assert_eq!(classes, [(loser.into(), Class::Cancelled), (winner.into(), Class::Success)]);
        assert_eq!(a.breaker.metrics().failures_in_a_row, 0, "to lose a race is no failure");
    }
}

#[tokio::test(start_paused = true)]
async fn an_early_error_never_wins() {
    // The hedge fails at once; the first target answers late.
    let (a, b) = (Provider::new([answer("a", 9)]), Provider::new([Play::error(500, "x")]));
    let (fallback, _) = hedged(&a, &b);
    assert_eq!(text(&fallback).await.0, "a");
    // The first one fails while the hedge runs, with what would be the end otherwise.
    for status in [500, 400] {
        let (a, b) =
            (Provider::new([Play::error(status, "x").after(SECOND * 3)]), Provider::new([answer("b", 5)]));
        let (fallback, _) = hedged(&a, &b);
        assert_eq!(text(&fallback).await.0, "b", "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_before_the_hedge_is_a_failure_as_ever() {
    let (a, b) = (Provider::new([Play::error(500, "x")]), Provider::new([answer("b", 0)]));
    let (fallback, watch) = hedged(&a, &b);
    assert_eq!(text(&fallback).await, ("b".into(), "b".into(), 2));
    assert!(watch.hedges.lock().is_empty());
    let (a, b) = (Provider::new([Play::error(400, "x")]), Provider::new([answer("b", 0)]));
    let (fallback, _) = hedged(&a, &b);
    assert!(fallback.oneshot(chat()).await.is_err());
    assert_eq!(b.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn if_both_fail_the_third_is_asked_and_nobody_twice() {
    let a = Provider::new([Play::error(500, "x").after(SECOND * 3)]).attempts(1);
    let b = Provider::new([Play::error(500, "x").after(SECOND * 3)]);
    let c = Provider::new([answer("c", 0)]);
    let (fallback, _) = route(&[("a", &a), ("b", &b), ("c", &c)]);
    assert_eq!(text(&fallback.with_hedge(AFTER)).await, ("c".into(), "c".into(), 3));
    assert_eq!((a.calls(), b.calls(), c.calls()), (1, 1, 1));

    let c = Provider::new([Play::error(500, "x")]);
    let (fallback, watch) = route(&[("a", &a), ("b", &b), ("c", &c)]);
    let error = fallback.with_hedge(AFTER).oneshot(chat()).await.unwrap_err();
    let failed = error.downcast::<CallFailed>().unwrap();
    assert_eq!((failed.tries, failed.attempts.len()), (3, 3));
    assert_eq!(watch.classes().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn one_call_has_at_most_one_hedge_unless_more_are_allowed() {
    let silent = || Provider::new([answer("x", 50)]);
    for (max, at_work) in [(1, 2), (2, 3)] {
        let all = [silent(), silent(), silent()];
        let (fallback, watch) = route(&[("a", &all[0]), ("b", &all[1]), ("c", &all[2])]);
        text(&fallback.with_hedge(AFTER.with_max(max))).await;
        assert_eq!(watch.hedges.lock().len(), max);
        assert_eq!(all.iter().map(Provider::calls).sum::<usize>(), at_work);
        all.iter().for_each(Provider::assert_idle);
    }
}

#[tokio::test(start_paused = true)]
async fn hedges_are_paid_from_the_budget_of_their_target() {
    let (a, mut b) = (Provider::new([answer("a", 9)]), Provider::new([answer("b", 0)]));
    b.budget = Some(Budget::new(0.0, 1.0));
    let (fallback, watch) = hedged(&a, &b);
    // All of them come at the same moment: the bucket has one token.
    let calls: Vec<_> = (0..10).map(|_| tokio::spawn(fallback.clone().oneshot(chat()))).collect();
    for call in calls {
        assert!(call.await.unwrap().is_ok());
    }
    let hedges = watch.hedges.lock().len();
    assert!((1..=4).contains(&hedges), "{hedges}");
    assert_eq!(b.calls(), hedges);
}

#[tokio::test(start_paused = true)]
async fn a_target_that_is_down_is_no_hedge() {
    let (a, b) = (Provider::new([answer("a", 9)]), Provider::new([answer("b", 0)]));
    b.breaker.force_open();
    let (fallback, watch) = hedged(&a, &b);
    assert_eq!(text(&fallback).await.0, "a");
    assert_eq!((b.calls(), watch.hedges.lock().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn p95_hedges_only_what_is_slower_than_nearly_all_and_only_when_that_is_known() {
    let a = Provider::new((0..25).map(|_| answer("a", 1)).chain([answer("late", 9)]));
    let b = Provider::new([answer("b", 0)]);
    let (fallback, watch) = route(&[("a", &a), ("b", &b)]);
    let fallback = fallback.with_hedge(Hedge::new(HedgeAfter::P95));
    for _ in 0..25 {
        assert_eq!(text(&fallback).await.0, "a");
    }
    assert!(watch.hedges.lock().is_empty());
    let before = Instant::now();
    assert_eq!(text(&fallback).await.0, "b");
    assert!(before.elapsed() < SECOND * 2);
}

#[tokio::test(start_paused = true)]
async fn streams_are_never_mixed_whichever_wins() {
    let words = |id: &str| {
        let chunk = |text: &str| {
            format!(r#"{{"id":"{id}","choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#)
        };
        let end = format!(r#"{{"id":"{id}","choices":[{{"index":0,"delta":{{}},"finish_reason":"stop"}}]}}"#);
        Play::events(&[&chunk("1"), &chunk("2"), &end, "[DONE]"], End::Proper)
    };
    for (first, second, winner) in [(5, 1, "b"), (3, 3, "a"), (1, 0, "a"), (4, 2, "a")] {
        let a = Provider::new([words("a").after(SECOND * first)]);
        let b = Provider::new([words("b").after(SECOND * second)]);
        let (fallback, _) = hedged(&a, &b);
        let response = fallback
            .oneshot(request("/v1/chat/completions", r#"{"model":"m","stream":true}"#))
            .await
            .unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body = std::str::from_utf8(&body).unwrap();
        assert_eq!(body.matches("\"id\":").count(), 3);
        assert_eq!(body.matches(&format!("\"id\":\"{winner}\"")).count(), 3, "{body}");
        a.assert_idle();
        b.assert_idle();
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_billed_once_whoever_wins() {
    let told = |text: &str, tokens: u64| {
        let body = serde_json::json!({
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": tokens, "completion_tokens": 1},
        });
        Play::json(200, body.to_string())
    };
    for (first, second, winner, tokens) in [(9, 1, "b", 200), (3, 9, "a", 100)] {
        let a = Provider::new([told("a", 100).after(SECOND * first)]);
        let b = Provider::new([told("b", 200).after(SECOND * second)]);
        let (fallback, _) = hedged(&a, &b);
        let (cell, log) = (crate::judge::UsageCell::default(), crate::route::AttemptLog::default());
        let mut request = chat();
        request.extensions_mut().insert(cell.clone());
        request.extensions_mut().insert(log.clone());
        fallback.oneshot(request).await.unwrap().into_body().collect().await.unwrap();
        assert_eq!(cell.get().input, Some(tokens));
        let spent = log.spent();
        assert_eq!(
            (spent.len(), spent[0].target.to_string(), spent[0].usage.input),
            (1, winner.into(), Some(tokens))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_drops_both() {
    for after in [1, 3, 5] {
        let (a, b) = (Provider::new([answer("a", 9)]), Provider::new([answer("b", 9)]));
        let (fallback, watch) = hedged(&a, &b);
        assert!(tokio::time::timeout(SECOND * after, fallback.oneshot(chat())).await.is_err());
        a.assert_idle();
        b.assert_idle();
        assert!(watch.classes().iter().all(|(_, class)| *class == Class::Cancelled));
        assert_eq!(watch.classes().len(), a.calls() + b.calls());
    }
}
