//! Request bodies, through the whole layer.

use super::{script::Step, *};
use parking_lot::Mutex;
use std::sync::Arc;

fn upload() -> Script {
    Script::new([Step::Data(b"a "), Step::Yield, Step::Data(b"long "), Step::Yield, Step::Data(b"question")])
}

/// A service whose first try reads this many frames and fails; the second reads all.
fn reads_at_first(frames: usize) -> Probe<ReplayBody<Script>, Script> {
    Probe::new(move |n, request| async move {
        let mut body: ReplayBody<Script> = request.into_body();
        if n == 1 {
            for _ in 0..frames {
                body.frame().await.unwrap().unwrap();
            }
            return Ok(status(503));
        }
        assert_eq!(body.collect().await.unwrap().to_bytes(), "a long question");
        Ok(status(200))
    })
}

#[tokio::test(start_paused = true)]
async fn pitfall_16_the_body_is_replayed_whole_however_much_the_first_try_read_of_it() {
    for frames in 0..=3 {
        let reply = exact().layer(reads_at_first(frames)).oneshot(Request::new(upload())).await.unwrap();
        assert_eq!(reply.status(), 200, "{frames} frames read");
    }
}

#[tokio::test(start_paused = true)]
async fn pitfall_17_a_reply_that_overtakes_its_request_is_not_retried_with_half_a_body() {
    // The first try's upload goes on after its reply has come, as a connection's does.
    let left = Arc::<Mutex<Option<ReplayBody<Script>>>>::default();
    let keep = left.clone();
    let probe = Probe::<ReplayBody<Script>, Script>::new(move |n, request| {
        let keep = keep.clone();
        async move {
            let mut body = request.into_body();
            if n == 1 {
                body.frame().await.unwrap().unwrap();
                *keep.lock() = Some(body);
                return Ok(status(429));
            }
            assert_eq!(body.collect().await.unwrap().to_bytes(), "a long question");
            Ok(status(200))
        }
    });
    let reply = exact().layer(probe).oneshot(Request::new(upload())).await.unwrap();
    assert_eq!(reply.status(), 200);
    // What is left of the first upload is told that it is of no use any more: no end that looks like one, no hanging.
    let body = left.lock().take().unwrap();
    assert!(body.collect().await.unwrap_err().is::<ReplayError>());
}

#[tokio::test(start_paused = true)]
async fn over_the_cap_the_call_goes_through_and_is_not_retried() {
    for (cap, retried) in [(15, true), (14, false)] {
        let probe = reads_at_first(3);
        let layer = exact().with_replay_cap(cap);
        let reply = layer.layer(probe.clone()).oneshot(Request::new(upload())).await.unwrap();
        assert_eq!(probe.calls(), if retried { 2 } else { 1 });
        if !retried {
            assert_eq!(outcome(&reply).reason, Some(GiveUp::BodyLost));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_fails_is_not_tried_again() {
    let probe = Probe::<ReplayBody<Script>, Script>::new(|_, request| async move {
        request.into_body().collect().await?;
        Ok(status(200))
    });
    let body = Script::new([Step::Data(b"a "), Step::Fail]);
    let error = exact().layer(probe.clone()).oneshot(Request::new(body)).await.unwrap_err();
    assert_eq!((probe.calls(), outcome_of(&error).reason), (1, Some(GiveUp::BodyLost)));
}

#[tokio::test(start_paused = true)]
async fn each_try_announces_one_correct_length() {
    use http_body::Body;
    let lengths = Arc::<Mutex<Vec<_>>>::default();
    let noted = lengths.clone();
    let probe = Probe::<ReplayBody<Script>, Script>::new(move |_, request| {
        let noted = noted.clone();
        async move {
            noted.lock().push(request.body().size_hint().exact());
            request.into_body().collect().await.unwrap();
            Ok(status(503))
        }
    });
    exact().layer(probe.clone()).oneshot(Request::new(upload().sized())).await.unwrap();
    assert_eq!(*lengths.lock(), [Some(15); 3]);
    lengths.lock().clear();
    exact().layer(probe).oneshot(Request::new(upload())).await.unwrap();
    assert_eq!(*lengths.lock(), [None, Some(15), Some(15)], "known once it was read");
}

#[tokio::test(start_paused = true)]
async fn nothing_more_is_recorded_once_the_outcome_is_handed_up() {
    // A reply that comes while the request is being sent, as in a conversation.
    let left = Arc::<Mutex<Option<ReplayBody<Script>>>>::default();
    let keep = left.clone();
    let probe = Probe::<ReplayBody<Script>, Script>::new(move |_, request| {
        let keep = keep.clone();
        async move {
            let mut body = request.into_body();
            body.frame().await.unwrap().unwrap();
            *keep.lock() = Some(body);
            Ok(status(200))
        }
    });
    exact().layer(probe).oneshot(Request::new(upload())).await.unwrap();
    let body = left.lock().take().unwrap();
    assert!(!body.is_replayable());
    assert_eq!(body.collect().await.unwrap().to_bytes(), "long question");
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_goes_over_the_cap_in_the_sleep_is_not_sent_again() {
    let left = Arc::<Mutex<Option<ReplayBody<Script>>>>::default();
    let keep = left.clone();
    let probe = Probe::<ReplayBody<Script>, Script>::new(move |_, request| {
        *keep.lock() = Some(request.into_body());
        async { Ok(status(429)) }
    });
    let service = exact().with_replay_cap(7).layer(probe.clone());
    let mut call = tokio_test::task::spawn(service.oneshot(Request::new(upload())));
    assert!(call.poll().is_pending(), "nothing was read of the body, so there will be a second try");
    let late = left.lock().take().unwrap();
    late.collect().await.unwrap();
    tokio::time::sleep(secs(2)).await;
    let reply = tokio_test::assert_ready!(call.poll()).unwrap();
    assert_eq!((probe.calls(), outcome(&reply).reason), (1, Some(GiveUp::BodyLost)));
    assert_eq!(text(reply).await, "sorry");
}
