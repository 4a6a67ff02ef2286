//! Calls that are dropped, hang, or answer long after.

use super::script::{OPEN_FOR, Script, Step, breaker, call, reply, service};
use crate::breaker::*;
use http::Request;
use http_body::Body;
use std::{pin::pin, time::Duration};
use tokio::time::advance;
use tokio_test::task;
use tower::{Service, ServiceExt};

async fn half_open(probes: u32) -> CircuitBreaker {
    let breaker = breaker(Config::new().with_failures(1).with_probes(probes));
    breaker.try_enter().unwrap().failure(None);
    advance(OPEN_FOR).await;
    breaker
}

/// Polls a whole call at most `polls` times, then drops it, wherever it is. Whether it had ended by then.
fn run(breaker: &CircuitBreaker, mut polls: usize) -> bool {
    let mut service = service(breaker, || async {
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        Ok(reply(200, Script::of([Step::Pend, Step::Data("a"), Step::Pend, Step::Data("b"), Step::Pend])))
    });
    let mut call = task::spawn(service.call(Request::new(())));
    let reply = loop {
        if polls == 0 {
            return false;
        }
        polls -= 1;
        if let std::task::Poll::Ready(reply) = call.poll() {
            break reply.unwrap();
        }
    };
    let mut body = pin!(reply.into_body());
    let mut frames = task::spawn(());
    while polls > 0 {
        polls -= 1;
        if let std::task::Poll::Ready(None) = frames.enter(|cx, _| body.as_mut().poll_frame(cx)) {
            return true;
        }
    }
    false
}

#[tokio::test(start_paused = true)]
async fn pitfalls_12_and_13_dropped_at_any_poll_and_any_frame_it_is_no_vote_and_frees_its_slot() {
    let mut ended = None;
    for polls in 0..50 {
        let breaker = half_open(1).await;
        if run(&breaker, polls) {
            assert_eq!(breaker.state(), State::Closed);
            ended = Some(polls);
            break;
        }
        assert_eq!(breaker.state(), State::HalfOpen, "dropped after {polls} polls");
        let seen = breaker.metrics();
        assert_eq!((seen.probes_in_flight, seen.opened_total), (0, 1), "dropped after {polls} polls");
        // And the next caller is the probe.
        drop(breaker.try_enter().expect("a free slot"));
    }
    assert!(ended.is_some_and(|polls| polls > 8), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn pitfall_31_calls_that_leave_a_closed_circuit_neither_reset_nor_add_failures() {
    let breaker = breaker(Config::new().with_failures(3));
    breaker.try_enter().unwrap().failure(None);
    for polls in 0..8 {
        assert!(!run(&breaker, polls));
    }
    assert_eq!(breaker.metrics().failures_in_a_row, 1);
}

#[tokio::test(start_paused = true)]
async fn pitfall_28_dropped_probes_never_lock_the_circuit() {
    let breaker = half_open(2).await;
    for _ in 0..1_000 {
        let (a, b) = (breaker.try_enter().unwrap(), breaker.try_enter().unwrap());
        assert!(a.is_probe() && breaker.try_enter().is_err());
        drop((a, b));
    }
    breaker.try_enter().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn pitfall_28_hung_probes_give_their_slots_to_others() {
    let breaker = half_open(2).await;
    let hung = (breaker.try_enter().unwrap(), breaker.try_enter().unwrap());
    assert!(!breaker.would_admit());
    advance(Duration::from_secs(59)).await;
    assert!(breaker.try_enter().is_err());
    advance(Duration::from_secs(1)).await;
    assert_eq!(breaker.metrics().probes_in_flight, 0);
    let next = (breaker.try_enter().unwrap(), breaker.try_enter().unwrap());
    // Leaving late frees nobody else's slot.
    drop(hung);
    assert_eq!(breaker.metrics().probes_in_flight, 2);
    assert!(breaker.try_enter().is_err());
    next.0.success();
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_hung_probe_that_answers_after_all_still_decides() {
    let breaker = half_open(1).await;
    let hung = breaker.try_enter().unwrap();
    advance(Duration::from_secs(3_600)).await;
    let next = breaker.try_enter().unwrap();
    hung.success();
    assert_eq!(breaker.state(), State::Closed);
    next.failure(None);
    assert_eq!(breaker.state(), State::Closed, "that one is of the epoch before");
}

#[tokio::test(start_paused = true)]
async fn pitfall_28_a_probe_a_day_heals_or_opens_as_any_other() {
    let day = Duration::from_secs(86_400);
    let breaker = half_open(5).await;
    for _ in 0..3 {
        advance(day).await;
        breaker.try_enter().unwrap().failure(None);
        assert_eq!(breaker.state(), State::Open);
        advance(day).await;
        drop(breaker.try_enter().unwrap());
    }
    advance(day).await;
    breaker.try_enter().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn pitfall_29_a_success_from_before_the_trip_closes_nothing() {
    let breaker = breaker(Config::new().with_failures(1));
    let (early, late) = (breaker.try_enter().unwrap(), breaker.try_enter().unwrap());
    breaker.try_enter().unwrap().failure(None);
    early.success();
    assert_eq!(breaker.state(), State::Open);
    advance(OPEN_FOR).await;
    let probe = breaker.try_enter().unwrap();
    late.success();
    assert_eq!(breaker.state(), State::HalfOpen);
    drop(probe);
}

#[tokio::test(start_paused = true)]
async fn a_failure_from_before_the_trip_opens_nothing() {
    let breaker = breaker(Config::new().with_failures(1));
    let stragglers: Vec<_> = (0..10).map(|_| breaker.try_enter().unwrap()).collect();
    breaker.try_enter().unwrap().failure(None);
    advance(OPEN_FOR).await;
    breaker.try_enter().unwrap().success();
    stragglers.into_iter().for_each(|straggler| straggler.failure(None));
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(breaker.metrics().failures_in_a_row, 0);
}

#[tokio::test(start_paused = true)]
async fn a_neutral_probe_gives_its_slot_to_the_next() {
    let breaker = half_open(1).await;
    let mut service = service(&breaker, || async { Ok(reply(429, Script::of([Step::Hang]))) });
    // The body of a neutral reply holds no slot either.
    let kept = service.ready().await.unwrap().call(Request::new(())).await.unwrap();
    assert_eq!(breaker.state(), State::HalfOpen);
    assert!(breaker.would_admit());
    drop(kept);
    let mut well = super::script::service(&breaker, || async { Ok(reply(200, Script::text())) });
    call(&mut well).await.unwrap();
    assert_eq!(breaker.state(), State::Closed);
}
