//! The vote at the end of the stream.

use super::script::{OPEN_FOR, Script, Step, breaker, call, reply, service};
use crate::{
    BoxError,
    breaker::*,
    classify::{Class, Classify, Failed, Head, HttpClassifier, Verdict},
};
use http::{HeaderMap, Request};
use http_body::Body;
use http_body_util::BodyExt;
use std::{error::Error, time::Duration};
use tokio::time::advance;
use tower::{Service, ServiceExt};

/// A circuit that one success closes and one failure opens.
async fn half_open() -> CircuitBreaker {
    let breaker = breaker(Config::new().with_failures(1).with_probes(1));
    breaker.try_enter().unwrap().failure(None);
    advance(OPEN_FOR).await;
    breaker
}

#[tokio::test(start_paused = true)]
async fn pitfall_30_a_stream_that_dies_half_way_is_a_failure() {
    let breaker = breaker(Config::new().with_failures(3));
    let mut service = service(&breaker, || async {
        Ok(reply(200, Script::of([Step::Data("x"), Step::Fail("reset".into()), Step::Data("never")])))
    });
    for _ in 0..3 {
        assert_eq!(breaker.state(), State::Closed);
        call(&mut service).await.unwrap_err();
    }
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn pitfall_30_a_good_head_alone_is_no_success_yet() {
    let breaker = half_open().await;
    let mut service =
        service(&breaker, || async { Ok(reply(200, Script::of([Step::Data("a"), Step::Data("b")]))) });
    let mut body = service.ready().await.unwrap().call(Request::new(())).await.unwrap().into_body();
    for _ in 0..2 {
        body.frame().await.unwrap().unwrap();
        assert_eq!(breaker.state(), State::HalfOpen);
    }
    assert!(body.frame().await.is_none());
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn an_end_that_is_told_with_the_last_frame_or_the_head_or_by_trailers_is_the_end() {
    let told = || Script::of([Step::Data("a")]).announcing();
    let trailers = || Script::of([Step::Data("a"), Step::Trailers(HeaderMap::new()), Step::Hang]);
    let empty = || Script::of([]).announcing();
    for (script, frames) in [(told as fn() -> Script, 1), (trailers, 2), (empty, 0)] {
        let breaker = half_open().await;
        let mut service = service(&breaker, || async move { Ok(reply(200, script())) });
        let mut body = service.ready().await.unwrap().call(Request::new(())).await.unwrap().into_body();
        for n in 0..frames {
            assert_eq!(breaker.state(), State::HalfOpen, "before frame {n}");
            body.frame().await.unwrap().unwrap();
        }
        assert_eq!(breaker.state(), State::Closed, "after {frames} frames");
    }
}

#[tokio::test(start_paused = true)]
async fn pitfall_33_a_bad_head_votes_at_once_and_its_body_not_again() {
    let breaker = breaker(Config::new().with_failures(2));
    let mut service =
        service(&breaker, || async { Ok(reply(502, Script::of([Step::Fail("reset".into())]))) });
    let reply = service.ready().await.unwrap().call(Request::new(())).await.unwrap();
    assert_eq!(breaker.metrics().failures_in_a_row, 1);
    reply.into_body().collect().await.unwrap_err();
    assert_eq!(breaker.metrics().failures_in_a_row, 1);
}

#[tokio::test(start_paused = true)]
async fn an_error_in_the_body_is_judged_like_any_other() {
    let breaker = half_open().await;
    let mut service = service(&breaker, || async {
        let error = Failed::new(Verdict::new(Class::RateLimited), "slow down");
        Ok(reply(200, Script::of([Step::Fail(error.into())])))
    });
    call(&mut service).await.unwrap_err();
    assert_eq!(breaker.state(), State::HalfOpen, "neutral");
    assert_eq!(breaker.metrics().probes_in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn after_an_error_the_body_is_over() {
    let breaker = breaker(Config::new());
    let mut service = service(&breaker, || async {
        Ok(reply(200, Script::of([Step::Fail("reset".into()), Step::Data("never")])))
    });
    let mut body = service.ready().await.unwrap().call(Request::new(())).await.unwrap().into_body();
    body.frame().await.unwrap().unwrap_err();
    assert!(body.is_end_stream());
    assert!(body.frame().await.is_none());
    assert_eq!(body.size_hint().exact(), Some(0));
}

#[tokio::test(start_paused = true)]
async fn trailers_can_say_that_it_failed() {
    #[derive(Clone)]
    struct ByTrailer;
    impl Classify for ByTrailer {
        fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
            HttpClassifier::new().error(error)
        }
        fn head(&self, head: Head<'_>) -> Verdict {
            HttpClassifier::new().head(head)
        }
        fn trailers(&self, trailers: &HeaderMap) -> Option<Verdict> {
            let status = trailers.get("grpc-status")?;
            Some(Verdict::new(if status == "0" { Class::Success } else { Class::ServerError }))
        }
    }
    for (status, expected) in [("0", State::Closed), ("14", State::Open)] {
        let breaker = half_open().await;
        let inner = tower::service_fn(|_: Request<()>| async {
            let trailers = [("grpc-status".parse().unwrap(), status.parse().unwrap())].into_iter().collect();
            Ok::<_, BoxError>(reply(200, Script::of([Step::Data("a"), Step::Trailers(trailers)])))
        });
        let mut service = CircuitBreakerService::new(inner, breaker.clone(), ByTrailer);
        call(&mut service).await.unwrap();
        assert_eq!(breaker.state(), expected);
    }
}

/// A breaker that opens on the tenth slow call.
fn by_slowness() -> CircuitBreaker {
    breaker(Config::new().with_slow_rate(1.0, Duration::from_secs(2)))
}

#[tokio::test(start_paused = true)]
async fn slow_first_frames_open_the_circuit_by_their_rate() {
    let breaker = by_slowness();
    let slow = || Script::of([Step::Sleep(Duration::from_secs(3)), Step::Data("x")]);
    let mut service = service(&breaker, || async move { Ok(reply(200, slow())) });
    for n in 0..10 {
        assert_eq!(breaker.state(), State::Closed, "after {n}");
        call(&mut service).await.unwrap();
    }
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn a_slow_rest_a_slow_reader_and_a_quick_first_content_are_not_slow() {
    let second = Duration::from_secs(1);
    let breaker = by_slowness();
    let slow_rest = || Script::of([Step::Data("x"), Step::Sleep(9 * second), Step::Data("y")]);
    let mut quick = service(&breaker, || async move { Ok(reply(200, slow_rest())) });
    let mut marked = service(&breaker, || async move {
        let mut reply = reply(200, Script::of([Step::Sleep(9 * second)]));
        reply.extensions_mut().insert(FirstContent(second));
        Ok(reply)
    });
    for _ in 0..10 {
        call(&mut quick).await.unwrap();
        call(&mut marked).await.unwrap();
        let reply = quick.ready().await.unwrap().call(Request::new(())).await.unwrap();
        advance(9 * second).await;
        reply.into_body().collect().await.unwrap();
    }
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_late_first_content_counts_though_frames_came_early() {
    let breaker = by_slowness();
    let mut service = service(&breaker, || async {
        let mut reply = reply(200, Script::text());
        reply.extensions_mut().insert(FirstContent(Duration::from_secs(5)));
        Ok(reply)
    });
    for _ in 0..10 {
        call(&mut service).await.unwrap();
    }
    assert_eq!(breaker.state(), State::Open);
}
