//! The tower contract.

use super::*;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};
use tokio::time::Instant;
use tower_service::Service;

#[tokio::test(start_paused = true)]
async fn pitfall_1_the_ready_service_is_called_and_never_its_fresh_clone() {
    let probe = statuses(&[500, 500, 200]);
    let mut service = exact().layer(probe.clone());
    let instance = 1; // of the clone that went into the layer
    std::future::poll_fn(|cx| Service::<Request<Full<Bytes>>>::poll_ready(&mut service, cx)).await.unwrap();
    service.call(request()).await.unwrap();
    assert_eq!(
        probe.state.lock().called,
        [instance; 3],
        "retries too go to the one that is driven to readiness"
    );
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "called without being ready")]
async fn pitfall_2_a_clone_starts_unready() {
    let mut service = exact().layer(statuses(&[200]));
    std::future::poll_fn(|cx| Service::<Request<Full<Bytes>>>::poll_ready(&mut service, cx)).await.unwrap();
    let _ = service.clone().call(request()).await;
}

#[tokio::test(start_paused = true)]
async fn pitfall_5_each_retry_drives_readiness_again() {
    let open = Arc::new(AtomicBool::new(true));
    let gate = open.clone();
    let probe = statuses(&[500, 200]).with_readiness(move |_| {
        if gate.load(Ordering::SeqCst) { Poll::Ready(Ok(())) } else { Poll::Pending }
    });
    let mut call = tokio_test::task::spawn(exact().layer(probe.clone()).oneshot(request()));
    assert!(call.poll().is_pending());
    open.store(false, Ordering::SeqCst);
    tokio::time::sleep(secs(2)).await;
    assert!(call.poll().is_pending());
    assert_eq!(probe.calls(), 1, "not called while it is not ready");
    open.store(true, Ordering::SeqCst);
    let reply = tokio_test::assert_ready!(call.poll()).unwrap();
    assert_eq!(reply.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn pitfall_5_if_the_service_fails_to_become_ready_the_original_answer_is_returned() {
    let probe = statuses(&[500])
        .with_readiness(|calls| Poll::Ready(if calls == 0 { Ok(()) } else { Err("closed".into()) }));
    let reply = run(&exact(), &probe).await.unwrap();
    assert_eq!(reply.status(), 500);
    assert_eq!((outcome(&reply).attempts, outcome(&reply).reason), (1, Some(GiveUp::NotReady)));
    assert_eq!(text(reply).await, "sorry");
}

#[tokio::test(start_paused = true)]
async fn pitfall_5_readiness_is_waited_for_within_bounds() {
    let unready = || {
        statuses(&[500]).with_readiness(|calls| if calls == 0 { Poll::Ready(Ok(())) } else { Poll::Pending })
    };
    let began = Instant::now();
    let reply = run(&exact().with_within(secs(10)), &unready()).await.unwrap();
    assert_eq!((outcome(&reply).reason, began.elapsed()), (Some(GiveUp::NotReady), secs(10)));
    let began = Instant::now();
    run(&exact().with_within(None).with_max_wait(secs(20)), &unready()).await.unwrap();
    assert_eq!(began.elapsed(), secs(21), "1 s of backoff, then no longer than any wait may be");
}

#[tokio::test(start_paused = true)]
async fn pitfall_5_an_answer_that_is_gone_is_told_with_its_verdict_and_status() {
    let probe = statuses(&[503])
        .with_readiness(|calls| Poll::Ready(if calls == 0 { Ok(()) } else { Err("closed".into()) }));
    let error = run(&exact().with_drain(0, secs(1)), &probe).await.unwrap_err();
    let verdict = crate::classify::HttpClassifier::new().error(&*error);
    assert_eq!((verdict.class, verdict.status.map(|s| s.as_u16())), (Class::Overloaded, Some(503)));
    assert!(error.to_string().starts_with("the server answered 503"), "{error}");
    let mut causes = std::iter::successors(Some(&*error as &dyn std::error::Error), |e| e.source());
    assert_eq!(causes.by_ref().last().unwrap().to_string(), "closed");
}

#[tokio::test(start_paused = true)]
async fn an_error_of_poll_ready_is_passed_on() {
    let probe = statuses(&[200]).with_readiness(|_| Poll::Ready(Err("closed".into())));
    assert_eq!(run(&exact(), &probe).await.unwrap_err().to_string(), "closed");
}

#[tokio::test(start_paused = true)]
async fn pitfall_3_polling_for_readiness_takes_nothing() {
    let budget = Budget::new(1.0, 1.0);
    let mut service = exact().with_budget(budget.clone()).layer(statuses(&[200]));
    let before = budget.available();
    for _ in 0..3 {
        std::future::poll_fn(|cx| Service::<Request<Full<Bytes>>>::poll_ready(&mut service, cx))
            .await
            .unwrap();
    }
    assert_eq!(budget.available(), before);
}

#[test]
fn the_future_and_the_service_can_cross_threads() {
    fn crosses<T: Send>(value: T) -> T {
        value
    }
    let service = crosses(exact().layer(statuses(&[200])));
    drop(crosses(service.oneshot(request())));
}

#[tokio::test]
async fn an_erased_classifier_and_an_erased_body_fit() {
    use http_body_util::combinators::BoxBody;
    let classifier: Arc<dyn Classify + Send + Sync> = Arc::new(crate::classify::HttpClassifier::new());
    let service = tower::service_fn(|request: Request<ReplayBody<BoxBody<Bytes, BoxError>>>| async move {
        Ok::<_, BoxError>(Response::new(request.into_body()))
    });
    let body = Full::<Bytes>::from("a question").map_err(|never| match never {}).boxed();
    let reply = exact().with_classifier(classifier).layer(service).oneshot(Request::new(body)).await.unwrap();
    assert_eq!(reply.into_body().collect().await.unwrap().to_bytes(), "a question");
}
