//! Targets that play a script, in memory.

use super::{AttemptLayer, Fallback, Observe, Pace, Target, TargetName};
use crate::{
    body::RequestBody,
    judge::JudgeLayer,
    peek::{Call, peek},
    provider::Kind,
};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use mainstay_layers::{
    BoxError,
    breaker::{self, CircuitBreaker, CircuitBreakerLayer},
    classify::Class,
    concurrency::{ConcurrencyLayer, ConcurrencyLimit},
    retry::{Budget, NextTarget, RetryLayer},
    timeout::{TimeoutConfig, TimeoutLayer},
};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::Sleep;
use tower::{ServiceBuilder, service_fn};

/// What a provider does with one request.
#[derive(Clone, Debug)]
pub(super) enum Play {
    /// Never answers.
    Silence,
    /// The connection breaks before a reply.
    Refuse,
    Reply {
        status: u16,
        headers: Vec<(&'static str, String)>,
        after: Duration,
        chunks: Vec<(Duration, String)>,
        end: End,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Proper,
    Break,
    Hang,
}

impl Play {
    pub(super) fn json(status: u16, body: impl Into<String>) -> Self {
        Play::Reply {
            status,
            headers: vec![("content-type", "application/json".into())],
            after: Duration::ZERO,
            chunks: vec![(Duration::ZERO, body.into())],
            end: End::Proper,
        }
    }

    /// A whole answer in the form of chat completions.
    pub(super) fn answer(text: &str) -> Self {
        let message = serde_json::json!({"role": "assistant", "content": text});
        let choice = serde_json::json!({"index": 0, "message": message, "finish_reason": "stop"});
        Play::json(200, serde_json::json!({"id": "x", "choices": [choice]}).to_string())
    }

    pub(super) fn error(status: u16, message: &str) -> Self {
        Play::json(status, serde_json::json!({"error": {"message": message}}).to_string())
    }

    pub(super) fn events(chunks: &[&str], end: End) -> Self {
        let chunks = chunks.iter().map(|chunk| (Duration::ZERO, format!("data: {chunk}\n\n"))).collect();
        let headers = vec![("content-type", "text/event-stream".to_owned())];
        Play::Reply { status: 200, headers, after: Duration::ZERO, chunks, end }
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Play::Reply { headers, .. } = &mut self {
            headers.push((name, value.to_owned()));
        }
        self
    }

    pub(super) fn after(mut self, wait: Duration) -> Self {
        if let Play::Reply { after, .. } = &mut self {
            *after = wait;
        }
        self
    }

    pub(super) fn pause_before_each(mut self, wait: Duration) -> Self {
        if let Play::Reply { chunks, .. } = &mut self {
            chunks.iter_mut().for_each(|(after, _)| *after = wait);
        }
        self
    }
}

/// A request as a provider got it.
#[derive(Clone, Debug)]
pub(super) struct Got {
    pub(super) body: serde_json::Value,
    pub(super) headers: HeaderMap,
    pub(super) next: Option<NextTarget>,
}

/// A scripted provider: request number i gets play i, the last one serves all later ones.
#[derive(Clone, Debug)]
pub(super) struct Provider {
    plays: Arc<Mutex<VecDeque<Play>>>,
    pub(super) got: Arc<Mutex<Vec<Got>>>,
    /// Calls and bodies that are under way.
    pub(super) open: Arc<AtomicUsize>,
    pub(super) places: ConcurrencyLimit,
    pub(super) breaker: CircuitBreaker,
    pub(super) retry: RetryLayer,
    pub(super) idle: Duration,
    pub(super) pace: Pace,
    pub(super) budget: Option<Budget>,
}

impl Provider {
    pub(super) fn new(plays: impl IntoIterator<Item = Play>) -> Self {
        Self {
            plays: Arc::new(Mutex::new(plays.into_iter().collect())),
            got: Arc::default(),
            open: Arc::default(),
            places: ConcurrencyLimit::new(1000),
            breaker: breaker::Config::new().build("provider").unwrap(),
            retry: RetryLayer::new().with_attempts(1),
            idle: Duration::from_secs(30),
            pace: Pace::default(),
            budget: None,
        }
    }

    pub(super) fn attempts(mut self, attempts: u32) -> Self {
        self.retry = self.retry.with_attempts(attempts).with_jitter(mainstay_layers::retry::Jitter::None);
        self
    }

    /// Retries, hedges and fallbacks draw from `budget`.
    pub(super) fn paying(mut self, budget: &Budget) -> Self {
        self.retry = self.retry.with_budget(budget.clone());
        self.budget = Some(budget.clone());
        self
    }

    /// Plays this from now on.
    pub(super) fn replace(&self, plays: impl IntoIterator<Item = Play>) {
        *self.plays.lock() = plays.into_iter().collect();
    }

    pub(super) fn calls(&self) -> usize {
        self.got.lock().len()
    }

    pub(super) fn bodies(&self) -> Vec<serde_json::Value> {
        self.got.lock().iter().map(|got| got.body.clone()).collect()
    }

    /// Nothing of any call is left.
    #[track_caller]
    pub(super) fn assert_idle(&self) {
        assert_eq!(self.open.load(Ordering::SeqCst), 0, "calls are open");
        assert_eq!(self.places.in_flight(), 0, "permits are out");
    }

    /// The target `name` in front of it, with the layers of a gateway.
    pub(super) fn target(&self, name: &str, observer: &Arc<Watch>) -> Target {
        let name = Arc::new(TargetName::parse(name));
        let this = self.clone();
        let stack = ServiceBuilder::new()
            .layer(self.retry.clone())
            .layer(CircuitBreakerLayer::new(self.breaker.clone()))
            .layer(ConcurrencyLayer::new(self.places.clone()))
            .layer(
                AttemptLayer::new(name.clone(), observer.clone() as Arc<dyn Observe>)
                    .with_pace(self.pace.clone()),
            )
            .layer(JudgeLayer::new(Kind::OpenAi))
            .layer(TimeoutLayer::new(
                TimeoutConfig::new().with_idle(self.idle).with_attempt(Duration::from_secs(60)),
            ))
            .service(service_fn(move |request: Request<_>| this.clone().play(request)));
        let target = Target::new(name, stack)
            .with_breaker(self.breaker.clone())
            .with_places(self.places.clone())
            .with_pace(self.pace.clone());
        match &self.budget {
            Some(budget) => target.with_budget(budget.clone()),
            None => target,
        }
    }

    async fn play<B>(self, request: Request<B>) -> Result<Response<PlayBody>, BoxError>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: std::fmt::Debug,
    {
        let open = Open::new(&self.open);
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&body).unwrap_or_default();
        let next = parts.extensions.get().copied();
        self.got.lock().push(Got { body, headers: parts.headers, next });
        let play = {
            let mut plays = self.plays.lock();
            if plays.len() > 1 { plays.pop_front().unwrap() } else { plays.front().unwrap().clone() }
        };
        match play {
            Play::Silence => std::future::pending().await,
            Play::Refuse => Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()),
            Play::Reply { status, headers, after, chunks, end } => {
                if !after.is_zero() {
                    tokio::time::sleep(after).await;
                }
                let body = PlayBody { chunks: chunks.into(), sleep: None, end, _open: open };
                let mut response = Response::new(body);
                *response.status_mut() = StatusCode::from_u16(status).unwrap();
                for (name, value) in headers {
                    response.headers_mut().insert(name, value.parse().unwrap());
                }
                Ok(response)
            }
        }
    }
}

#[derive(Debug)]
struct Open(Arc<AtomicUsize>);

impl Open {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Debug)]
pub(super) struct PlayBody {
    chunks: VecDeque<(Duration, String)>,
    sleep: Option<Pin<Box<Sleep>>>,
    end: End,
    _open: Open,
}

impl Body for PlayBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some((after, _)) = self.chunks.front() else {
            return match self.end {
                End::Proper => Poll::Ready(None),
                End::Break => Poll::Ready(Some(Err(io::Error::from(io::ErrorKind::ConnectionReset).into()))),
                End::Hang => Poll::Pending,
            };
        };
        if !after.is_zero() {
            let after = *after;
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(after)));
            ready!(sleep.as_mut().poll(cx));
            self.sleep = None;
        }
        let (_, chunk) = self.chunks.pop_front().unwrap();
        Poll::Ready(Some(Ok(Frame::data(chunk.into()))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

/// Writes down what it is told.
#[derive(Debug, Default)]
pub(super) struct Watch {
    pub(super) attempts: Mutex<Vec<(String, Class)>>,
    pub(super) fallbacks: Mutex<Vec<String>>,
    pub(super) hedges: Mutex<Vec<String>>,
    pub(super) retries: Mutex<Vec<String>>,
    pub(super) recoveries: Mutex<Vec<(String, Option<String>)>>,
}

impl Observe for Watch {
    fn attempt(&self, target: &TargetName, class: Class, _: Duration) {
        self.attempts.lock().push((target.to_string(), class));
    }

    fn fallback(&self, from: &TargetName, _: Class) {
        self.fallbacks.lock().push(from.to_string());
    }

    fn retry(&self, target: &TargetName) {
        self.retries.lock().push(target.to_string());
    }

    fn hedge(&self, to: &TargetName) {
        self.hedges.lock().push(to.to_string());
    }

    fn recovery(&self, from: &TargetName, to: Option<&TargetName>) {
        self.recoveries.lock().push((from.to_string(), to.map(ToString::to_string)));
    }
}

impl Watch {
    pub(super) fn classes(&self) -> Vec<(String, Class)> {
        self.attempts.lock().clone()
    }
}

/// A route over providers, called `a`, `b`, ... or as `names` say.
pub(super) fn route(targets: &[(&str, &Provider)]) -> (Fallback, Arc<Watch>) {
    let watch = Arc::new(Watch::default());
    let targets: Vec<Target> = targets.iter().map(|(name, provider)| provider.target(name, &watch)).collect();
    (Fallback::new(targets).with_observer(watch.clone()), watch)
}

/// A call with this body.
pub(super) fn request(path: &str, body: &str) -> Request<RequestBody> {
    let call = Call::of_path(path).unwrap_or_else(|| Call::new(path, peek(body.as_bytes()).unwrap()));
    call.into_request(Request::post(path).body(()).unwrap(), Bytes::copy_from_slice(body.as_bytes()))
}

/// A chat completion that is no stream.
pub(super) fn chat() -> Request<RequestBody> {
    request("/v1/chat/completions", r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#)
}
