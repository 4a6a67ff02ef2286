//! The permit's life, the line, the adaptation.

use super::*;
use crate::{
    BoxError,
    classify::{Class, Classify, HttpClassifier},
};
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Empty, Full};
use std::{
    collections::VecDeque,
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::{Instant, Sleep, advance, sleep};
use tokio_test::{assert_pending, assert_ready, assert_ready_err, assert_ready_ok, task};
use tower::{Service, ServiceExt, service_fn};
use tower_layer::Layer;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
enum Step {
    Data,
    Trailers,
    Fail,
    Pend,
    Sleep(Duration),
    Hang,
}

/// A body by script that counts itself while it lives.
#[derive(Debug)]
struct Script {
    steps: VecDeque<Step>,
    sleep: Option<Pin<Box<Sleep>>>,
    announces: bool,
    alive: Arc<AtomicUsize>,
}

impl Script {
    fn of(steps: &[Step]) -> Self {
        Self::counted(steps, &Arc::default())
    }

    fn counted(steps: &[Step], alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self { steps: steps.iter().cloned().collect(), sleep: None, announces: false, alive: alive.clone() }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                ready!(sleep.as_mut().poll(cx));
                self.sleep = None;
            }
            return Poll::Ready(match self.steps.pop_front() {
                None => None,
                Some(Step::Data) => Some(Ok(Frame::data(Bytes::from_static(b"x")))),
                Some(Step::Trailers) => Some(Ok(Frame::trailers(HeaderMap::new()))),
                Some(Step::Fail) => Some(Err("reset".into())),
                Some(Step::Pend) => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Step::Sleep(time)) => {
                    self.sleep = Some(Box::pin(sleep(time)));
                    continue;
                }
                Some(Step::Hang) => return Poll::Pending,
            });
        }
    }

    fn is_end_stream(&self) -> bool {
        self.announces && self.steps.is_empty()
    }
}

type Request0 = Request<Empty<Bytes>>;

fn request() -> Request0 {
    Request::new(Empty::new())
}

/// A service under `limit` that answers at once with what `body` makes.
fn service<F>(limit: &ConcurrencyLimit, body: F) -> Concurrency<Scripted<F>> {
    ConcurrencyLayer::new(limit.clone()).layer(Scripted(body))
}

#[derive(Clone)]
struct Scripted<F>(F);

impl<B, F: Fn() -> Script> Service<Request<B>> for Scripted<F> {
    type Response = Response<Script>;
    type Error = BoxError;
    type Future = std::future::Ready<Result<Response<Script>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        std::future::ready(Ok(Response::new((self.0)())))
    }
}

fn hanging() -> Script {
    Script::of(&[Step::Hang])
}

#[tokio::test(start_paused = true)]
async fn of_a_hundred_streams_eight_are_there_at_a_time_and_none_is_lost() {
    let limit = Config::new(8).with_queue_wait(60 * SECOND).build();
    let (alive, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let service = service(&limit, || {
        let script = Script::counted(
            &[Step::Data, Step::Sleep(SECOND), Step::Data, Step::Sleep(SECOND), Step::Data],
            &alive,
        );
        most.fetch_max(alive.load(Ordering::Relaxed), Ordering::Relaxed);
        script
    });
    let started = Instant::now();
    let calls = (0..100).map(|_| {
        let call = service.clone().oneshot(request());
        async { call.await?.into_body().collect().await.map(|body| body.to_bytes().len()) }
    });
    let mut calls: Vec<_> = calls.map(Box::pin).collect();
    let mut lengths = Vec::new();
    std::future::poll_fn(|cx| {
        calls.retain_mut(|call| match call.as_mut().poll(cx) {
            Poll::Ready(length) => {
                lengths.push(length.unwrap());
                false
            }
            Poll::Pending => true,
        });
        if calls.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    assert_eq!(lengths, [3; 100]);
    assert_eq!(most.load(Ordering::Relaxed), 8);
    // 13 rounds of two seconds: no slot was ever left empty.
    assert_eq!(started.elapsed(), 26 * SECOND);
    assert_eq!((limit.in_flight(), limit.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn pitfall_13_the_permit_is_held_until_the_body_has_ended() {
    let announced = |steps: &[Step]| {
        let mut script = Script::of(steps);
        script.announces = true;
        script
    };
    let cases: [(&dyn Fn() -> Script, usize); 5] = [
        (&|| Script::of(&[Step::Data, Step::Data]), 3),
        (&|| announced(&[Step::Data, Step::Data]), 2),
        (&|| Script::of(&[Step::Data, Step::Trailers, Step::Hang]), 2),
        (&|| Script::of(&[Step::Data, Step::Fail, Step::Hang]), 2),
        (&|| announced(&[]), 0),
    ];
    for (n, (script, polls)) in cases.into_iter().enumerate() {
        let limit = ConcurrencyLimit::new(1);
        let mut body = service(&limit, script).oneshot(request()).await.unwrap().into_body();
        for poll in 0..polls {
            assert_eq!(limit.in_flight(), 1, "case {n}, before poll {poll}");
            let _ = body.frame().await;
        }
        assert_eq!(limit.in_flight(), 0, "case {n}, the body still at hand");
        drop(body);
        assert_eq!(limit.in_flight(), 0, "case {n}, given back once");
    }
}

#[tokio::test(start_paused = true)]
async fn after_an_error_the_inner_body_is_gone_and_the_outer_one_over() {
    let (limit, alive) = (ConcurrencyLimit::new(1), Arc::<AtomicUsize>::default());
    let service = service(&limit, || Script::counted(&[Step::Fail, Step::Data], &alive));
    let mut body = service.oneshot(request()).await.unwrap().into_body();
    body.frame().await.unwrap().unwrap_err();
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    assert!(body.is_end_stream() && body.frame().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_error_instead_of_a_reply_gives_the_permit_back() {
    let limit = ConcurrencyLimit::new(1);
    let inner = service_fn(|_: Request0| async { Err::<Response<Script>, BoxError>("refused".into()) });
    let service = ConcurrencyLayer::new(limit.clone()).layer(inner);
    for _ in 0..3 {
        assert!(service.clone().oneshot(request()).await.is_err());
        assert_eq!(limit.in_flight(), 0);
    }
}

/// Polls a whole call at most `polls` times while another one leaves after the second, then drops it, wherever it is.
/// Whether it had ended by then.
async fn run(limit: &ConcurrencyLimit, mut polls: usize) -> bool {
    let mut other = service(limit, hanging).oneshot(request()).await.ok();
    let inner = service_fn(|_: Request0| async {
        tokio::task::yield_now().await;
        Ok::<_, BoxError>(Response::new(Script::of(&[Step::Pend, Step::Data, Step::Pend, Step::Data])))
    });
    let mut service = ConcurrencyLayer::new(limit.clone()).layer(inner);
    let mut call = task::spawn(service.call(request()));
    let mut seen = 0;
    let reply = loop {
        if polls == 0 {
            return false;
        }
        polls -= 1;
        seen += 1;
        if let Poll::Ready(reply) = call.poll() {
            let Ok(reply) = reply else { return false };
            break reply;
        }
        if seen == 2 {
            assert_eq!((limit.in_flight(), limit.waiting()), (1, 1));
            other.take();
        }
    };
    let mut body = pin!(reply.into_body());
    let mut frames = task::spawn(());
    while polls > 0 {
        polls -= 1;
        if let Poll::Ready(None) = frames.enter(|cx, _| body.as_mut().poll_frame(cx)) {
            return true;
        }
    }
    false
}

#[tokio::test(start_paused = true)]
async fn pitfalls_12_and_13_dropped_at_any_poll_and_any_frame_all_permits_are_back() {
    let limit = ConcurrencyLimit::new(1);
    let mut ended = None;
    for polls in 0..50 {
        let over = run(&limit, polls).await;
        assert_eq!((limit.in_flight(), limit.waiting()), (0, 0), "dropped after {polls} polls");
        if over {
            ended = Some(polls);
            break;
        }
    }
    assert!(ended.is_some_and(|polls| polls > 8), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_given_a_permit_and_left_hands_it_on() {
    let limit = ConcurrencyLimit::new(1);
    let mut service = service(&limit, hanging);
    let first = service.clone().oneshot(request()).await.unwrap();
    let mut second = task::spawn(service.call(request()));
    let mut third = task::spawn(service.call(request()));
    assert_pending!(second.poll());
    assert_pending!(third.poll());
    drop(first);
    assert!(second.is_woken() && !third.is_woken());
    drop(second);
    assert!(third.is_woken());
    let _third = assert_ready_ok!(third.poll());
    assert_eq!((limit.in_flight(), limit.waiting()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_line_is_first_come_first_served() {
    let limit = ConcurrencyLimit::new(1);
    let mut service = service(&limit, hanging);
    let mut there = service.clone().oneshot(request()).await.unwrap();
    let mut line: VecDeque<_> = (0..10).map(|_| task::spawn(service.call(request()))).collect();
    for call in &mut line {
        assert_pending!(call.poll());
    }
    while let Some(mut next) = line.pop_front() {
        drop(there);
        // Somebody who comes just now does not overtake.
        assert_pending!(task::spawn(service.call(request())).poll());
        for other in &mut line {
            assert_pending!(other.poll());
        }
        there = assert_ready_ok!(next.poll());
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_bounded_and_its_error_says_how_long_it_was() {
    let limit = ConcurrencyLimit::new(1);
    let service = service(&limit, hanging);
    let _there = service.clone().oneshot(request()).await.unwrap();
    let started = Instant::now();
    let error = service.oneshot(request()).await.err().unwrap();
    assert_eq!(started.elapsed(), SECOND);
    let overloaded = error.downcast_ref::<Overloaded>().expect("typed");
    assert_eq!((overloaded.limit, overloaded.waited), (1, SECOND));
    assert_eq!(HttpClassifier::new().error(&*error).class, Class::Rejected);
    assert_eq!(limit.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_line_is_bounded_too() {
    let limit = Config::new(1).with_max_waiting(2).build();
    let mut service = service(&limit, hanging);
    let there = service.clone().oneshot(request()).await.unwrap();
    let mut line = [(); 2].map(|()| task::spawn(service.call(request())));
    for call in &mut line {
        assert_pending!(call.poll());
    }
    let error = assert_ready_err!(task::spawn(service.call(request())).poll());
    assert_eq!(error.downcast_ref::<Overloaded>().unwrap().waited, Duration::ZERO);
    assert_eq!(limit.waiting(), 2);
    drop((line, there));
    let unqueued = Config::new(1).with_queue_wait(Duration::ZERO).build();
    let mut service = super::tests::service(&unqueued, hanging);
    let _there = service.clone().oneshot(request()).await.unwrap();
    assert_ready_err!(task::spawn(service.call(request())).poll());
}

#[cfg(feature = "deadline")]
#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_than_his_deadline() {
    use crate::deadline::Deadline;
    let limit = ConcurrencyLimit::new(1);
    let service = service(&limit, hanging);
    let _there = service.clone().oneshot(request()).await.unwrap();
    let started = Instant::now();
    for (deadline, waited) in [(200, 200), (0, 0), (60_000, 1_000)] {
        let mut request = request();
        request.extensions_mut().insert(Deadline::after(Duration::from_millis(deadline)));
        let before = started.elapsed();
        let error = service.clone().oneshot(request).await.err().unwrap();
        assert!(error.is::<Overloaded>());
        assert_eq!(started.elapsed() - before, Duration::from_millis(waited));
    }
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_came_in_time_is_good_however_late_one_looks() {
    let limit = ConcurrencyLimit::new(1);
    let mut service = service(&limit, hanging);
    let there = service.clone().oneshot(request()).await.unwrap();
    let mut waiting = task::spawn(service.call(request()));
    assert_pending!(waiting.poll());
    drop(there);
    advance(60 * SECOND).await;
    assert_ready_ok!(waiting.poll());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_taken_before_the_future_is_polled() {
    let limit = ConcurrencyLimit::new(1);
    let mut service = service(&limit, hanging);
    for _ in 0..3 {
        ServiceExt::<Request0>::ready(&mut service).await.unwrap();
    }
    let unpolled = service.call(request());
    assert_eq!(limit.in_flight(), 0);
    assert_ready_ok!(task::spawn(service.call(request())).poll());
    drop(unpolled);
}

#[tokio::test(start_paused = true)]
async fn the_service_that_was_ready_is_the_one_that_is_called() {
    let limit = ConcurrencyLimit::new(1);
    let (mock, mut handle) = tower_test::mock::pair::<Request0, Response<Script>>();
    let mut service = ConcurrencyLayer::new(limit.clone()).layer(mock);
    handle.allow(1);
    service.ready().await.unwrap();
    let mut call = task::spawn(service.call(request()));
    // Its clone stays behind, un-ready: tower_test panics on a call without readiness.
    assert_pending!(call.poll());
    assert_pending!(task::spawn(service.ready()).poll());
    handle.next_request().await.unwrap().1.send_response(Response::new(hanging()));
    assert_ready_ok!(call.poll());
}

#[tokio::test(start_paused = true)]
async fn services_made_by_one_layer_share_the_limit() {
    let layer = ConcurrencyLayer::new(ConcurrencyLimit::new(1));
    let _there = layer.layer(Scripted(hanging)).oneshot(request()).await.unwrap();
    let mut other = layer.clone().layer(Scripted(hanging));
    assert_pending!(task::spawn(other.call(request())).poll());
}

#[tokio::test(start_paused = true)]
async fn request_bytes_in_flight_are_limited_and_what_exceeds_them_all_passes_alone() {
    let limit = Config::new(100).with_request_bytes(10).build();
    let mut service = service(&limit, hanging);
    let request = |bytes: usize| Request::new(Full::new(Bytes::from(vec![0; bytes])));
    let six = service.clone().oneshot(request(6)).await.unwrap();
    let four = service.clone().oneshot(request(4)).await.unwrap();
    let mut one = task::spawn(service.call(request(1)));
    assert_pending!(one.poll());
    drop(four);
    let one = assert_ready_ok!(one.poll());
    let mut huge = task::spawn(service.call(request(1_000_000)));
    assert_pending!(huge.poll());
    drop(six);
    assert_pending!(huge.poll());
    drop(one);
    let huge = assert_ready_ok!(huge.poll());
    assert_eq!(limit.in_flight(), 1);
    assert_pending!(task::spawn(service.call(request(1))).poll());
    drop(huge);
    assert_eq!((limit.in_flight(), limit.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_changed_limit_holds_as_soon_as_calls_have_ended() {
    let limit = ConcurrencyLimit::new(4);
    let mut service = service(&limit, hanging);
    let mut there = Vec::new();
    for _ in 0..4 {
        there.push(service.clone().oneshot(request()).await.unwrap());
    }
    limit.set_limit(2);
    let mut next = task::spawn(service.call(request()));
    assert_pending!(next.poll());
    there.truncate(2);
    assert_pending!(next.poll(), "two of two are there");
    there.truncate(1);
    there.push(assert_ready!(next.poll()).unwrap());
    limit.set_limit(3);
    there.push(assert_ready_ok!(task::spawn(service.call(request())).poll()));
    assert_pending!(task::spawn(service.call(request())).poll());
    // Lowered and raised again while all are in flight: what is owed is forgiven first.
    limit.set_limit(1);
    limit.set_limit(3);
    there.clear();
    for _ in 0..3 {
        there.push(assert_ready_ok!(task::spawn(service.call(request())).poll()));
    }
    assert_pending!(task::spawn(service.call(request())).poll());
}

fn adaptive() -> ConcurrencyLimit {
    Config::new(10).with_adaptive(Adaptive::new(2, 12).with_slow_after(SECOND).with_decrease(0.5)).build()
}

#[tokio::test(start_paused = true)]
async fn a_crowd_of_rate_limits_cuts_once_and_never_below_the_floor() {
    let limit = adaptive();
    let inner = service_fn(|_: Request0| async {
        sleep(SECOND / 10).await;
        let reply = Response::builder().status(429).body(Script::of(&[]));
        Ok::<_, BoxError>(reply.unwrap())
    });
    let service = ConcurrencyLayer::new(limit.clone()).layer(inner);
    for expected in [5, 2, 2] {
        // What began in the instant of the last cut belongs to the crowd before.
        advance(SECOND).await;
        let mut crowd: Vec<_> =
            (0..limit.limit()).map(|_| task::spawn(service.clone().oneshot(request()))).collect();
        crowd.iter_mut().for_each(|call| assert_pending!(call.poll()));
        advance(SECOND).await;
        for call in &mut crowd {
            assert_ready_ok!(call.poll());
        }
        drop(crowd);
        assert_eq!(limit.limit(), expected);
        assert_eq!(limit.in_flight(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn slow_first_content_cuts_and_quick_ones_grow_it_by_one_a_round_up_to_the_ceiling() {
    let limit = adaptive();
    let slow = service(&limit, || Script::of(&[Step::Sleep(2 * SECOND), Step::Data]));
    slow.oneshot(request()).await.unwrap().into_body().collect().await.unwrap();
    assert_eq!(limit.limit(), 5);
    let quick = service(&limit, || Script::of(&[Step::Data, Step::Sleep(9 * SECOND)]));
    // A limit that is not used is not raised.
    for _ in 0..100 {
        quick.clone().oneshot(request()).await.unwrap().into_body().collect().await.unwrap();
    }
    assert_eq!(limit.limit(), 5);
    for expected in [6, 7, 8, 9, 10, 11, 12, 12] {
        let mut round = Vec::new();
        for _ in 0..limit.limit() {
            round.push(quick.clone().oneshot(request()).await.unwrap().into_body());
        }
        for body in &mut round {
            body.frame().await.unwrap().unwrap();
        }
        assert_eq!(limit.limit(), expected);
    }
    assert_eq!(limit.in_flight(), 0);
}
