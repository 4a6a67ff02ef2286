//! What a caller sees of the service.

use super::script::{OPEN_FOR, Script, breaker, call, reply, service};
use crate::{
    BoxError,
    breaker::*,
    classify::{Class, Classify, Failed, HttpClassifier, Verdict},
};
use http::{Request, Response};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};
use tokio::time::advance;
use tokio_test::{assert_pending, assert_ready_ok, task};
use tower::{Service, ServiceExt};
use tower_layer::Layer;

#[tokio::test(start_paused = true)]
async fn opens_after_its_failures_rejects_at_once_and_heals() {
    let breaker = breaker(Config::new().with_failures(3));
    let calls = Arc::new(AtomicUsize::new(0));
    let mut service = service(&breaker, || {
        let calls = calls.clone();
        async move {
            let n = calls.fetch_add(1, Ordering::Relaxed);
            Ok(reply(if n < 3 { 500 } else { 200 }, Script::text()))
        }
    });
    for _ in 0..3 {
        assert_eq!(call(&mut service).await.unwrap(), 500);
    }
    for _ in 0..10 {
        let error = call(&mut service).await.unwrap_err();
        let open = error.downcast_ref::<CircuitOpen>().expect("typed");
        assert_eq!((open.name(), open.retry_in()), ("test", OPEN_FOR));
        assert_eq!(HttpClassifier::new().error(&*error).class, Class::Rejected);
    }
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    assert_eq!(breaker.metrics().rejected_total, 10);
    advance(OPEN_FOR).await;
    assert_eq!(breaker.state(), State::HalfOpen);
    assert_eq!(call(&mut service).await.unwrap(), 200);
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(breaker.metrics().failures_in_a_row, 0);
}

#[tokio::test(start_paused = true)]
async fn pitfall_27_a_million_successes_do_not_delay_the_trip() {
    for config in [Config::new(), Config::new().with_failure_rate(1.0)] {
        let breaker = breaker(config);
        for _ in 0..1_000_000 {
            breaker.try_enter().unwrap().success();
        }
        for n in 0..5 {
            assert_eq!(breaker.state(), State::Closed, "after {n} failures");
            breaker.try_enter().unwrap().failure(None);
        }
        assert_eq!(breaker.state(), State::Open);
    }
}

#[tokio::test(start_paused = true)]
async fn pitfall_27_a_rate_forgets_a_million_successes_with_the_window() {
    let config =
        Config::new().with_failures(0).with_failure_rate(0.5).with_window(Duration::from_secs(10), 10);
    let breaker = breaker(config);
    for _ in 0..1_000_000 {
        breaker.try_enter().unwrap().success();
    }
    advance(Duration::from_secs(10)).await;
    for n in 0..10 {
        assert_eq!(breaker.state(), State::Closed, "after {n} failures");
        breaker.try_enter().unwrap().failure(None);
    }
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn pitfall_31_callers_mistakes_rate_limits_and_rejections_are_no_votes() {
    let breaker = breaker(Config::new().with_failures(2));
    for status in [400, 401, 402, 403, 404, 409, 413, 422, 429, 499] {
        let mut service = service(&breaker, || async move { Ok(reply(status, Script::text())) });
        for _ in 0..5 {
            call(&mut service).await.unwrap();
        }
    }
    let mut service = service(&breaker, || async {
        let stale = Verdict::new(Class::Transport).with_stale(true);
        Err(Failed::new(stale, io::Error::from(io::ErrorKind::BrokenPipe)).into())
    });
    for _ in 0..5 {
        call(&mut service).await.unwrap_err();
    }
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(breaker.metrics().failures_in_a_row, 0);
}

#[tokio::test(start_paused = true)]
async fn a_neutral_reply_keeps_the_failures_in_a_row() {
    let breaker = breaker(Config::new().with_failures(2));
    let statuses = Arc::new(AtomicUsize::new(0));
    let mut service = service(&breaker, || {
        let n = statuses.fetch_add(1, Ordering::Relaxed);
        async move { Ok(reply(if n == 1 { 429 } else { 500 }, Script::text())) }
    });
    for _ in 0..3 {
        call(&mut service).await.unwrap();
    }
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn errors_instead_of_a_reply_are_votes() {
    let breaker = breaker(Config::new().with_failures(2));
    let mut service =
        service(&breaker, || async { Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()) });
    for _ in 0..2 {
        call(&mut service).await.unwrap_err();
    }
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn a_servers_wait_is_a_floor_under_open_for() {
    for (wait, expected) in [("120", 120), ("5", 30)] {
        let breaker = breaker(Config::new().with_failures(1));
        let mut service = service(&breaker, || async move {
            let mut reply = reply(503, Script::text());
            reply.headers_mut().insert("retry-after", wait.parse().unwrap());
            Ok(reply)
        });
        call(&mut service).await.unwrap();
        assert_eq!(breaker.retry_in(), Some(Duration::from_secs(expected)));
    }
}

#[tokio::test(start_paused = true)]
async fn poll_ready_never_fails_nor_waits_while_open_and_the_inner_service_is_not_touched() {
    let breaker = breaker(Config::new());
    let layer = CircuitBreakerLayer::new(breaker.clone());
    let (mock, mut handle) = tower_test::mock::pair::<Request<()>, Response<Script>>();
    handle.allow(0);
    let mut service = task::spawn(layer.layer(mock));
    let poll_ready =
        |service: &mut task::Spawn<CircuitBreakerService<_, _>>| service.enter(|cx, mut s| s.poll_ready(cx));
    assert_pending!(poll_ready(&mut service), "closed: as the inner service is");
    breaker.force_open();
    assert_ready_ok!(poll_ready(&mut service));
    breaker.force_close();
    // Found open, so the inner service was never asked: the call must not reach it, whatever has changed since.
    let error = service.enter(|_, mut s| s.call(Request::new(()))).await.unwrap_err();
    assert!(error.is::<CircuitOpen>());
    handle.allow(1);
    assert_ready_ok!(poll_ready(&mut service));
    let mut call = task::spawn(service.enter(|_, mut s| s.call(Request::new(()))));
    assert_pending!(call.poll());
    handle.next_request().await.unwrap().1.send_response(reply(200, Script::text()));
    assert_ready_ok!(call.poll());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_fails_in_poll_ready_opens_the_circuit_too() {
    #[derive(Clone)]
    struct Refuses;
    impl Service<Request<()>> for Refuses {
        type Response = Response<Script>;
        type Error = BoxError;
        type Future = std::future::Ready<Result<Response<Script>, BoxError>>;
        fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), BoxError>> {
            Poll::Ready(Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()))
        }
        fn call(&mut self, _: Request<()>) -> Self::Future {
            unreachable!("never ready")
        }
    }
    let breaker = breaker(Config::new().with_failures(3).with_probes(1));
    let service = CircuitBreakerLayer::new(breaker.clone()).layer(Refuses);
    for _ in 0..3 {
        let error = service.clone().oneshot(Request::new(())).await.unwrap_err();
        assert!(!error.is::<CircuitOpen>());
    }
    assert!(service.clone().oneshot(Request::new(())).await.unwrap_err().is::<CircuitOpen>());
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn pitfall_32_services_made_by_one_layer_share_the_circuit() {
    let layer = CircuitBreakerLayer::new(breaker(Config::new().with_failures(2)));
    for layer in [layer.clone(), layer.clone()] {
        let mut service = layer.layer(tower::service_fn(|_: Request<()>| async {
            Ok::<_, BoxError>(reply(500, Script::text()))
        }));
        call(&mut service).await.unwrap();
    }
    assert_eq!(layer.breaker().state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_callers_at_half_open_let_exactly_the_probes_through() {
    for probes in [1, 5, 17] {
        let breaker = breaker(Config::new().with_failures(1).with_probes(probes));
        breaker.try_enter().unwrap().failure(None);
        advance(OPEN_FOR).await;
        let mut service =
            service(&breaker, || async { Ok(reply(200, Script::of([super::script::Step::Hang]))) });
        let mut futures = Vec::new();
        for _ in 0..1_000 {
            futures.push(service.ready().await.unwrap().call(Request::new(())));
        }
        let mut passed = Vec::new();
        for future in futures {
            match future.await {
                Ok(reply) => passed.push(reply),
                Err(error) => {
                    let retry_in = error.downcast_ref::<CircuitOpen>().unwrap().retry_in();
                    assert!(retry_in <= Duration::from_secs(1), "{retry_in:?}");
                }
            }
        }
        assert_eq!(passed.len(), probes as usize);
        assert_eq!(breaker.metrics().probes_in_flight, probes);
        drop(passed);
        assert_eq!(breaker.metrics().probes_in_flight, 0);
        assert!(breaker.would_admit());
    }
}

#[test]
fn threads_at_half_open_let_exactly_the_probes_through() {
    // Real threads and no runtime: tokio's clock is then the system's.
    for _ in 0..50 {
        let breaker = breaker(Config::new().with_failures(1).with_open_for(Duration::from_nanos(1)));
        breaker.try_enter().unwrap().failure(None);
        let passed = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| (0..125).filter_map(|_| breaker.try_enter().ok()).collect::<Vec<_>>())
                })
                .collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(passed.len(), 5);
        drop(passed);
        assert_eq!(breaker.metrics().probes_in_flight, 0);
    }
}
