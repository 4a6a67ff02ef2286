//! That a task is woken when a clock runs out, though the runtime is told of it only once.

use super::*;
use crate::testing::fed;
use bytes::Bytes;
use http_body::{Body, Frame};
use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll},
};
use tokio_test::{assert_pending, task};

/// Says nothing, whatever the budget of its task.
struct Silent;

impl Body for Silent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_has_used_up_its_budget_is_woken_all_the_same() {
    let mut body = pin!(TimeoutBody::idle(Silent, secs(2)));
    let start = Instant::now();
    let failed = poll_fn(|cx| {
        // As after many frames in a row.
        while tokio::task::coop::has_budget_remaining() {
            assert!(pin!(tokio::task::coop::consume_budget()).poll(cx).is_ready());
        }
        body.as_mut().poll_frame(cx)
    });
    let failed = tokio::time::timeout(secs(10), failed).await.expect("nobody is woken").unwrap().unwrap_err();
    assert_timeout(&failed, TimeoutKind::Idle, Phase::Body, secs(2));
    assert_elapsed(start, secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_ran_out_unseen_is_seen_at_the_next_look() {
    let (feed, inner) = fed();
    let mut body = pin!(TimeoutBody::idle(inner, secs(2)));
    let mut task = task::spawn(());
    assert_pending!(task.enter(|cx, _| body.as_mut().poll_frame(cx)));
    feed.data("x");
    assert!(task.enter(|cx, _| body.as_mut().poll_frame(cx)).is_ready());
    // The timer of the first wait fires while nobody waits; the next wait has two seconds of its own.
    tokio::time::sleep(secs(5)).await;
    assert_pending!(task.enter(|cx, _| body.as_mut().poll_frame(cx)));
    tokio::time::sleep(Duration::from_millis(1999)).await;
    assert_pending!(task.enter(|cx, _| body.as_mut().poll_frame(cx)));
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(task.is_woken());
    assert!(matches!(task.enter(|cx, _| body.as_mut().poll_frame(cx)), Poll::Ready(Some(Err(_)))));
}
