//! The clocks below are told what is content.

use super::*;
use http_body_util::Empty;
use mainstay_layers::timeout::{Streaming, TimeoutConfig, TimeoutError, TimeoutLayer};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

/// What comes of `acts` under `clocks`: the code of the timer that fired, and when.
async fn under(clocks: TimeoutConfig, play: &Play, acts: Vec<Act>) -> (Option<&'static str>, Duration) {
    let mut response = Some(play.response(Script::new(acts)));
    let below = service_fn(move |_: Request<_>| {
        let response = response.take();
        async move { response.ok_or_else(|| BoxError::from("asked twice")) }
    });
    let stack = JudgeLayer::new(play.kind).layer(TimeoutLayer::new(clocks).layer(below));
    let mut request = play.request().map(|()| Empty::<Bytes>::new());
    request.extensions_mut().insert(Streaming(true));
    let start = Instant::now();
    let error = match stack.oneshot(request).await {
        Ok(response) => drain(response.into_body()).await.1,
        Err(error) => Some(error),
    };
    (error.and_then(|error| find_cause::<TimeoutError>(&*error).map(TimeoutError::code)), start.elapsed())
}

fn every_second(text: &str, times: usize) -> impl Iterator<Item = Act> {
    (0..times).flat_map(move |_| [Act::Wait(SECOND), data(text)]).collect::<Vec<_>>().into_iter()
}

#[tokio::test(start_paused = true)]
async fn keepalives_and_role_chunks_are_no_first_event() {
    let clocks = TimeoutConfig::new().with_first_event(SECOND * 5).with_idle(SECOND * 2);
    for alive in [PING, ROLE] {
        let acts = every_second(alive, 20).chain([data(HI), data(DONE)]).collect();
        assert_eq!(under(clocks, &Play::default(), acts).await, (Some("first_event_timeout"), SECOND * 5));
    }
}

#[tokio::test(start_paused = true)]
async fn content_in_time_ends_the_wait_for_it() {
    let clocks = TimeoutConfig::new().with_first_event(SECOND * 5).with_idle(SECOND * 2);
    let acts =
        every_second(PING, 4).chain([data(HI)]).chain(every_second(PING, 20)).chain([data(STOP), data(DONE)]);
    assert_eq!(under(clocks, &Play::default(), acts.collect()).await, (None, SECOND * 24));
}

#[tokio::test(start_paused = true)]
async fn pitfall_37_pings_prove_the_connection_and_not_progress() {
    let clocks = TimeoutConfig::new().with_progress(SECOND * 3).with_idle(SECOND * 2);
    let acts = [data(HI)].into_iter().chain(every_second(HI, 5)).chain(every_second(PING, 20)).collect();
    assert_eq!(under(clocks, &Play::default(), acts).await.0, Some("progress_timeout"));
}

#[tokio::test(start_paused = true)]
async fn of_a_stream_that_nobody_judges_everything_is_content() {
    let clocks = TimeoutConfig::new().with_first_event(SECOND * 5).with_progress(SECOND * 3);
    let play = Play { path: "/v1/audio/speech", ..Play::default() };
    let acts = every_second("data: x\n\n", 20).collect();
    assert_eq!(under(clocks, &play, acts).await, (None, SECOND * 20));
}
