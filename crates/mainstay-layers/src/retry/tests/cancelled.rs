//! The caller leaves.

use super::{
    script::{Live, Step},
    *,
};
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

type Running = Pin<Box<dyn Future<Output = ()>>>;

/// A call with a stop at every kind of await point: readiness, the try itself, its body, the sleep, readiness again.
fn call(live: &Arc<AtomicUsize>, budget: &Budget) -> (Probe<ReplayBody<Script>, Script>, Running) {
    let count = live.clone();
    let probe = Probe::<ReplayBody<Script>, Script>::new(move |_, request| {
        let (running, count) = (Live::new(&count), count.clone());
        async move {
            let _running = running;
            tokio::task::yield_now().await;
            let mut body = request.into_body();
            let _ = body.frame().await;
            tokio::task::yield_now().await;
            drop(body);
            let steps = [Step::Yield, Step::Data(b"so"), Step::Yield, Step::Data(b"rry"), Step::Yield];
            Ok(Response::builder().status(503).body(Script::new(steps).counted(&count)).unwrap())
        }
    });
    let flip = AtomicUsize::new(0);
    let slow = probe.clone().with_readiness(move |_| {
        if flip.fetch_add(1, Ordering::SeqCst) % 2 == 0 { Poll::Pending } else { Poll::Ready(Ok(())) }
    });
    let upload =
        Script::new([Step::Yield, Step::Data(b"a "), Step::Yield, Step::Data(b"question")]).counted(live);
    let service = exact().with_budget(budget.clone()).layer(slow);
    let future = async move {
        let reply = service.oneshot(Request::new(upload)).await.unwrap();
        let _ = reply.into_body().collect().await;
    };
    (probe, Box::pin(future))
}

/// Polls it, and moves time on where nothing else is to come; `false`: it was done before that many polls.
async fn poll_times(future: &mut Running, polls: usize) -> bool {
    for _ in 0..polls {
        let waker = std::task::Waker::noop();
        if future.as_mut().poll(&mut Context::from_waker(waker)).is_ready() {
            return false;
        }
        tokio::time::advance(Duration::from_millis(400)).await;
    }
    true
}

#[tokio::test(start_paused = true)]
async fn dropped_at_any_await_point_a_call_leaves_nothing_and_makes_no_further_try() {
    let mut seen = Vec::new();
    for polls in 0.. {
        let live = Arc::new(AtomicUsize::new(0));
        let budget = Budget::new(0.0, 10.0);
        let (probe, mut future) = call(&live, &budget);
        let pending = poll_times(&mut future, polls).await;
        let calls = probe.calls();
        drop(future);
        tokio::time::sleep(secs(60)).await;
        assert_eq!(probe.calls(), calls, "a try after the caller left, at {polls}");
        assert_eq!(live.load(Ordering::SeqCst), 0, "leaked at {polls}");
        seen.push(calls);
        if !pending {
            break;
        }
    }
    assert_eq!(*seen.last().unwrap(), 3, "the last was let run to its end");
    assert!(seen.len() > 15, "{} await points", seen.len());
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_in_the_sleep_gives_the_retrys_token_back() {
    let budget = Budget::new(0.0, 0.0);
    budget.refund(5.0);
    let service = exact().with_budget(budget.clone()).layer(statuses(&[503]));
    let mut call = tokio_test::task::spawn(service.oneshot(request()));
    assert!(call.poll().is_pending());
    assert_eq!(budget.available(), 4.0);
    drop(call);
    assert_eq!(budget.available(), 5.0);
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_was_sent_is_paid_for_and_one_that_was_refused_here_is_not() {
    let budget = Budget::new(0.0, 0.0);
    budget.refund(5.0);
    run(&exact().with_budget(budget.clone()), &statuses(&[503, 200])).await.unwrap();
    assert_eq!(budget.available(), 4.0);
    let probe = Probe::<Sent, Script>::new(|n, _| async move {
        Err(failed(Verdict::new(if n == 1 { Class::Transport } else { Class::Rejected })))
    });
    run(&exact().with_budget(budget.clone()), &probe).await.unwrap_err();
    assert_eq!(budget.available(), 4.0);
    // A first try that is refused was not paid for, so nothing comes back.
    let refused = Probe::<Sent, Script>::new(|_, _| async { Err(failed(Verdict::new(Class::Rejected))) });
    run(&exact().with_budget(budget.clone()), &refused).await.unwrap_err();
    assert_eq!(budget.available(), 4.0);
}
