//! Who may be called, and when.

use crate::{
    cases::{self, ALL},
    under::{Answer, Ready, Stack, Under, erase, request},
};
use http_body_util::BodyExt;
use mainstay_layers::{
    BoxError,
    breaker::{CircuitBreaker, CircuitBreakerLayer, CircuitOpen},
    concurrency::{ConcurrencyLayer, Config, Overloaded},
    error::find_cause,
};
use mainstay_testkit::memory::ServiceProbe;
use std::{task::Poll, time::Duration};
use tokio::time::timeout;
use tokio_test::{assert_pending, assert_ready_err, assert_ready_ok, task};
use tower::{Layer, Service, ServiceExt};

fn poll_ready(service: &mut Stack) -> Poll<Result<(), BoxError>> {
    task::spawn(()).enter(|cx, _| service.poll_ready(cx))
}

#[tokio::test(start_paused = true)]
async fn pitfalls_1_and_2_only_the_instance_that_is_ready_is_called() {
    for case in ALL {
        let (mut service, probe) = case.over(Under::statuses(&[200]));
        for _ in 0..3 {
            // The clone is made while the service is ready, and has to become ready by itself.
            let ready = service.ready().await.unwrap();
            let mut clone = ready.clone();
            let first = ready.call(request());
            first.await.unwrap().into_body().collect().await.unwrap();
            let second = clone.ready().await.unwrap().call(request());
            second.await.unwrap().into_body().collect().await.unwrap();
        }
        drop(service);
        assert_eq!((probe.calls(), probe.unready_calls()), (6, 0), "{}", case.name);
        assert_eq!(probe.violations(), Vec::<String>::new(), "{}", case.name);
    }
}

#[tokio::test(start_paused = true)]
async fn pitfalls_1_and_5_each_retry_makes_the_service_ready_again() {
    for case in ALL.iter().filter(|case| ["retry", "all together"].contains(&case.name)) {
        let (service, probe) = case.over(Under::statuses(&[503, 502, 200]));
        let reply = service.oneshot(request()).await.unwrap();
        assert_eq!(reply.status(), 200);
        reply.into_body().collect().await.unwrap();
        assert_eq!((probe.calls(), probe.unready_calls()), (3, 0), "{}", case.name);
        assert_eq!(probe.violations(), Vec::<String>::new(), "{}", case.name);
    }
}

#[tokio::test(start_paused = true)]
async fn pitfall_3_to_be_ready_takes_nothing_that_others_need() {
    for case in ALL {
        let (service, probe) = case.over(Under::statuses(&[200]));
        let mut idle: Vec<_> = (0..32).map(|_| service.clone()).collect();
        for each in &mut idle {
            each.ready().await.unwrap();
        }
        let call = timeout(Duration::from_millis(1), service.clone().oneshot(request())).await;
        call.unwrap_or_else(|_| panic!("{}: waits for what is held by readiness", case.name)).unwrap();
        drop(idle);
        assert_eq!(probe.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_is_as_ready_as_what_is_below_it() {
    for case in ALL {
        let (mut service, _) = case.over(Under::statuses(&[200]).ready(|asked| match asked {
            0 => Ready::Pending,
            1 => Ready::Fails,
            _ => Ready::Yes,
        }));
        assert_pending!(poll_ready(&mut service), "{}", case.name);
        assert_ready_err!(poll_ready(&mut service), "{}", case.name);
        assert_ready_ok!(poll_ready(&mut service), "{}", case.name);
    }
}

#[tokio::test(start_paused = true)]
async fn pitfalls_4_and_6_an_open_circuit_is_ready_and_waits_for_nobody() {
    let breaker = CircuitBreaker::new("a");
    breaker.force_open();
    let under = Under::statuses(&[200]).ready(|_| Ready::Pending);
    let (service, probe) = ServiceProbe::new(under.clone());
    let mut service = erase(CircuitBreakerLayer::new(breaker).layer(service));
    assert_ready_ok!(poll_ready(&mut service));
    let error = service.call(request()).await.unwrap_err();
    assert!(find_cause::<CircuitOpen>(&*error).is_some());
    assert_eq!((under.asked(), probe.calls()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn pitfall_4_a_full_limit_is_ready_and_fails_in_the_call() {
    let limit = Config::new(1).with_queue_wait(Duration::ZERO).build();
    let (service, probe) = ServiceProbe::new(Under::new(|_| Answer::Never));
    let mut service = erase(ConcurrencyLayer::new(limit).layer(service));
    let mut first = task::spawn(service.ready().await.unwrap().call(request()));
    assert_pending!(first.poll());
    let mut other = service;
    assert_ready_ok!(poll_ready(&mut other));
    let error = other.call(request()).await.unwrap_err();
    assert!(find_cause::<Overloaded>(&*error).is_some());
    assert_eq!(probe.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn pitfall_5_where_readiness_fails_or_hangs_the_answer_of_the_try_before_is_handed_up() {
    for second in [Ready::Fails, Ready::Pending] {
        let under = Under::statuses(&[503]).ready(move |asked| if asked == 0 { Ready::Yes } else { second });
        let (service, probe) = ServiceProbe::new(under);
        let service = erase(cases::retry().with_max_wait(Duration::from_secs(5)).layer(service));
        let reply = timeout(Duration::from_secs(60), service.oneshot(request())).await.unwrap().unwrap();
        assert_eq!(reply.status(), 503);
        assert_eq!(reply.into_body().collect().await.unwrap().to_bytes(), "reply");
        assert_eq!((probe.calls(), probe.violations().len()), (1, 0), "{second:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_leaves_nothing_behind() {
    for case in ALL {
        let answer = |call| if call == 0 { Answer::Never } else { Answer::Reply(Default::default()) };
        let (mut service, probe) = case.over(Under::new(answer));
        let mut call = task::spawn(service.ready().await.unwrap().call(request()));
        assert_pending!(call.poll(), "{}", case.name);
        assert_eq!(probe.in_flight(), 1, "{}", case.name);
        drop(call);
        assert_eq!((probe.in_flight(), probe.dropped_futures()), (0, 1), "{}", case.name);
        // What it held is there for the next one.
        let next = timeout(Duration::from_millis(1), service.ready().await.unwrap().call(request()));
        assert_eq!(next.await.unwrap().unwrap().status(), 200, "{}", case.name);
        assert_eq!(probe.violations(), Vec::<String>::new(), "{}", case.name);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_never_polled_leaves_nothing_behind() {
    for case in ALL {
        let (mut service, probe) = case.over(Under::statuses(&[200]));
        drop(service.ready().await.unwrap().call(request()));
        let next = timeout(Duration::from_millis(1), service.ready().await.unwrap().call(request()));
        assert_eq!(next.await.unwrap().unwrap().status(), 200, "{}", case.name);
        assert_eq!(probe.violations(), Vec::<String>::new(), "{}", case.name);
    }
}
