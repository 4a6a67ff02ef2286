//! Tokens of tries: the answer's and those that were wasted.

use super::*;
use crate::{
    body::RequestBody,
    dialect::Usage,
    judge::{JudgeLayer, UsageCell},
    provider::Kind,
};
use http::Request;
use http_body_util::BodyExt;
use mainstay_layers::retry::RetryLayer;
use mainstay_testkit::{
    bodies,
    memory::{FaultBody, Reply, ScriptedService},
};
use parking_lot::Mutex;
use std::sync::Arc;
use tower::{ServiceBuilder, ServiceExt};

#[derive(Default)]
struct Wasted(Mutex<Usage>);

impl Observe for Wasted {
    fn wasted(&self, _: &TargetName, usage: &Usage) {
        let mut all = self.0.lock();
        *all = *all + *usage;
    }
}

/// The tokens of the answer, and those that were wasted, as input and output.
async fn counted(replies: impl IntoIterator<Item = Reply>, read_to_the_end: bool) -> [Option<u64>; 4] {
    let wasted = Arc::new(Wasted::default());
    let stack = ServiceBuilder::new()
        .layer(RetryLayer::new())
        .layer(AttemptLayer::new(Arc::new("a".into()), wasted.clone()))
        .layer(JudgeLayer::new(Kind::Anthropic))
        .service(ScriptedService::new(replies));
    let cell = UsageCell::default();
    let mut request = Request::post("/v1/messages").body(RequestBody::default()).unwrap();
    request.extensions_mut().insert(cell.clone());
    let reply = stack.oneshot(request).await.unwrap();
    if read_to_the_end {
        let _ = reply.into_body().collect().await;
    } else {
        drop(reply);
    }
    let (answer, wasted) = (cell.get(), *wasted.0.lock());
    [answer.input, answer.output, wasted.input, wasted.output]
}

fn stream(events: usize, end: FaultBody) -> Reply {
    Reply::sse(bodies::anthropic_events(["Hel", "lo"]).into_iter().take(events), end)
}

#[tokio::test(start_paused = true)]
async fn what_a_failed_try_used_is_told_apart_from_the_answer() {
    let [input, output, ..] = counted([stream(99, FaultBody::new())], true).await;
    assert!(input.is_some() && output.is_some());
    // The question is told with the head of the stream, before anything of the answer.
    let cut = stream(1, FaultBody::new().fail("reset"));
    let counts = counted([cut, stream(99, FaultBody::new())], true).await;
    assert_eq!((counts[..2].to_vec(), counts[2]), (vec![input, output], input));
}

#[tokio::test(start_paused = true)]
async fn what_reached_the_caller_is_not_wasted_however_it_ended() {
    for (end, read) in [(FaultBody::new().fail("reset"), true), (FaultBody::new().silence(), false)] {
        let [input, _, wasted, _] = counted([stream(4, end)], read).await;
        assert!(input.is_some() && wasted.is_none(), "{read}");
    }
}

#[tokio::test(start_paused = true)]
async fn events_that_nobody_can_read_are_counted_at_the_end_of_their_stream() {
    #[derive(Default)]
    struct Malformed(Mutex<Vec<u64>>);
    impl Observe for Malformed {
        fn malformed_events(&self, _: &TargetName, events: u64) {
            self.0.lock().push(events);
        }
    }
    let broken = || String::from("event: content_block_delta\ndata: {oops\n\n");
    for (bad, told) in [(0, vec![]), (2, vec![2])] {
        let mut events: Vec<String> = bodies::anthropic_events(["Hel", "lo"]).into_iter().collect();
        for _ in 0..bad {
            events.insert(events.len() - 3, broken());
        }
        let seen = Arc::new(Malformed::default());
        let stack = ServiceBuilder::new()
            .layer(AttemptLayer::new(Arc::new("a".into()), seen.clone()))
            .layer(JudgeLayer::new(Kind::Anthropic))
            .service(ScriptedService::new([Reply::sse(events.clone(), FaultBody::new())]));
        let mut request = Request::post("/v1/messages").body(RequestBody::default()).unwrap();
        request.extensions_mut().insert(UsageCell::default());
        let reply = stack.oneshot(request).await.unwrap();
        assert!(seen.0.lock().is_empty());
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, events.concat());
        assert_eq!(*seen.0.lock(), told);
    }
}

#[tokio::test(start_paused = true)]
async fn the_tokens_of_a_whole_reply_are_known_with_its_head() {
    let [input, output, ..] = counted([Reply::json(200, &bodies::anthropic_message("hi"))], false).await;
    assert!(input.is_some() && output.is_some());
}
