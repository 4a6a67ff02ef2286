use super::*;
use crate::deadline::{Deadline, DeadlineExceeded};
use tokio_test::{assert_pending, assert_ready, task};

#[tokio::test(start_paused = true)]
async fn attempt_ends_a_call_that_gets_no_head() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_attempt(secs(2)));
    let start = Instant::now();
    let (future, request, _send) = call(&mut under, &mut handle, request()).await;
    let (result, ()) = tokio::join!(future, sent(request));
    assert_timeout(&result.unwrap_err(), TimeoutKind::Attempt, Phase::Head, secs(2));
    assert_elapsed(start, secs(2));
}

#[tokio::test(start_paused = true)]
async fn idle_counts_the_wait_for_a_streams_head_and_attempt_does_not_run() {
    let config = TimeoutConfig::new().with_attempt(secs(1)).with_idle(secs(4));
    let (mut under, mut handle) = under(config);
    let start = Instant::now();
    let (future, request, _send) = call(&mut under, &mut handle, streaming()).await;
    let (result, ()) = tokio::join!(future, sent(request));
    assert_timeout(&result.unwrap_err(), TimeoutKind::Idle, Phase::Head, secs(4));
    assert_elapsed(start, secs(4));
}

#[tokio::test(start_paused = true)]
async fn first_event_counts_the_wait_for_the_head() {
    let config = TimeoutConfig::new().with_idle(secs(9)).with_first_event(secs(3));
    let (mut under, mut handle) = under(config);
    let start = Instant::now();
    let (future, request, _send) = call(&mut under, &mut handle, streaming()).await;
    let (result, ()) = tokio::join!(future, sent(request));
    assert_timeout(&result.unwrap_err(), TimeoutKind::FirstEvent, Phase::Head, secs(3));
    assert_elapsed(start, secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_no_stream_is_under_attempt_alone() {
    let config = TimeoutConfig::new().with_idle(secs(1)).with_first_event(secs(1)).with_progress(secs(1));
    let (mut under, mut handle) = under(config);
    let (future, request, send) = call(&mut under, &mut handle, request()).await;
    let mut future = task::spawn(future);
    assert_pending!(future.poll());
    sent(request).await;
    tokio::time::advance(secs(1000)).await;
    assert_pending!(future.poll());
    send.send_response(reply(JSON, fed().1));
    assert_ready!(future.poll()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_head_that_came_in_time_but_is_looked_at_late_is_good() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_attempt(secs(2)));
    let (future, request, send) = call(&mut under, &mut handle, request()).await;
    let mut future = task::spawn(future);
    assert_pending!(future.poll());
    drop(request);
    send.send_response(reply(JSON, fed().1));
    tokio::time::advance(secs(10)).await;
    assert_ready!(future.poll()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_grpc_call_has_idle_and_no_attempt_of_the_layers() {
    let config = TimeoutConfig::new().with_attempt(secs(1)).with_idle(secs(3));
    let (mut under, mut handle) = under(config);
    let mut request = request();
    request.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/grpc+proto"));
    let (future, request, _send) = call(&mut under, &mut handle, request).await;
    let (result, ()) = tokio::join!(future, sent(request));
    assert_timeout(&result.unwrap_err(), TimeoutKind::Idle, Phase::Head, secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_grpc_call_has_the_attempt_that_came_with_it() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_idle(secs(9)));
    let mut request = request();
    request.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(GRPC));
    request.extensions_mut().insert(TimeoutConfig::new().with_attempt(secs(2)).with_idle(secs(3)));
    let (future, request, _send) = call(&mut under, &mut handle, request).await;
    let (result, ()) = tokio::join!(future, sent(request));
    assert_timeout(&result.unwrap_err(), TimeoutKind::Attempt, Phase::Head, secs(2));
}

#[tokio::test(start_paused = true)]
async fn what_comes_with_the_request_replaces_the_layers_clocks_whole() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_attempt(secs(1)));
    let mut request = request();
    request.extensions_mut().insert(TimeoutConfig::new());
    let (future, request, _send) = call(&mut under, &mut handle, request).await;
    let mut future = task::spawn(future);
    assert_pending!(future.poll());
    drop(request);
    tokio::time::advance(secs(1000)).await;
    assert_pending!(future.poll());
}

#[tokio::test(start_paused = true)]
async fn zero_is_off_wherever_it_is_written() {
    let mut zeros = TimeoutConfig::new().with_attempt(Duration::ZERO);
    zeros.idle = Some(Duration::ZERO);
    assert!(zeros.is_off());
    let (mut under, mut handle) = under(zeros);
    let (future, _request, _send) = call(&mut under, &mut handle, request()).await;
    let mut future = task::spawn(future);
    tokio::time::advance(secs(1000)).await;
    assert_pending!(future.poll());
}

#[tokio::test(start_paused = true)]
async fn a_time_that_no_clock_can_hold_is_no_clock() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_attempt(Duration::MAX));
    let (future, _request, send) = call(&mut under, &mut handle, request()).await;
    let mut future = task::spawn(future);
    assert_pending!(future.poll());
    send.send_response(reply(JSON, fed().1));
    let mut body = assert_ready!(future.poll()).unwrap().into_body();
    assert!(crate::testing::next(&mut body).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_the_request_is_obeyed_without_any_clock() {
    let (mut under, mut handle) = under(TimeoutConfig::new());
    let mut request = request();
    request.extensions_mut().insert(Deadline::after(secs(5)));
    let start = Instant::now();
    let (future, _request, _send) = call(&mut under, &mut handle, request).await;
    let error = future.await.unwrap_err();
    assert!(error.is::<DeadlineExceeded>());
    assert_elapsed(start, secs(5));
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_inner_service_passes_as_it_is() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_attempt(secs(1)));
    let (future, _request, send) = call(&mut under, &mut handle, request()).await;
    send.send_error("refused");
    assert_eq!(future.await.unwrap_err().to_string(), "refused");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_or_timed_out_lets_the_inner_call_go_at_once() {
    for timed_out in [false, true] {
        let (calls, service) = crate::testing::endless::<Sent>();
        let mut under = TimeoutLayer::new(TimeoutConfig::new().with_attempt(secs(1))).layer(service);
        let mut future = task::spawn(under.call(request()));
        assert_pending!(future.poll());
        assert_eq!(calls.running(), 1);
        if timed_out {
            tokio::time::advance(secs(2)).await;
            assert_ready!(future.poll()).unwrap_err();
            assert_eq!(calls.running(), 0, "before the future is dropped");
        }
        drop(future);
        assert_eq!(calls.running(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn pitfalls_1_to_4_ready_is_the_inner_services_and_nothing_more() {
    let (service, mut handle) = mock::pair::<Sent, Response<FedBody>>();
    let mut under = task::spawn(TimeoutLayer::default().layer(service));
    handle.allow(0);
    let poll = under.enter(|cx, mut service| Service::<Request<FedBody>>::poll_ready(&mut *service, cx));
    assert_pending!(poll);
    handle.allow(1);
    let poll = under.enter(|cx, mut service| Service::<Request<FedBody>>::poll_ready(&mut *service, cx));
    assert_ready!(poll).unwrap();
}
