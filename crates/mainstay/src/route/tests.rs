//! What must hold for any script of faults over any route, and the drill: an outage, from the first failure to recovery.

use super::{
    CallFailed, Failover, Fallback, Hedge, HedgeAfter, Strategy as Choice, WhenExhausted,
    testing::{End, Play, Provider, Watch, chat, request, route},
};
use http_body_util::BodyExt;
use mainstay_layers::{breaker, retry::Budget};
use proptest::prelude::*;
use std::{future::Future, sync::Arc, time::Duration};
use tower::ServiceExt;

const SECOND: Duration = Duration::from_secs(1);

/// A fault, or none.
#[derive(Clone, Copy, Debug)]
enum Act {
    Whole,
    Silence,
    Refuse,
    Status(u16),
    /// A stream of so many words that ends so.
    Cut(usize, bool),
    ErrorEvent(usize),
    NoAnswer,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => Just(Act::Whole),
        1 => Just(Act::Silence),
        1 => Just(Act::Refuse),
        2 => prop::sample::select(vec![400u16, 401, 404, 429, 500, 503]).prop_map(Act::Status),
        3 => (0usize..4, any::<bool>()).prop_map(|(words, hangs)| Act::Cut(words, hangs)),
        1 => (0usize..4).prop_map(Act::ErrorEvent),
        1 => Just(Act::NoAnswer),
    ]
}

fn chunk(who: &str, text: &str, finish: &str) -> String {
    format!(
        r#"{{"id":"{who}","choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":{finish}}}]}}"#
    )
}

/// What the provider `who` does: its words are its own, so that nobody else's can pass for them.
fn play(who: &str, act: Act) -> Play {
    let words = |n: usize| (0..n).map(|n| chunk(who, &format!("{who}{n} "), "null"));
    let stream =
        |chunks: Vec<String>, end| Play::events(&chunks.iter().map(String::as_str).collect::<Vec<_>>(), end);
    match act {
        Act::Whole => {
            stream(words(4).chain([chunk(who, "", "\"stop\""), "[DONE]".to_owned()]).collect(), End::Proper)
        }
        Act::Silence => Play::Silence,
        Act::Refuse => Play::Refuse,
        Act::Status(status) => Play::error(status, "x"),
        Act::Cut(n, hangs) => stream(words(n).collect(), if hangs { End::Hang } else { End::Break }),
        Act::ErrorEvent(n) => stream(
            words(n).chain([r#"{"error":{"message":"x","code":500}}"#.to_owned()]).collect(),
            End::Proper,
        ),
        Act::NoAnswer => Play::json(200, "<html>"),
    }
}

fn options(fallback: Fallback, choice: u8) -> Fallback {
    let on = |bit: u8| choice & (1 << bit) != 0;
    let fallback = fallback.with_recovery(on(0));
    let fallback = if on(1) { fallback.with_failover(Failover::AtOnce) } else { fallback };
    let fallback = match (on(2), on(3)) {
        (true, false) => fallback.with_strategy(Choice::Latency),
        (true, true) => fallback.with_strategy(Choice::Weighted([1, 2, 3].into())),
        _ => fallback,
    };
    let fallback = if on(4) { fallback.when_exhausted(WhenExhausted::Wait(SECOND * 60)) } else { fallback };
    if on(5) { fallback.with_hedge(Hedge::new(HedgeAfter::Time(SECOND)).with_max(2)) } else { fallback }
}

fn paused<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(test)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_caller_gets_one_whole_answer_or_one_error_and_nothing_is_left_behind(
        scripts in prop::collection::vec(prop::collection::vec(act(), 1..5), 1..4),
        attempts in 1u32..4,
        choice in 0u8..128,
        calls in 1usize..4,
        // In tenths of a second: when the caller leaves.
        leaves in prop::option::of(0u32..400),
    ) {
        let names = ["a", "b", "c"];
        paused(async {
            let budgets: Vec<Budget> = scripts.iter().map(|_| budget()).collect();
            let providers: Vec<Provider> = scripts
                .iter()
                .zip(names)
                .zip(&budgets)
                .map(|((acts, who), budget)| {
                    Provider::new(acts.iter().map(|act| play(who, *act))).attempts(attempts).paying(budget)
                })
                .collect();
            let mut listed: Vec<(&str, &Provider)> = names.into_iter().zip(&providers).collect();
            if choice & 65 == 64 {
                // The same target a second time: whose words are whose could not be told under recovery.
                listed.push(listed[0]);
            }
            let (fallback, watch) = route(&listed);
            let fallback = options(fallback, choice);
            let most = attempts as usize * listed.len();
            for _ in 0..calls {
                let before: usize = providers.iter().map(Provider::calls).sum();
                let recovered = watch.recoveries.lock().len();
                let call = one_call(&fallback, choice & 1 != 0);
                let left = match leaves {
                    Some(after) => tokio::time::timeout(SECOND * after / 10, call).await.is_err(),
                    None => {
                        call.await;
                        false
                    }
                };
                providers.iter().for_each(Provider::assert_idle);
                let made = providers.iter().map(Provider::calls).sum::<usize>() - before;
                // A target that refuses to go on is asked once more; who leaves during a recovery sees no report of it.
                let may_have_left_one = choice & 1 != 0 && left;
                let reported = watch.recoveries.lock().len() > recovered;
                let again = if reported || may_have_left_one { listed.len() } else { 0 };
                assert!(made <= most + again, "{made} tries of {most}");
            }
            let made: usize = providers.iter().map(Provider::calls).sum();
            assert_eq!(watch.classes().len(), made, "each try has ended, once");
            for ((provider, budget), who) in providers.iter().zip(&budgets).zip(names) {
                assert_eq!(provider.breaker.metrics().probes_in_flight, 0);
                accounts_for_its_tokens(budget, provider, who, &watch, choice & 1 != 0);
            }
        });
    }
}

/// Three tokens to begin with, half a token for each call, none that come by themselves.
fn budget() -> Budget {
    let budget = Budget::new(0.5, 0.0);
    budget.deposit(6.0);
    budget
}

/// What is left in the budget is what was paid in less what retries, hedges and fallbacks took. Fallbacks take no more than
/// there is, so what they took is known only to a bound.
fn accounts_for_its_tokens(budget: &Budget, provider: &Provider, who: &str, watch: &Watch, recovery: bool) {
    let count = |all: &[String]| all.iter().filter(|name| *name == who).count();
    let retries = count(&watch.retries.lock());
    let paid_in = 3.0 + 0.5 * (provider.calls() - retries) as f64;
    let left = paid_in - (retries + count(&watch.hedges.lock())) as f64;
    let available = budget.available();
    assert!(available <= left + 1e-3, "{who}: {available} of {left}: tokens from nowhere");
    if !recovery {
        let fallbacks = count(&watch.fallbacks.lock()) as f64;
        assert!(
            available >= left - fallbacks - 1e-3,
            "{who}: {available} of {left}, {fallbacks} fallbacks: tokens are lost"
        );
    }
}

/// A call that is read to its end: one whole answer, one error, or a stream with one error.
async fn one_call(fallback: &Fallback, recovery: bool) {
    let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    match fallback.clone().oneshot(request("/v1/chat/completions", body)).await {
        Ok(response) => {
            let mut body = response.into_body();
            let (mut text, mut errors) = (String::new(), 0);
            while let Some(frame) = body.frame().await {
                match frame {
                    Ok(frame) => text += std::str::from_utf8(&frame.into_data().unwrap()).unwrap(),
                    Err(_) => errors += 1,
                }
            }
            let done = text.matches("[DONE]").count();
            assert_eq!(errors + done, 1, "one end, and only one: {text}");
            assert_eq!(text.matches(r#"_reason":"stop""#).count(), done);
            one_answer(&text, recovery, done == 1);
        }
        Err(error) => {
            let failed = error.downcast::<CallFailed>().unwrap();
            assert!(failed.status.is_client_error() || failed.status.is_server_error());
        }
    }
}

/// The words of one provider in their order; with recovery, then those of another one.
fn one_answer(text: &str, recovery: bool, whole: bool) {
    let words: Vec<&str> =
        text.split("\"content\":\"").skip(1).filter_map(|rest| rest.split([' ', '"']).next()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let mut speakers: Vec<&str> = words.iter().map(|word| &word[..1]).collect();
    speakers.dedup();
    assert!(speakers.len() <= if recovery { 3 } else { 1 }, "answers are mixed: {words:?}");
    for speaker in &speakers {
        let theirs: Vec<&str> = words.iter().filter(|word| word.starts_with(speaker)).copied().collect();
        let expected: Vec<String> = (0..theirs.len()).map(|n| format!("{speaker}{n}")).collect();
        assert_eq!(theirs, expected, "each word once, in order");
    }
    if whole {
        let last = speakers.last().unwrap();
        assert_eq!(words.iter().filter(|word| word.starts_with(last)).count(), 4, "{words:?}");
    }
}

/// One call, read to its end: who answered.
async fn whole(fallback: &Fallback) -> Option<String> {
    let response = fallback.clone().oneshot(chat()).await.ok()?;
    let served = response.extensions().get::<super::Served>().unwrap().target.to_string();
    response.into_body().collect().await.ok()?;
    Some(served)
}

#[tokio::test(start_paused = true)]
async fn the_drill_an_outage_from_its_first_failure_to_recovery() {
    fastrand::seed(11);
    let watch = Arc::new(Watch::default());
    let mut primary = Provider::new([Play::answer("x")]).attempts(3);
    primary.breaker = breaker::Config::new()
        .with_failures(5)
        .with_open_for(SECOND * 30)
        .with_probes(2)
        .build("primary")
        .unwrap();
    let second = Provider::new([Play::answer("x")]).attempts(3);
    let fallback = Fallback::new([primary.target("primary", &watch), second.target("second", &watch)]);

    // Three of ten calls fail, at random.
    let mut good = 0;
    for _ in 0..10_000 {
        let play = if fastrand::f64() < 0.3 { Play::error(500, "x") } else { Play::answer("x") };
        primary.replace([play]);
        good += usize::from(whole(&fallback).await.is_some());
    }
    assert!(good >= 9_990, "{good} of 10000");

    // All of them fail: the circuit opens after five, whatever the calls were.
    primary.replace([Play::answer("x")]);
    tokio::time::advance(SECOND * 30).await;
    whole(&fallback).await.unwrap();
    assert!(primary.breaker.would_admit());
    primary.replace([Play::error(500, "x")]);
    let before = primary.calls();
    for _ in 0..100 {
        assert!(whole(&fallback).await.is_some());
    }
    assert_eq!(primary.calls() - before, 5);

    // Four minutes of it: no more than the probes reach the dead provider in each spell.
    let before = primary.calls();
    for _ in 0..2400 {
        tokio::time::advance(SECOND / 10).await;
        assert!(whole(&fallback).await.is_some());
    }
    assert!(primary.calls() - before <= 8 * 2, "{}", primary.calls() - before);

    // It is well again: the first call after its time is its own.
    primary.replace([Play::answer("x")]);
    tokio::time::advance(primary.breaker.retry_in().unwrap_or_default()).await;
    assert_eq!(whole(&fallback).await.unwrap(), "primary");
    primary.assert_idle();
    second.assert_idle();
}
