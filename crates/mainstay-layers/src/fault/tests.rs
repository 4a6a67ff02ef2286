use super::*;
use crate::{
    BoxError,
    classify::{Class, Classify, HttpClassifier, Sent},
    testing::{FedBody, data, failure, fed, next},
};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use std::{convert::Infallible, time::Duration};
use tokio::time::Instant;
use tokio_test::{assert_pending, assert_ready, task};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_test::mock;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Calls a service that answers `0123456789`.
async fn one(layer: &FaultLayer) -> Result<Response<FaultBody<Full<Bytes>>>, BoxError> {
    let answer = service_fn(|_: Request<()>| async {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("0123456789"))))
    });
    layer.layer(answer).oneshot(Request::new(())).await
}

async fn whole(layer: &FaultLayer) -> Bytes {
    one(layer).await.unwrap().into_body().collect().await.unwrap().to_bytes()
}

#[tokio::test]
async fn a_script_goes_on_over_clones_and_then_passes_or_repeats_its_last() {
    let layer = FaultLayer::script([
        Fault::status(StatusCode::TOO_MANY_REQUESTS),
        Fault::status(StatusCode::BAD_GATEWAY),
    ]);
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(one(&layer.clone()).await.unwrap().status().as_u16());
    }
    assert_eq!(seen, [429, 502, 200, 200]);
    assert_eq!(layer.calls(), 4);

    let layer = FaultLayer::script([Fault::pass(), Fault::status(StatusCode::BAD_GATEWAY)]).repeat_last();
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(one(&layer).await.unwrap().status().as_u16());
    }
    assert_eq!(seen, [200, 502, 502, 502]);
    assert_eq!(one(&FaultLayer::script([]).repeat_last()).await.unwrap().status(), 200);
}

#[tokio::test]
async fn chance_is_the_same_for_the_same_seed_and_about_as_asked() {
    let run = |seed| async move {
        let layer = FaultLayer::chance(
            seed,
            [(0.2, Fault::drop_before()), (0.3, Fault::status(StatusCode::BAD_GATEWAY))],
        );
        let mut seen = Vec::new();
        for _ in 0..1000 {
            seen.push(one(&layer).await.map_or(0, |reply| reply.status().as_u16()));
        }
        seen
    };
    let first = run(7).await;
    assert_eq!(first, run(7).await);
    assert_ne!(first, run(8).await);
    let share = |status| first.iter().filter(|seen| **seen == status).count();
    assert!((150..250).contains(&share(0)), "{}", share(0));
    assert!((250..350).contains(&share(502)), "{}", share(502));
}

#[tokio::test]
async fn a_reply_is_the_one_that_was_asked_for() {
    let reply = Response::builder().status(429).header("retry-after", "7").body(Bytes::from("slow")).unwrap();
    let reply = one(&FaultLayer::script([Fault::reply(reply)])).await.unwrap();
    assert_eq!(reply.headers()["retry-after"], "7");
    assert_eq!(reply.body().size_hint().exact(), Some(4));
    assert_eq!(reply.into_body().collect().await.unwrap().to_bytes(), "slow");
    let empty = one(&FaultLayer::script([Fault::status(StatusCode::OK)])).await.unwrap();
    assert!(empty.body().is_end_stream());
}

#[tokio::test]
async fn errors_are_judged_as_the_real_ones_would_be() {
    let refused = one(&FaultLayer::script([Fault::drop_before()])).await.unwrap_err();
    let verdict = HttpClassifier::new().error(&*refused);
    assert_eq!((verdict.class, verdict.sent), (Class::Transport, Sent::No));
    for fault in [Fault::lost_reply(), Fault::drop_after(Duration::ZERO)] {
        let reset = one(&FaultLayer::script([fault])).await.unwrap_err();
        let verdict = HttpClassifier::new().error(&*reset);
        assert_eq!((verdict.class, verdict.sent), (Class::Transport, Sent::Maybe));
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_keeps_the_call_from_the_inner_service_for_that_long() {
    let (service, mut handle) = mock::pair::<Request<()>, Response<FedBody>>();
    handle.allow(1);
    let mut service = FaultLayer::script([Fault::delay(secs(5))]).layer(service);
    let mut future = task::spawn(service.ready().await.unwrap().call(Request::new(())));
    let mut inner = task::spawn(handle.next_request());
    assert_pending!(future.poll());
    tokio::time::advance(secs(4)).await;
    assert_pending!(future.poll());
    assert_pending!(inner.poll());
    tokio::time::advance(secs(2)).await;
    assert!(future.is_woken());
    assert_pending!(future.poll());
    let (_request, send) = assert_ready!(inner.poll()).unwrap();
    send.send_response(Response::new(fed().1));
    assert_ready!(future.poll()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn any_fault_can_be_delayed() {
    let start = Instant::now();
    let fault = Fault::status(StatusCode::BAD_GATEWAY).with_delay(secs(3));
    assert_eq!(one(&FaultLayer::script([fault])).await.unwrap().status(), 502);
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_hang_answers_never_and_calls_nobody() {
    let wait = tokio::time::timeout(secs(1000), one(&FaultLayer::script([Fault::hang()]))).await;
    assert!(wait.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_drop_after_sending_cancels_the_call_that_the_server_got() {
    let (calls, service) = crate::testing::endless();
    let mut service = FaultLayer::script([Fault::drop_after(secs(2))]).layer(service);
    let mut future = task::spawn(service.call(Request::new(())));
    assert_pending!(future.poll());
    assert_eq!(calls.running(), 1);
    tokio::time::advance(secs(1)).await;
    assert_pending!(future.poll());
    tokio::time::advance(secs(2)).await;
    let error = assert_ready!(future.poll()).unwrap_err();
    assert_eq!(error.downcast_ref::<Injected>().unwrap().fault(), "drop_after");
    assert_eq!(calls.running(), 0);
}

#[tokio::test]
async fn a_lost_reply_is_one_that_the_server_gave() {
    let (service, mut handle) = mock::pair::<Request<()>, Response<FedBody>>();
    handle.allow(1);
    let mut service = FaultLayer::script([Fault::lost_reply()]).layer(service);
    let mut future = task::spawn(service.ready().await.unwrap().call(Request::new(())));
    assert_pending!(future.poll());
    let (_request, send) = handle.next_request().await.unwrap();
    let (feed, body) = fed();
    send.send_response(Response::new(body));
    let error = assert_ready!(future.poll()).unwrap_err();
    assert_eq!(error.downcast_ref::<Injected>().unwrap().fault(), "lost_reply");
    assert!(feed.is_gone());
}

#[tokio::test]
async fn a_body_breaks_or_ends_after_exactly_so_many_bytes() {
    for bytes in [0, 1, 4, 9] {
        let mut body = one(&FaultLayer::script([Fault::body_error(bytes)])).await.unwrap().into_body();
        if bytes > 0 {
            assert_eq!(data(&mut body).await.len() as u64, bytes);
        }
        assert!(failure(&mut body).await.is::<Injected>());
        assert!(next(&mut body).await.is_none());

        let reply = one(&FaultLayer::script([Fault::truncate(bytes)])).await.unwrap();
        assert_eq!(reply.body().size_hint().exact(), None);
        let whole = reply.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(whole, &"0123456789"[..bytes as usize]);
    }
    assert_eq!(whole(&FaultLayer::script([Fault::body_error(11)])).await, "0123456789");
}

#[tokio::test(start_paused = true)]
async fn a_body_stalls_after_exactly_so_many_bytes() {
    let mut body = one(&FaultLayer::script([Fault::stall(4)])).await.unwrap().into_body();
    assert_eq!(data(&mut body).await, "0123");
    assert!(tokio::time::timeout(secs(1000), next(&mut body)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_dribble_hands_on_every_byte_piece_by_piece() {
    let layer = FaultLayer::script([Fault::dribble(3, secs(1))]);
    let mut body = one(&layer).await.unwrap().into_body();
    assert_eq!(body.size_hint().exact(), Some(10));
    for (second, piece) in [(1, "012"), (2, "345"), (3, "678"), (4, "9")] {
        let start = Instant::now();
        assert_eq!(data(&mut body).await, piece, "{second}");
        assert_eq!(start.elapsed().as_secs(), 1);
    }
    assert!(next(&mut body).await.is_none());
}

#[tokio::test]
async fn garbage_is_as_long_as_the_body_and_the_same_each_time() {
    let garbage = || async { whole(&FaultLayer::script([Fault::garbage(3)])).await };
    let first = garbage().await;
    assert_eq!(first.len(), 10);
    assert_eq!(first[..3], b"012"[..]);
    assert_ne!(first[3..], b"3456789"[..]);
    assert_eq!(first, garbage().await);
}

#[tokio::test]
async fn a_call_that_passes_has_its_size_and_trailers() {
    let layer = FaultLayer::script([]);
    let reply = one(&layer).await.unwrap();
    assert_eq!(reply.body().size_hint().exact(), Some(10));
    let (feed, inner) = fed();
    feed.data("x");
    feed.trailers();
    drop(feed);
    let body = FaultBody::bent(inner, super::kinds::Bend::No, 0);
    assert!(body.collect().await.unwrap().trailers().is_some());
}

#[tokio::test]
async fn pitfall_1_the_service_that_was_ready_is_the_one_that_is_called() {
    let (service, mut handle) = mock::pair::<Request<()>, Response<FedBody>>();
    handle.allow(1);
    let mut service = FaultLayer::script([]).layer(service);
    // The mock panics when one is called that is not ready.
    let mut future = task::spawn(service.ready().await.unwrap().call(Request::new(())));
    assert_pending!(future.poll());
    assert!(handle.next_request().await.is_some());
    let mut again = task::spawn(service.ready());
    assert_pending!(again.poll(), "the clone that stays starts un-ready");
}
