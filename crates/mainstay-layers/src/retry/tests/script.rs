//! A body that plays steps, and a service that plays a function and insists on the tower contract.

use crate::BoxError;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};
use tower_service::Service;

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Data(&'static [u8]),
    Trailers(HeaderMap),
    /// Pending once; woken at once.
    Yield,
    /// Pending for good.
    Stall,
    Fail,
}

/// Plays its steps; knows its size only if it was told to say so.
pub(crate) struct Script {
    steps: VecDeque<Step>,
    sized: bool,
    live: Option<Live>,
}

/// Counts what is alive.
pub(crate) struct Live(Arc<AtomicUsize>);

impl Live {
    pub(crate) fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Script {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), sized: false, live: None }
    }

    pub(crate) fn empty() -> Self {
        Self::new([]).sized()
    }

    pub(crate) fn text(text: &'static str) -> Self {
        Self::new([Step::Data(text.as_bytes())]).sized()
    }

    pub(crate) fn sized(mut self) -> Self {
        self.sized = true;
        self
    }

    pub(crate) fn counted(mut self, count: &Arc<AtomicUsize>) -> Self {
        self.live = Some(Live::new(count));
        self
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.steps.pop_front() {
            None => Poll::Ready(None),
            Some(Step::Data(data)) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(data))))),
            Some(Step::Trailers(map)) => Poll::Ready(Some(Ok(Frame::trailers(map)))),
            Some(Step::Fail) => Poll::Ready(Some(Err("the source failed".into()))),
            Some(Step::Yield) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Stall) => {
                self.steps.push_front(Step::Stall);
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.sized && self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if !self.sized {
            return SizeHint::default();
        }
        let len = |step: &Step| if let Step::Data(data) = step { data.len() as u64 } else { 0 };
        SizeHint::with_exact(self.steps.iter().map(len).sum())
    }
}

type Answer<RB> = Pin<Box<dyn Future<Output = Result<Response<RB>, BoxError>> + Send>>;
type Handler<Q, RB> = dyn Fn(usize, Request<Q>) -> Answer<RB> + Send + Sync;
type Readiness = dyn Fn(usize) -> Poll<Result<(), BoxError>> + Send + Sync;

/// Answers by a function of the number of the call (from 1). A call of one that is not ready is a fault of the test.
pub(crate) struct Probe<Q, RB> {
    handler: Arc<Handler<Q, RB>>,
    readiness: Arc<Readiness>,
    pub(crate) state: Arc<Mutex<State>>,
    ready: bool,
    number: usize,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) calls: usize,
    pub(crate) polls: usize,
    pub(crate) clones: usize,
    /// Which instance took each call; 0 is the first.
    pub(crate) called: Vec<usize>,
    wakers: Vec<Waker>,
}

impl<Q, RB> Probe<Q, RB> {
    pub(crate) fn new<F, Fut>(handler: F) -> Self
    where
        F: Fn(usize, Request<Q>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Response<RB>, BoxError>> + Send + 'static,
    {
        Self {
            handler: Arc::new(move |n, request| Box::pin(handler(n, request))),
            readiness: Arc::new(|_| Poll::Ready(Ok(()))),
            state: Arc::default(),
            ready: false,
            number: 0,
        }
    }

    /// `poll_ready` answers by a function of the number of calls so far.
    pub(crate) fn with_readiness(
        mut self,
        readiness: impl Fn(usize) -> Poll<Result<(), BoxError>> + Send + Sync + 'static,
    ) -> Self {
        self.readiness = Arc::new(readiness);
        self
    }

    pub(crate) fn calls(&self) -> usize {
        self.state.lock().calls
    }
}

impl<Q, RB> Clone for Probe<Q, RB> {
    fn clone(&self) -> Self {
        let mut state = self.state.lock();
        state.clones += 1;
        Self {
            handler: self.handler.clone(),
            readiness: self.readiness.clone(),
            state: self.state.clone(),
            ready: false,
            number: state.clones,
        }
    }
}

impl<Q, RB> Service<Request<Q>> for Probe<Q, RB> {
    type Response = Response<RB>;
    type Error = BoxError;
    type Future = Answer<RB>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        let mut state = self.state.lock();
        state.polls += 1;
        let polled = (self.readiness)(state.calls);
        match &polled {
            Poll::Ready(Ok(())) => self.ready = true,
            Poll::Pending => state.wakers.push(cx.waker().clone()),
            Poll::Ready(Err(_)) => {}
        }
        polled
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "called without being ready");
        let number = {
            let mut state = self.state.lock();
            state.calls += 1;
            state.called.push(self.number);
            state.calls
        };
        (self.handler)(number, request)
    }
}
