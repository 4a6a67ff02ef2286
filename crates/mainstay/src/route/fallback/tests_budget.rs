//! What fallbacks take from the budget.

use super::super::testing::{End, Play, Provider, chat, request, route};
use super::*;
use http_body_util::BodyExt;
use mainstay_layers::{classify::Verdict, retry::Budget};
use std::time::Duration;
use tower::ServiceExt;

/// Full: ten tokens, and none that come by themselves.
fn full() -> Budget {
    let budget = Budget::new(1.0, 0.0);
    budget.deposit(10.0);
    budget
}

fn paying(plays: impl IntoIterator<Item = Play>, budget: &Budget, attempts: u32) -> Provider {
    Provider::new(plays).attempts(attempts).paying(budget)
}

fn ill() -> Play {
    Play::error(500, "x")
}

#[tokio::test(start_paused = true)]
async fn a_fallback_after_a_failed_try_takes_one_token_of_the_failed_target() {
    let (one, two) = (full(), full());
    let a = paying([ill()], &one, 1);
    let b = paying([Play::answer("b")], &two, 1);
    let (fallback, _) = route(&[("a", &a), ("b", &b)]);
    assert!(fallback.clone().oneshot(chat()).await.is_ok());
    assert_eq!((one.available(), two.available()), (9.0, 10.0));
    // The last one's failure leads nowhere, and costs nothing more than the one before it.
    b.replace([ill()]);
    assert!(fallback.oneshot(chat()).await.is_err());
    // Each call pays one token in, up to the ten that there can be.
    assert_eq!((one.available(), two.available()), (9.0, 10.0));
}

#[tokio::test(start_paused = true)]
async fn it_is_never_refused_and_retries_yield_first() {
    // Each call deposits a tenth.
    let budget = Budget::new(0.1, 0.0);
    (0..3).for_each(|_| budget.deposit(10.0));
    let a = paying([ill()], &budget, 2);
    let b = Provider::new([Play::answer("b")]);
    let (fallback, watch) = route(&[("a", &a), ("b", &b)]);
    for _ in 0..50 {
        assert!(fallback.clone().oneshot(chat()).await.is_ok());
        a.breaker.force_close();
    }
    assert_eq!(watch.fallbacks.lock().len(), 50);
    // Three tokens: two calls pay for a retry, and their fallbacks for what is left.
    assert_eq!(a.calls(), 50 + 2, "the retries of all other calls were refused");
    assert!(budget.available() < 1.0);
}

#[tokio::test(start_paused = true)]
async fn hedges_yield_too() {
    let budget = full();
    let a = paying([ill()], &budget, 1);
    let b = Provider::new([Play::answer("b")]);
    let (fallback, _) = route(&[("a", &a), ("b", &b)]);
    for _ in 0..10 {
        fallback.clone().oneshot(chat()).await.unwrap();
        a.breaker.force_close();
    }
    let before = budget.available();
    let (parts, body) = chat().into_parts();
    let target = &fallback.targets()[0];
    for _ in 0..before as usize {
        target.charge(&parts, &body);
    }
    assert!(!target.may_hedge(&parts, &body));
}

#[tokio::test(start_paused = true)]
async fn to_pass_by_an_open_a_cooling_or_an_unfit_target_costs_nothing() {
    let budgets = [full(), full(), full()];
    let open = paying([ill()], &budgets[0], 1);
    let cooling = paying([ill()], &budgets[1], 1);
    let unfit = paying([ill()], &budgets[2], 1);
    let well = Provider::new([Play::answer("x")]);
    let (fallback, _) = route(&[("open", &open), ("cooling", &cooling), ("unfit", &unfit), ("well", &well)]);
    let mut targets = fallback.targets().to_vec();
    targets[2] = targets[2].clone().with_calls(|_| false);
    let wait =
        Verdict::new(mainstay_layers::classify::Class::RateLimited).with_wait(Some(Duration::from_secs(9)));
    targets[1].cool(http::StatusCode::TOO_MANY_REQUESTS, &wait, true, &"m".into());
    open.breaker.force_open();
    assert!(Fallback::new(targets).oneshot(chat()).await.is_ok());
    assert!(budgets.iter().all(|budget| budget.available() == 10.0));
}

#[tokio::test(start_paused = true)]
async fn a_dear_call_takes_what_its_retry_would() {
    let budget = full();
    let a = paying([ill()], &budget, 1);
    let b = Provider::new([Play::answer("b")]);
    let (fallback, _) = route(&[("a", &a), ("b", &b)]);
    let mut targets = fallback.targets().to_vec();
    targets[0] = targets[0].clone().with_cost(|_, size| if size.lower() > 10 { 4.0 } else { 1.0 });
    assert!(Fallback::new(targets).oneshot(chat()).await.is_ok());
    assert_eq!(budget.available(), 6.0);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_goes_on_elsewhere_takes_one_too() {
    let budget = full();
    let chunk = |text: &str, finish: &str| {
        format!(
            r#"{{"id":"x","choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":{finish}}}]}}"#
        )
    };
    let cut = Play::events(&[&chunk("one two three ", "null")], End::Break);
    let rest = Play::events(&[&chunk("four", "\"stop\""), "[DONE]"], End::Proper);
    let a = paying([cut], &budget, 1);
    let b = Provider::new([rest]);
    let (fallback, watch) = route(&[("a", &a), ("b", &b)]);
    let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    let response = fallback.with_recovery(true).oneshot(request("/v1/chat/completions", body)).await.unwrap();
    assert!(response.into_body().collect().await.is_ok());
    assert_eq!(watch.recoveries.lock().len(), 1);
    assert_eq!(budget.available(), 9.0);
}
