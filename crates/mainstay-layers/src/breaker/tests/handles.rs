//! Configuration, hands on the circuit, observers, the registry.

use super::script::{OPEN_FOR, breaker};
use crate::breaker::*;
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, advance};

#[test]
fn a_value_out_of_range_is_refused_by_name() {
    let bad = [
        (Config::new().with_failure_rate(0.0), "failure_rate"),
        (Config::new().with_failure_rate(f64::NAN), "failure_rate"),
        (Config::new().with_slow_rate(1.1, OPEN_FOR), "slow_rate"),
        (Config::new().with_window(Duration::ZERO, 10), "window"),
        (Config::new().with_window(OPEN_FOR, 0), "min_calls"),
        (Config::new().with_open_for(Duration::ZERO), "open_for"),
        (Config::new().with_growth(0.5, OPEN_FOR), "growth"),
        (Config::new().with_growth(2.0, Duration::from_secs(1)), "growth"),
        (Config::new().with_jitter(-0.1), "jitter"),
        (Config::new().with_probes(0), "probes"),
        (Config::new().with_probe_deadline(Duration::ZERO), "probe_deadline"),
    ];
    for (config, key) in bad {
        assert_eq!(config.build("x").unwrap_err().key, key);
    }
}

#[tokio::test(start_paused = true)]
async fn open_for_grows_with_relapses_up_to_its_cap_and_starts_anew() {
    let cap = Duration::from_secs(100);
    let breaker = breaker(Config::new().with_failures(1).with_growth(2.0, cap));
    for expected in [30, 60, 100, 100] {
        breaker.try_enter().unwrap().failure(None);
        assert_eq!(breaker.retry_in(), Some(Duration::from_secs(expected)));
        advance(Duration::from_secs(expected)).await;
    }
    breaker.try_enter().unwrap().success();
    breaker.try_enter().unwrap().failure(None);
    assert_eq!(breaker.retry_in(), Some(OPEN_FOR));
}

#[tokio::test(start_paused = true)]
async fn jitter_only_adds_and_no_more_than_its_share() {
    let times: Vec<_> = (0..100)
        .map(|_| {
            let breaker = breaker(Config::new().with_failures(1).with_jitter(0.5));
            breaker.try_enter().unwrap().failure(None);
            breaker.retry_in().unwrap()
        })
        .collect();
    assert!(times.iter().all(|time| (OPEN_FOR..=OPEN_FOR * 3 / 2).contains(time)), "{times:?}");
    assert!(times.iter().any(|time| *time != times[0]));
}

#[tokio::test(start_paused = true)]
async fn held_by_hand_it_stays_until_let_go() {
    let breaker = breaker(Config::new().with_failures(1));
    breaker.force_open();
    advance(Duration::from_secs(86_400)).await;
    assert_eq!(breaker.try_enter().unwrap_err().retry_in(), OPEN_FOR);
    assert_eq!(breaker.state(), State::Open);
    breaker.force_close();
    for _ in 0..100 {
        breaker.try_enter().unwrap().failure(None);
    }
    assert!(breaker.metrics().forced);
    assert_eq!(breaker.state(), State::Closed);
    let held = breaker.try_enter().unwrap();
    breaker.automatic();
    held.failure(None);
    assert_eq!(breaker.state(), State::Closed, "that call was let in by hand");
    breaker.try_enter().unwrap().failure(None);
    assert_eq!(breaker.state(), State::Open);
    breaker.automatic();
    assert_eq!(breaker.state(), State::Open, "it was not held");
}

#[tokio::test(start_paused = true)]
async fn observers_and_subscribers_see_each_transition() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let observer = Arc::new(move |t: &Transition| log.lock().push((t.serial, t.from, t.to, t.cause)));
    let breaker = breaker(Config::new().with_failures(1).with_observer(observer));
    let mut subscriber = breaker.subscribe();
    assert_eq!(subscriber.borrow_and_update().cause, Cause::Start);
    breaker.try_enter().unwrap().failure(None);
    assert!(subscriber.has_changed().unwrap());
    assert_eq!(subscriber.borrow_and_update().to, State::Open);
    advance(OPEN_FOR).await;
    breaker.try_enter().unwrap().failure(None);
    advance(OPEN_FOR).await;
    breaker.try_enter().unwrap().success();
    // The last of several is kept.
    assert_eq!(subscriber.borrow_and_update().serial, 5);
    breaker.force_open();
    use State::*;
    assert_eq!(
        *seen.lock(),
        [
            (1, Closed, Open, Cause::Failures),
            (2, Open, HalfOpen, Cause::Elapsed),
            (3, HalfOpen, Open, Cause::ProbeFailed),
            (4, Open, HalfOpen, Cause::Elapsed),
            (5, HalfOpen, Closed, Cause::ProbeSucceeded),
            (6, Closed, Open, Cause::Forced),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn metrics_say_what_there_is() {
    let breaker = breaker(Config::new().with_failures(2));
    breaker.try_enter().unwrap().failure(None);
    assert_eq!(breaker.metrics().failures_in_a_row, 1);
    advance(Duration::from_secs(7)).await;
    breaker.try_enter().unwrap().failure(None);
    breaker.try_enter().unwrap_err();
    let seen = breaker.metrics();
    assert_eq!((seen.state, seen.opened_total, seen.rejected_total), (State::Open, 1, 1));
    assert_eq!((seen.since, seen.retry_in), (Instant::now(), Some(OPEN_FOR)));
    assert!(!seen.forced);
    advance(OPEN_FOR).await;
    assert_eq!(breaker.metrics().retry_in, None);
    let _probe = breaker.try_enter().unwrap();
    assert_eq!(breaker.metrics().probes_in_flight, 1);
}

#[tokio::test(start_paused = true)]
async fn a_full_registry_drops_only_what_nobody_misses() {
    let registry = Registry::new(Config::new().with_failures(1), 2).unwrap();
    let held = registry.get_or_insert("held").unwrap();
    registry.get_or_insert("open").unwrap().force_open();
    assert_eq!(registry.get_or_insert("third").unwrap_err().capacity, 2);
    assert!(registry.get("third").is_none());
    drop(held);
    registry.get_or_insert("third").unwrap();
    let names: Vec<_> = registry.all().iter().map(|circuit| circuit.name().to_owned()).collect();
    assert_eq!(names, ["open", "third"]);
    assert!(!registry.get_or_insert("open").unwrap().would_admit(), "the same circuit");
    assert!(registry.remove("open").is_some());
    assert_eq!(registry.len(), 1);
}
