//! What a layer does to the body of a reply.

use crate::{
    cases::ALL,
    under::{Answer, AnyBody, Under, erase, request},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response};
use http_body::Body;
use http_body_util::BodyExt;
use mainstay_layers::{
    breaker::{CircuitBreaker, CircuitBreakerLayer},
    concurrency::{ConcurrencyLayer, ConcurrencyLimit},
};
use mainstay_testkit::memory::{BodyWatch, FaultBody, ServiceProbe};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use tower::{ServiceBuilder, ServiceExt};

const SECOND: Duration = Duration::from_secs(1);

fn trailers() -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    trailers.insert("x-checksum", HeaderValue::from_static("7"));
    trailers
}

type NamedBody = (&'static str, fn() -> FaultBody);

/// Each way in which a good body can come.
const BODIES: &[NamedBody] = &[
    ("empty", FaultBody::new),
    ("one frame", || FaultBody::from("a")),
    ("several frames", || FaultBody::new().frames(["a", "", "bcd"])),
    ("slow ones", || FaultBody::new().data("a").wait(SECOND).data("b").wait(SECOND)),
    ("trailers", || FaultBody::new().data("a").trailers(trailers())),
    ("trailers alone", || FaultBody::new().trailers(trailers())),
    ("no hints", || FaultBody::new().frames(["a", "b"]).without_hints()),
    ("no hints and trailers", || FaultBody::new().data("a").trailers(trailers()).without_hints()),
];

/// What a reader sees of a body at one moment.
#[derive(Debug, PartialEq)]
struct Seen {
    lower: u64,
    upper: Option<u64>,
    is_end_stream: bool,
    frame: Option<Result<Bytes, HeaderMap>>,
}

/// All that a reader sees, with two polls after the end.
async fn read<B: Body<Data = Bytes> + Unpin>(mut body: B) -> Vec<Seen>
where
    B::Error: std::fmt::Debug,
{
    let mut all = Vec::new();
    let mut ends = 0;
    while ends < 3 {
        let (hint, is_end_stream) = (body.size_hint(), body.is_end_stream());
        let frame = body
            .frame()
            .await
            .map(|frame| frame.unwrap().into_data().map_err(|frame| frame.into_trailers().unwrap()));
        ends += usize::from(frame.is_none());
        all.push(Seen { lower: hint.lower(), upper: hint.upper(), is_end_stream, frame });
    }
    all
}

#[tokio::test(start_paused = true)]
async fn pitfalls_8_and_10_frames_trailers_and_hints_are_those_of_the_body_below() {
    for case in ALL {
        for (name, body) in BODIES {
            let (service, _) = case.over(Under::body(body));
            let seen = read(service.oneshot(request()).await.unwrap().into_body()).await;
            let bare = read(body()).await;
            if case.name.starts_with("limit") || case.name == "all together" {
                // A limit knows a bound where the body has none. All else is the same.
                let bounded = |seen: &Seen| seen.upper.or(Some(99));
                for (seen, bare) in seen.iter().zip(&bare) {
                    assert!(bounded(seen) <= bounded(bare), "{}, {name}: {seen:?}", case.name);
                    assert_eq!(
                        (seen.lower, seen.is_end_stream, &seen.frame),
                        (bare.lower, bare.is_end_stream, &bare.frame),
                        "{}, {name}",
                        case.name
                    );
                }
                assert_eq!(seen.len(), bare.len());
            } else {
                assert_eq!(seen, bare, "{}, {name}", case.name);
            }
        }
    }
}

/// A reply of this body, and what is done to it.
async fn watched(
    case: &crate::cases::Case,
    body: FaultBody,
) -> (AnyBody, BodyWatch, mainstay_testkit::memory::Probe) {
    let watch = body.watch();
    let once = Arc::new(Mutex::new(Some(body)));
    let answer = move |_| Answer::Reply(Response::new(once.lock().take().unwrap()));
    let (service, probe) = case.over(Under::new(answer));
    (service.oneshot(request()).await.unwrap().into_body(), watch, probe)
}

#[tokio::test(start_paused = true)]
async fn pitfall_11_after_an_error_the_body_is_over_and_the_one_below_is_gone() {
    for case in ALL {
        let (mut body, watch, probe) =
            watched(case, FaultBody::new().data("a").fail("reset").data("b")).await;
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "a", "{}", case.name);
        let error = body.frame().await.unwrap().unwrap_err();
        assert!(error.to_string().contains("reset"), "{}: {error}", case.name);
        let passes_it_as_it_is = ["idempotency", "grpc try"].contains(&case.name);
        assert!(watch.dropped() || passes_it_as_it_is, "{}: the body is still held", case.name);
        assert!(body.frame().await.is_none(), "{}", case.name);
        drop(body);
        assert!(watch.dropped());
        let late = if passes_it_as_it_is { 1 } else { 0 };
        assert_eq!((probe.late_body_polls(), probe.open_bodies()), (late, 0), "{}", case.name);
    }
}

#[tokio::test(start_paused = true)]
async fn pitfalls_12_and_13_a_body_that_is_dropped_lets_go_of_everything() {
    for case in ALL {
        for read in [0, 1] {
            let (mut body, watch, probe) = watched(case, FaultBody::new().data("a").silence()).await;
            for _ in 0..read {
                body.frame().await.unwrap().unwrap();
            }
            assert_eq!(probe.open_bodies(), 1, "{}", case.name);
            drop(body);
            assert!(watch.dropped(), "{}", case.name);
            assert_eq!((probe.dropped_bodies(), probe.violations().len()), (1, 0), "{}", case.name);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pitfall_9_each_kind_of_end_is_reported_once_and_at_once() {
    for (name, body) in BODIES {
        let breaker = CircuitBreaker::new("a");
        let limit = ConcurrencyLimit::new(1);
        let answer = |call| match call {
            0 => Answer::Reply(Response::builder().status(500).body(FaultBody::new()).unwrap()),
            _ => Answer::Reply(Response::new(body())),
        };
        let (service, probe) = ServiceProbe::new(Under::new(answer));
        let stack = ServiceBuilder::new()
            .layer(CircuitBreakerLayer::new(breaker.clone()))
            .layer(ConcurrencyLayer::new(limit.clone()))
            .service(service);
        let stack = erase(stack);
        drop(stack.clone().oneshot(request()).await.unwrap());
        assert_eq!(breaker.metrics().failures_in_a_row, 1);

        // A reader that stops where the body says that it is over, or at its trailers, as hyper does.
        let mut reply = stack.oneshot(request()).await.unwrap().into_body();
        let mut over = reply.is_end_stream();
        while !over {
            assert_eq!((breaker.metrics().failures_in_a_row, limit.in_flight()), (1, 1), "{name}: too early");
            over = match reply.frame().await {
                Some(frame) => frame.unwrap().is_trailers() || reply.is_end_stream(),
                None => true,
            };
        }
        assert_eq!((breaker.metrics().failures_in_a_row, limit.in_flight()), (0, 0), "{name}");

        // Further polls and the drop report nothing.
        let failed = breaker.try_enter().unwrap();
        failed.failure(None);
        assert!(reply.frame().await.is_none());
        drop(reply);
        assert_eq!((breaker.metrics().failures_in_a_row, limit.in_flight()), (1, 0), "{name}");
        assert_eq!(probe.open_bodies(), 0);
    }
}
