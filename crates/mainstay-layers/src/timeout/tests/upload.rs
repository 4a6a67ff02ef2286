use super::*;
use crate::{
    deadline::{Deadline, DeadlineExceeded},
    testing::{Feed, data, failure, fed, next},
};
use tokio::time::sleep;
use tokio_test::{assert_pending, task};

fn upload() -> (Feed, Request<FedBody>) {
    let (feed, body) = fed();
    (feed, Request::new(body))
}

#[tokio::test(start_paused = true)]
async fn the_clocks_count_from_the_moment_the_request_was_sent_whole() {
    let attempt = (TimeoutConfig::new().with_attempt(secs(2)), false, TimeoutKind::Attempt);
    let idle = (TimeoutConfig::new().with_idle(secs(2)), true, TimeoutKind::Idle);
    let first = (TimeoutConfig::new().with_first_event(secs(2)), true, TimeoutKind::FirstEvent);
    for (config, stream, kind) in [attempt, idle, first] {
        let (mut under, mut handle) = under(config);
        let (feed, mut request) = upload();
        request.extensions_mut().insert(Streaming(stream));
        let start = Instant::now();
        let (future, request, _send) = call(&mut under, &mut handle, request).await;
        // A slow caller: 20 s of upload, with silences longer than the clock.
        let send = async move {
            for _ in 0..4 {
                sleep(secs(5)).await;
                feed.data("piece");
            }
        };
        let (result, (), ()) = tokio::join!(future, sent(request), send);
        assert_timeout(&result.unwrap_err(), kind, Phase::Head, secs(2));
        assert_elapsed(start, secs(22));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_no_more_of_the_upload_is_silent() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_attempt(secs(2)));
    let (feed, request) = upload();
    feed.data("one");
    feed.data("two");
    let (future, request, _send) = call(&mut under, &mut handle, request).await;
    let start = Instant::now();
    let take_one = async {
        let mut body = request.into_body();
        sleep(secs(1)).await;
        data(&mut body).await;
        body
    };
    let (result, _body) = tokio::join!(future, take_one);
    assert_timeout(&result.unwrap_err(), TimeoutKind::Attempt, Phase::Head, secs(2));
    assert_elapsed(start, secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_takes_the_request_is_silent_from_the_start() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_attempt(secs(2)));
    let (_feed, request) = upload();
    let start = Instant::now();
    let (future, _request, _send) = call(&mut under, &mut handle, request).await;
    assert_timeout(&future.await.unwrap_err(), TimeoutKind::Attempt, Phase::Head, secs(2));
    assert_elapsed(start, secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_does_not_stand_still_for_an_upload() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_attempt(secs(2)));
    let (_feed, mut request) = upload();
    request.extensions_mut().insert(Deadline::after(secs(7)));
    let start = Instant::now();
    let (future, request, _send) = call(&mut under, &mut handle, request).await;
    let error =
        tokio::select! { result = future => result.unwrap_err(), () = sent(request) => unreachable!() };
    assert!(error.is::<DeadlineExceeded>());
    assert_elapsed(start, secs(7));
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_is_given_up_is_over() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_attempt(secs(2)));
    let (_feed, request) = upload();
    let start = Instant::now();
    let (future, request, _send) = call(&mut under, &mut handle, request).await;
    let give_up = async {
        let mut body = request.into_body();
        tokio::select! { _ = next(&mut body) => unreachable!(), () = sleep(secs(5)) => {} }
        drop(body);
    };
    let (result, ()) = tokio::join!(future, give_up);
    assert_timeout(&result.unwrap_err(), TimeoutKind::Attempt, Phase::Head, secs(2));
    assert_elapsed(start, secs(7));
}

#[tokio::test(start_paused = true)]
async fn a_head_that_comes_before_the_request_is_sent_does_not_start_the_attempt() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_attempt(secs(2)));
    let (feed, request) = upload();
    let start = Instant::now();
    let (future, request, send) = call(&mut under, &mut handle, request).await;
    let (_reply_feed, reply_body) = fed();
    send.send_response(reply(JSON, reply_body));
    let mut body = future.await.unwrap().into_body();
    let upload = async move {
        sleep(secs(10)).await;
        feed.data("last");
    };
    let (error, (), ()) = tokio::join!(failure(&mut body), sent(request), upload);
    assert_timeout(&error, TimeoutKind::Attempt, Phase::Body, secs(2));
    assert_elapsed(start, secs(12));
}

#[tokio::test(start_paused = true)]
async fn a_grpc_request_that_stays_open_does_not_hold_the_idle_clock_of_the_reply() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_idle(secs(2)));
    let (_feed, request) = upload();
    let (future, request, send) = call(&mut under, &mut handle, request).await;
    let (_reply_feed, reply_body) = fed();
    send.send_response(reply(GRPC, reply_body));
    let mut body = future.await.unwrap().into_body();
    let error = tokio::select! { error = failure(&mut body) => error, () = sent(request) => unreachable!() };
    assert_timeout(&error, TimeoutKind::Idle, Phase::Body, secs(2));
}

#[tokio::test(start_paused = true)]
async fn the_request_passes_frame_by_frame_with_its_trailers() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_attempt(secs(2)));
    let (feed, request) = upload();
    let (future, request, send) = call(&mut under, &mut handle, request).await;
    feed.data("one");
    feed.trailers();
    drop(feed);
    let mut body = request.into_body();
    assert_eq!(data(&mut body).await, "one");
    assert!(next(&mut body).await.unwrap().unwrap().is_trailers());
    assert!(next(&mut body).await.is_none());
    send.send_response(reply(JSON, fed().1));
    future.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_slow_upload_costs_no_timer_setting_per_frame() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_attempt(secs(10)));
    let (feed, request) = upload();
    let (future, request, send) = call(&mut under, &mut handle, request).await;
    let mut future = task::spawn(future);
    assert_pending!(future.poll());
    let mut body = request.into_body();
    for _ in 0..100 {
        feed.data("x");
        data(&mut body).await;
        tokio::time::advance(Duration::from_millis(200)).await;
        if future.is_woken() {
            assert_pending!(future.poll());
        }
    }
    send.send_response(reply(JSON, fed().1));
    let body = tokio_test::assert_ready!(future.poll()).unwrap().into_body();
    assert!(body.arms() <= 3, "{}", body.arms());
}

#[tokio::test(start_paused = true)]
async fn a_short_clock_is_not_missed_after_a_long_one_stood_still() {
    let config = TimeoutConfig::new().with_idle(secs(5)).with_first_event(secs(30));
    let (mut under, mut handle) = under(config);
    let (feed, mut request) = upload();
    request.extensions_mut().insert(Streaming(true));
    request.extensions_mut().insert(Progress::new());
    let (future, request, send) = call(&mut under, &mut handle, request).await;
    let (pings, reply_body) = fed();
    send.send_response(reply(EVENTS, reply_body));
    let mut body = future.await.unwrap().into_body();
    let start = Instant::now();
    // The reply pings until first_event would be due; the upload goes on after that, and then all is silent.
    let server = async {
        for _ in 0..10 {
            sleep(secs(3)).await;
            pings.data(": ping\n\n");
        }
    };
    let upload = async move {
        sleep(secs(33)).await;
        drop(feed);
    };
    let read = async {
        loop {
            if let Err(error) = next(&mut body).await.unwrap() {
                break error;
            }
        }
    };
    let (error, (), (), ()) = tokio::join!(read, server, upload, sent(request));
    assert_timeout(&error, TimeoutKind::Idle, Phase::Body, secs(5));
    assert_elapsed(start, secs(38));
}

#[tokio::test(start_paused = true)]
async fn what_was_waited_before_the_request_was_sent_whole_is_not_charged() {
    let (mut under, mut handle) = under(TimeoutConfig::new().with_attempt(secs(4)));
    let (feed, request) = upload();
    let (future, request, send) = call(&mut under, &mut handle, request).await;
    let (replies, reply_body) = fed();
    send.send_response(reply(JSON, reply_body));
    let mut body = future.await.unwrap().into_body();
    let start = Instant::now();
    let server = async {
        sleep(secs(3)).await;
        replies.data("early");
    };
    let upload = async move {
        sleep(secs(6)).await;
        drop(feed);
    };
    let read = async {
        data(&mut body).await;
        failure(&mut body).await
    };
    let (error, (), (), ()) = tokio::join!(read, server, upload, sent(request));
    assert_timeout(&error, TimeoutKind::Attempt, Phase::Body, secs(4));
    assert_elapsed(start, secs(10));
}
