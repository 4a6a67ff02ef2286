use super::*;
use crate::{
    deadline::{Deadline, DeadlineExceeded},
    testing::{data, failure, fed, next},
};
use bytes::Bytes;
use http_body::Body;
use http_body_util::{BodyExt, Empty, Full};
use std::pin::Pin;
use tokio::time::sleep;
use tokio_test::{assert_pending, task};

#[tokio::test(start_paused = true)]
async fn attempt_covers_the_body_of_a_reply_that_is_no_stream() {
    let config = TimeoutConfig::new().with_attempt(secs(5)).with_idle(secs(1));
    let (feed, inner) = fed();
    let start = Instant::now();
    let mut body = body_after(config, request(), secs(2), JSON, inner).await;
    feed.data("{");
    data(&mut body).await;
    let error = failure(&mut body).await;
    assert_timeout(&error, TimeoutKind::Attempt, Phase::Body, secs(5));
    assert_elapsed(start, secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_dribble_does_not_prolong_an_attempt() {
    let (feed, inner) = fed();
    let start = Instant::now();
    let mut body =
        body_after(TimeoutConfig::new().with_attempt(secs(3)), request(), secs(1), JSON, inner).await;
    let dribble = async {
        loop {
            sleep(Duration::from_millis(300)).await;
            feed.data("x");
        }
    };
    let read = async {
        loop {
            if let Err(error) = next(&mut body).await.unwrap() {
                break error;
            }
        }
    };
    let error = tokio::select! { error = read => error, () = dribble => unreachable!() };
    assert_timeout(&error, TimeoutKind::Attempt, Phase::Body, secs(3));
    assert!(start.elapsed() < secs(4));
}

#[tokio::test(start_paused = true)]
async fn a_stream_longer_than_every_clock_goes_on_while_it_talks() {
    let config = TimeoutConfig::new()
        .with_attempt(secs(2))
        .with_idle(secs(2))
        .with_first_event(secs(2))
        .with_progress(secs(2));
    let (feed, inner) = fed();
    let mut body = body_after(config, streaming(), secs(1), EVENTS, inner).await;
    let talk = async {
        for _ in 0..100 {
            feed.data("data: x\n\n");
            sleep(secs(1)).await;
        }
        drop(feed);
    };
    let read = async {
        let mut frames = 0;
        while let Some(frame) = next(&mut body).await {
            frame.unwrap();
            frames += 1;
        }
        frames
    };
    assert_eq!(tokio::join!(read, talk).0, 100);
}

#[tokio::test(start_paused = true)]
async fn idle_ends_a_stream_that_falls_silent() {
    let (feed, inner) = fed();
    let mut body =
        body_after(TimeoutConfig::new().with_idle(secs(4)), streaming(), secs(3), EVENTS, inner).await;
    let start = Instant::now();
    sleep(secs(1)).await;
    feed.data("data: x\n\n");
    data(&mut body).await;
    let error = failure(&mut body).await;
    assert_timeout(&error, TimeoutKind::Idle, Phase::Body, secs(4));
    assert_elapsed(start, secs(5));
}

#[tokio::test(start_paused = true)]
async fn an_event_stream_that_nobody_asked_for_is_under_the_clocks_of_streams() {
    let config = TimeoutConfig::new().with_attempt(secs(100)).with_idle(secs(3));
    let (_feed, inner) = fed();
    let mut body = body_after(config, request(), secs(50), "text/event-stream; charset=utf-8", inner).await;
    let start = Instant::now();
    let error = failure(&mut body).await;
    assert_timeout(&error, TimeoutKind::Idle, Phase::Body, secs(3));
    assert_elapsed(start, secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_json_reply_to_a_request_for_a_stream_is_under_attempt_from_the_same_start() {
    let config = TimeoutConfig::new().with_attempt(secs(10)).with_idle(secs(8));
    let (_feed, inner) = fed();
    let start = Instant::now();
    let mut body = body_after(config, streaming(), secs(7), JSON, inner).await;
    let error = failure(&mut body).await;
    assert_timeout(&error, TimeoutKind::Attempt, Phase::Body, secs(10));
    assert_elapsed(start, secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_reply_without_a_content_type_is_what_the_request_asked_for() {
    let config = TimeoutConfig::new().with_attempt(secs(10)).with_idle(secs(3));
    let (_feed, inner) = fed();
    let mut body = body_after(config, streaming(), secs(1), "", inner).await;
    assert_timeout(&failure(&mut body).await, TimeoutKind::Idle, Phase::Body, secs(3));
    let (_feed, inner) = fed();
    let mut body = body_after(config, request(), secs(1), "", inner).await;
    assert_timeout(&failure(&mut body).await, TimeoutKind::Attempt, Phase::Body, secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_grpc_reply_has_idle_and_attempt_only_if_it_came_with_the_request() {
    let config = TimeoutConfig::new().with_attempt(secs(2)).with_idle(secs(3));
    let (feed, inner) = fed();
    let mut body = body_after(config, request(), secs(1), GRPC, inner).await;
    let talk = async {
        for _ in 0..5 {
            sleep(secs(2)).await;
            feed.data("x");
        }
    };
    let read = async {
        for _ in 0..5 {
            data(&mut body).await;
        }
        failure(&mut body).await
    };
    let error = tokio::join!(read, talk).0;
    assert_timeout(&error, TimeoutKind::Idle, Phase::Body, secs(3));

    let mut request = request();
    request.extensions_mut().insert(config);
    let (_feed, inner) = fed();
    let mut body = body_after(config, request, secs(1), GRPC, inner).await;
    assert_timeout(&failure(&mut body).await, TimeoutKind::Attempt, Phase::Body, secs(2));
}

#[tokio::test(start_paused = true)]
async fn the_first_data_is_the_first_content_where_nobody_marks_it() {
    let config = TimeoutConfig::new().with_first_event(secs(5));
    let (feed, inner) = fed();
    let start = Instant::now();
    let mut body = body_after(config, streaming(), secs(2), EVENTS, inner).await;
    feed.data("");
    data(&mut body).await;
    let error = failure(&mut body).await;
    assert_timeout(&error, TimeoutKind::FirstEvent, Phase::Body, secs(5));
    assert_elapsed(start, secs(5));

    let (feed, inner) = fed();
    let mut body = body_after(config, streaming(), secs(2), EVENTS, inner).await;
    feed.data("data: x\n\n");
    data(&mut body).await;
    let mut wait = task::spawn(next(&mut body));
    assert_pending!(wait.poll());
    tokio::time::advance(secs(100)).await;
    assert_pending!(wait.poll());
}

#[tokio::test(start_paused = true)]
async fn keep_alives_are_no_content_where_content_is_marked() {
    let config = TimeoutConfig::new().with_idle(secs(2)).with_first_event(secs(10));
    let progress = Progress::new();
    progress.mark(); // of an earlier try
    let mut request = streaming();
    request.extensions_mut().insert(progress.clone());
    let (feed, inner) = fed();
    let start = Instant::now();
    let mut body = body_after(config, request, secs(1), EVENTS, inner).await;
    let pings = async {
        loop {
            sleep(secs(1)).await;
            feed.data(": ping\n\n");
        }
    };
    let read = async {
        loop {
            if let Err(error) = next(&mut body).await.unwrap() {
                break error;
            }
        }
    };
    let error = tokio::select! { error = read => error, () = pings => unreachable!() };
    assert_timeout(&error, TimeoutKind::FirstEvent, Phase::Body, secs(10));
    assert_elapsed(start, secs(10));
}

#[tokio::test(start_paused = true)]
async fn pitfall_37_pings_prove_the_connection_and_no_progress() {
    let config = TimeoutConfig::new().with_idle(secs(2)).with_first_event(secs(100)).with_progress(secs(10));
    let progress = Progress::new();
    let mut request = streaming();
    request.extensions_mut().insert(progress.clone());
    let (feed, inner) = fed();
    let mut body = body_after(config, request, secs(1), EVENTS, inner).await;

    feed.data("data: x\n\n");
    data(&mut body).await;
    progress.mark();
    let start = Instant::now();
    let pings = async {
        loop {
            sleep(secs(1)).await;
            feed.data(": ping\n\n");
        }
    };
    let read = async {
        loop {
            if let Err(error) = next(&mut body).await.unwrap() {
                break error;
            }
        }
    };
    let error = tokio::select! { error = read => error, () = pings => unreachable!() };
    assert_timeout(&error, TimeoutKind::Progress, Phase::Body, secs(10));
    assert_elapsed(start, secs(10));
}

#[tokio::test(start_paused = true)]
async fn each_mark_gives_progress_its_whole_time_again() {
    let config = TimeoutConfig::new().with_progress(secs(5));
    let progress = Progress::new();
    let mut request = streaming();
    request.extensions_mut().insert(progress.clone());
    let (feed, inner) = fed();
    let mut body = body_after(config, request, secs(1), EVENTS, inner).await;
    for _ in 0..10 {
        feed.data("data: x\n\n");
        data(&mut body).await;
        progress.mark();
        let ping = async {
            sleep(secs(4)).await;
            feed.data(": ping\n\n");
        };
        tokio::join!(data(&mut body), ping);
    }
    // The last mark was four seconds of waiting ago.
    let start = Instant::now();
    assert_timeout(&failure(&mut body).await, TimeoutKind::Progress, Phase::Body, secs(5));
    assert_elapsed(start, secs(1));
}

#[tokio::test(start_paused = true)]
async fn content_that_another_task_marks_during_a_wait_counts() {
    let config = TimeoutConfig::new().with_first_event(secs(5)).with_progress(secs(3));
    let progress = Progress::new();
    let mut request = streaming();
    request.extensions_mut().insert(progress.clone());
    let (_feed, inner) = fed();
    let start = Instant::now();
    let mut body = body_after(config, request, secs(1), EVENTS, inner).await;
    let mark = async {
        sleep(secs(1)).await;
        progress.mark();
    };
    let (error, ()) = tokio::join!(failure(&mut body), mark);
    // It is seen when the timer of the first event fires, and progress begins there.
    assert_timeout(&error, TimeoutKind::Progress, Phase::Body, secs(3));
    assert_elapsed(start, secs(8));
}

#[tokio::test(start_paused = true)]
async fn pitfall_7_data_that_came_in_time_but_was_read_late_is_good() {
    for (content_type, request) in [(EVENTS, streaming()), (JSON, request())] {
        let config = TimeoutConfig::new().with_attempt(secs(5)).with_idle(secs(5)).with_first_event(secs(5));
        let (feed, inner) = fed();
        let mut body = body_after(config, request, secs(1), content_type, inner).await;
        {
            let mut wait = task::spawn(next(&mut body));
            assert_pending!(wait.poll());
        }
        tokio::time::advance(secs(1)).await;
        feed.data("one");
        feed.data("two");
        tokio::time::advance(secs(60)).await;
        assert_eq!(data(&mut body).await, "one");
        assert_eq!(data(&mut body).await, "two");
        // The reader came late, the server did not: it has the time that it had.
        let mut wait = task::spawn(next(&mut body));
        assert_pending!(wait.poll());
        tokio::time::advance(secs(1)).await;
        assert_pending!(wait.poll());
    }
}

#[tokio::test(start_paused = true)]
async fn pitfall_14_a_slow_consumer_is_not_a_silent_provider() {
    let clocks = [
        (EVENTS, TimeoutConfig::new().with_idle(secs(3)), TimeoutKind::Idle),
        (EVENTS, TimeoutConfig::new().with_first_event(secs(3)), TimeoutKind::FirstEvent),
        (JSON, TimeoutConfig::new().with_attempt(secs(3)), TimeoutKind::Attempt),
    ];
    for (content_type, config, kind) in clocks {
        let (_feed, inner) = fed();
        let mut body = body_after(config, request(), Duration::ZERO, content_type, inner).await;
        // Away before the first look.
        sleep(secs(60)).await;
        let start = Instant::now();
        assert_timeout(&failure(&mut body).await, kind, Phase::Body, secs(3));
        assert_elapsed(start, secs(3));
    }
}

#[tokio::test(start_paused = true)]
async fn pitfall_14_what_a_consumer_takes_between_frames_is_not_the_providers() {
    let progress = TimeoutConfig::new().with_progress(secs(3));
    let attempt = TimeoutConfig::new().with_attempt(secs(3));
    for (content_type, config) in [(EVENTS, progress), (JSON, attempt)] {
        let (feed, inner) = fed();
        let mut body = body_after(config, request(), Duration::ZERO, content_type, inner).await;
        for _ in 0..10 {
            feed.data("data: x\n\n");
            data(&mut body).await;
            sleep(secs(60)).await;
        }
        let start = Instant::now();
        failure(&mut body).await;
        assert_elapsed(start, secs(3));
    }
}

#[tokio::test(start_paused = true)]
async fn pitfall_8_size_and_end_are_those_of_the_inner_body() {
    let body = TimeoutBody::idle(Full::new(Bytes::from("12345")), secs(1));
    assert_eq!(body.size_hint().exact(), Some(5));
    assert!(!body.is_end_stream());
    assert!(TimeoutBody::idle(Empty::<Bytes>::new(), secs(1)).is_end_stream());
    let bounded = TimeoutBody::idle(fed().1.with_hint(3, Some(9)), secs(1));
    assert_eq!((bounded.size_hint().lower(), bounded.size_hint().upper()), (3, Some(9)));
    assert_eq!(SentBody::new(Full::new(Bytes::from("12345"))).size_hint().exact(), Some(5));
    assert!(SentBody::new(Empty::<Bytes>::new()).is_end_stream());
}

#[tokio::test(start_paused = true)]
async fn pitfall_9_and_10_trailers_pass_and_the_end_comes_once() {
    let (feed, inner) = fed();
    feed.data("x");
    feed.trailers();
    drop(feed);
    let collected = TimeoutBody::idle(inner, secs(1)).collect().await.unwrap();
    assert_eq!(collected.trailers().unwrap()["grpc-status"], "0");
    assert_eq!(collected.to_bytes(), "x");

    let mut body = TimeoutBody::idle(Full::new(Bytes::from("x")), secs(1));
    data(&mut body).await;
    assert!(body.is_end_stream());
    assert!(next(&mut body).await.is_none());
    assert!(next(&mut body).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn pitfall_11_after_an_error_it_is_at_its_end_and_the_inner_body_is_gone() {
    // Its own error.
    let (feed, inner) = fed();
    let mut body = TimeoutBody::idle(inner.with_hint(7, Some(7)), secs(1));
    failure(&mut body).await;
    assert!(feed.is_gone());
    assert!(body.is_end_stream());
    assert_eq!(body.size_hint().exact(), Some(0));
    assert!(next(&mut body).await.is_none());
    // That of the inner body.
    let (feed, inner) = fed();
    let mut body = TimeoutBody::idle(inner, secs(1));
    feed.error();
    assert_eq!(failure(&mut body).await.to_string(), "broken");
    assert!(feed.is_gone());
    assert!(next(&mut body).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn pitfall_12_a_body_dropped_at_any_point_lets_the_inner_body_go() {
    for frames in 0..4 {
        let (feed, inner) = fed();
        let config = TimeoutConfig::new().with_idle(secs(5)).with_first_event(secs(5));
        let mut body = body_after(config, streaming(), secs(1), EVENTS, inner).await;
        for _ in 0..frames {
            feed.data("x");
            data(&mut body).await;
        }
        {
            let mut wait = task::spawn(next(&mut body));
            assert_pending!(wait.poll());
        }
        assert!(!feed.is_gone());
        drop(body);
        assert!(feed.is_gone());
    }
}

#[tokio::test(start_paused = true)]
async fn one_timer_serves_the_whole_stream_and_is_not_set_per_frame() {
    let config = TimeoutConfig::new().with_idle(secs(10)).with_first_event(secs(20)).with_progress(secs(30));
    let (feed, inner) = fed();
    let mut body = body_after(config, streaming(), secs(1), EVENTS, inner).await;
    let talk = async {
        for _ in 0..1000 {
            sleep(Duration::from_millis(100)).await;
            feed.data("data: x\n\n");
        }
    };
    let read = async {
        for _ in 0..1000 {
            data(&mut body).await;
        }
    };
    tokio::join!(read, talk);
    // 100 s at a wait of 10 s each: about once per wait that could have run out, not once per frame.
    assert!(body.arms() <= 12, "{}", body.arms());
}

#[tokio::test(start_paused = true)]
async fn no_timer_is_made_for_what_is_never_waited_for() {
    let (feed, inner) = fed();
    let mut body = TimeoutBody::idle(inner, secs(1));
    feed.data("a");
    feed.data("b");
    drop(feed);
    data(&mut body).await;
    data(&mut body).await;
    assert_eq!(body.arms(), 0);
    assert!(next(&mut body).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_due_sooner_than_the_one_the_timer_is_set_for_is_not_missed() {
    // Set for an attempt of 100 s; the head then says that idle holds.
    let config = TimeoutConfig::new().with_attempt(secs(100)).with_idle(secs(50)).with_progress(secs(2));
    let (feed, inner) = fed();
    let mut body = body_after(config, request(), secs(10), EVENTS, inner).await;
    {
        let mut wait = task::spawn(next(&mut body));
        assert_pending!(wait.poll());
    }
    // Set for 50 s of idle; the first content then starts progress.
    feed.data("data: x\n\n");
    data(&mut body).await;
    let start = Instant::now();
    assert_timeout(&failure(&mut body).await, TimeoutKind::Progress, Phase::Body, secs(2));
    assert_elapsed(start, secs(2));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_body_whoever_is_slow() {
    let mut request = streaming();
    request.extensions_mut().insert(Deadline::after(secs(10)));
    let (feed, inner) = fed();
    let mut body =
        body_after(TimeoutConfig::new().with_idle(secs(60)), request, secs(1), EVENTS, inner).await;
    sleep(secs(30)).await;
    feed.data("late but there");
    data(&mut body).await;
    let start = Instant::now();
    assert!(failure(&mut body).await.is::<DeadlineExceeded>());
    assert_elapsed(start, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_waker_that_changes_is_the_one_that_is_woken() {
    let (_feed, inner) = fed();
    let mut body = TimeoutBody::idle(inner, secs(1));
    {
        let mut first = task::spawn(());
        first.enter(|cx, _| assert!(Pin::new(&mut body).poll_frame(cx).is_pending()));
    }
    let mut second = task::spawn(());
    second.enter(|cx, _| assert!(Pin::new(&mut body).poll_frame(cx).is_pending()));
    tokio::time::advance(secs(2)).await;
    assert!(second.is_woken());
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_falls_silent_is_the_callers_doing() {
    let (_feed, inner) = fed();
    let mut body = TimeoutBody::upload(inner, secs(3));
    let error = failure(&mut body).await;
    assert_timeout(&error, TimeoutKind::UploadIdle, Phase::Upload, secs(3));
    let verdict = error.downcast_ref::<TimeoutError>().unwrap().verdict();
    assert_eq!(verdict.status.unwrap(), 408);
}
