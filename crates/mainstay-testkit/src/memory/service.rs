//! The scripted service.

use super::{Collect, FaultBody, Reply};
use bytes::Bytes;
use http::{Request, Response, request::Parts};
use http_body::Body;
use mainstay_layers::BoxError;
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};
use tokio::time::{Instant, Sleep};
use tower_service::Service;

const KEPT: usize = 10_000;

/// A service that gives call number *i* reply *i*, and the last reply to all later calls. Always ready. Clones share
/// the script and the record.
#[derive(Clone)]
pub struct ScriptedService {
    shared: Arc<Shared>,
}

struct Shared {
    replies: Vec<Arc<Reply>>,
    calls: AtomicUsize,
    in_flight: AtomicUsize,
    most: AtomicUsize,
    dropped: AtomicUsize,
    received: Mutex<VecDeque<Received>>,
}

/// One call as it arrived. `Debug` shows no header values and no body.
#[derive(Clone)]
pub struct Received {
    /// Its number, from 0.
    pub number: usize,
    /// Method, URI, headers, extensions.
    pub parts: Parts,
    /// The body; `None` while, or when, it was not read to its end.
    pub body: Option<Bytes>,
    /// When the call was made.
    pub at: Instant,
}

impl ScriptedService {
    /// A service that plays these replies; without one it fails all calls.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let shared = Shared {
            replies: replies.into_iter().map(Arc::new).collect(),
            calls: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            received: Mutex::new(VecDeque::new()),
        };
        Self { shared: Arc::new(shared) }
    }

    /// How often it was called.
    pub fn calls(&self) -> usize {
        self.shared.calls.load(Relaxed)
    }

    /// How many futures have neither ended nor been dropped.
    pub fn in_flight(&self) -> usize {
        self.shared.in_flight.load(Relaxed)
    }

    /// The most that were in flight at one moment.
    pub fn most_in_flight(&self) -> usize {
        self.shared.most.load(Relaxed)
    }

    /// How many futures were dropped before they ended.
    pub fn dropped(&self) -> usize {
        self.shared.dropped.load(Relaxed)
    }

    /// The calls in order; the last 10,000.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.received.lock().iter().cloned().collect()
    }
}

impl Shared {
    fn receive(&self, parts: Parts) -> usize {
        let mut received = self.received.lock();
        let number = self.calls.fetch_add(1, Relaxed);
        if received.len() >= KEPT {
            received.pop_front();
        }
        received.push_back(Received { number, parts, body: None, at: Instant::now() });
        number
    }

    fn body(&self, number: usize, body: Bytes) {
        let mut received = self.received.lock();
        if let Some(call) = received.iter_mut().rev().find(|call| call.number == number) {
            call.body = Some(body);
        }
    }
}

impl<B> Service<Request<B>> for ScriptedService
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Response = Response<FaultBody>;
    type Error = BoxError;
    type Future = ScriptedFuture<B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let number = self.shared.receive(parts);
        let reply = self.shared.replies.get(number).or(self.shared.replies.last()).cloned();
        let now = self.shared.in_flight.fetch_add(1, Relaxed) + 1;
        self.shared.most.fetch_max(now, Relaxed);
        let (read, unread) = match &reply {
            Some(reply) if !reply.reads => (None, Some(body)),
            _ => (Some(Collect::new(body)), None),
        };
        let flight = Flight { shared: Arc::clone(&self.shared), ended: false };
        ScriptedFuture { read, unread, sleep: None, reply, number, flight }
    }
}

pin_project! {
    /// The future of a [`ScriptedService`]'s call.
    pub struct ScriptedFuture<B> {
        #[pin]
        read: Option<Collect<B>>,
        unread: Option<B>,
        sleep: Option<Pin<Box<Sleep>>>,
        reply: Option<Arc<Reply>>,
        number: usize,
        flight: Flight,
    }
}

/// Counts a future as in flight until it has ended or is dropped.
struct Flight {
    shared: Arc<Shared>,
    ended: bool,
}

impl Flight {
    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.shared.in_flight.fetch_sub(1, Relaxed);
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.ended {
            self.shared.dropped.fetch_add(1, Relaxed);
        }
        self.end();
    }
}

impl<B> Future for ScriptedFuture<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Output = Result<Response<FaultBody>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(read) = this.read.as_mut().as_pin_mut() {
            let body = ready!(read.poll(cx));
            this.read.set(None);
            match body {
                Ok(body) => this.flight.shared.body(*this.number, body),
                Err(error) => {
                    this.flight.end();
                    return Poll::Ready(Err(error));
                }
            }
        }
        let Some(reply) = this.reply else {
            this.flight.end();
            return Poll::Ready(Err("the script has no reply".into()));
        };
        let sleep = this.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(reply.after)));
        if !reply.after.is_zero() {
            ready!(sleep.as_mut().poll(cx));
        }
        match reply.result() {
            Some(result) => {
                *this.unread = None;
                this.flight.end();
                Poll::Ready(result)
            }
            None => Poll::Pending,
        }
    }
}

impl fmt::Debug for ScriptedService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedService")
            .field("calls", &self.calls())
            .field("in_flight", &self.in_flight())
            .field("dropped", &self.dropped())
            .finish_non_exhaustive()
    }
}

impl<B> fmt::Debug for ScriptedFuture<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedFuture").field("number", &self.number).finish_non_exhaustive()
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received")
            .field("number", &self.number)
            .field("method", &self.parts.method)
            .field("path", &self.parts.uri.path())
            .field("headers", &self.parts.headers.keys().collect::<Vec<_>>())
            .field("body", &self.body.as_ref().map(Bytes::len))
            .finish_non_exhaustive()
    }
}
