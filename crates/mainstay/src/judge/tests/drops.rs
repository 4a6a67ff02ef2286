//! A call or a body that is dropped, at any moment, frees what is below.

use super::*;
use std::task::Waker;

fn polled<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Frames with a wait before each, so that there is a poll to be dropped after.
fn slow(texts: &[&str]) -> Vec<Act> {
    texts.iter().flat_map(|text| [Act::Wait(Duration::from_millis(1)), data(text)]).collect()
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_after_any_poll_frees_the_body_below() {
    let plays = [
        (Play::default(), vec![PING, ROLE, ROLE, HI]),
        (json(), vec!["{\"choices\":[{\"message\":", "{\"content\":\"Hi\"}}", "]}"]),
        (Play { status: 500, ..json() }, vec!["{\"error\":", "{}", "}"]),
    ];
    for (play, texts) in plays {
        for polls in 0..8 {
            let body = Script::new(slow(&texts));
            let alive = body.alive();
            let mut call = Box::pin(play.call(body));
            for _ in 0..polls {
                if polled(call.as_mut()).is_ready() {
                    break;
                }
                tokio::time::advance(Duration::from_millis(1)).await;
            }
            drop(call);
            assert_eq!(alive.load(Relaxed), 0, "{polls} {texts:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_dropped_after_any_frame_frees_the_body_below() {
    for frames in 0..5 {
        let body = Script::new(slow(&[HI, HI, STOP, DONE]).into_iter().chain([Act::Hang]));
        let alive = body.alive();
        let mut body = Play::default().call(body).await.unwrap().into_body();
        for _ in 0..frames {
            body.frame().await;
        }
        drop(body);
        assert_eq!(alive.load(Relaxed), 0, "{frames}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_whole_reply_has_let_the_body_below_go_before_it_is_handed_on() {
    let body = Script::new([data(ANSWER)]);
    let alive = body.alive();
    let mut call = Box::pin(json().call(body));
    let response = call.as_mut().await.unwrap();
    assert_eq!(alive.load(Relaxed), 0, "the future is still here, the body is not");
    drop((call, response));
}

#[tokio::test(start_paused = true)]
async fn a_call_polled_after_its_end_says_nothing() {
    let play = json();
    let mut response = Some(play.response(Script::new([data(ANSWER)])));
    let below = service_fn(move |_: Request<()>| {
        let response = response.take();
        async move { response.ok_or_else(|| BoxError::from("asked twice")) }
    });
    let mut judge = JudgeLayer::new(play.kind).layer(below);
    let mut call = Box::pin(tower::Service::call(&mut judge, play.request()));
    assert!(polled(call.as_mut()).is_ready());
    assert!(polled(call.as_mut()).is_pending());
}
