//! A layer of one's own: so many calls a minute for each team, by a header.
//!
//! What makes it a good neighbour of the others:
//!
//! * **State is made once**, in `new`: frameworks call `layer()` for each route, and all routes must share the counts.
//! * **`poll_ready` takes nothing.** Whoever is ready may never call; the count is taken in `call`.
//! * **The refusal is an error with a verdict** ([`Failed`]): a retry above reads from it that it is a rate limit and how
//!   long it lasts, without knowing this layer.
//! * **The future has a name** and holds no box; the body of the reply is the inner one.
//! * **Nothing grows without bound**: the header comes from callers, so the table has an end.

use http::{HeaderName, Request};
use mainstay_layers::{
    BoxError,
    classify::{Class, Failed, Sent, Verdict},
};
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use std::{
    collections::HashMap,
    error::Error,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

const TEAM: HeaderName = HeaderName::from_static("x-team");
const WINDOW: Duration = Duration::from_secs(60);
/// More teams than this share one count.
const MAX_TEAMS: usize = 1000;

/// At most so many calls a minute for each `x-team`. Clones share the counts.
#[derive(Clone, Debug)]
pub struct TeamQuotaLayer {
    calls: u32,
    windows: Arc<Mutex<HashMap<String, Window>>>,
}

#[derive(Debug)]
struct Window {
    began: Instant,
    calls: u32,
}

/// The service of [`TeamQuotaLayer`].
#[derive(Clone, Debug)]
pub struct TeamQuota<S> {
    inner: S,
    layer: TeamQuotaLayer,
}

/// A team has used up its minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaUsed {
    calls: u32,
}

impl TeamQuotaLayer {
    /// At most `calls` a minute for each team.
    pub fn new(calls: u32) -> Self {
        Self { calls, windows: Arc::default() }
    }

    /// Counts a call, or says how long its team has to wait.
    fn take(&self, team: &str) -> Result<(), Duration> {
        let now = Instant::now();
        let mut windows = self.windows.lock();
        if windows.len() >= MAX_TEAMS && !windows.contains_key(team) {
            windows.retain(|_, window| now < window.began + WINDOW);
        }
        let team = if windows.len() >= MAX_TEAMS && !windows.contains_key(team) { "" } else { team };
        let window = windows.entry(team.to_owned()).or_insert(Window { began: now, calls: 0 });
        if now >= window.began + WINDOW {
            *window = Window { began: now, calls: 0 };
        }
        if window.calls >= self.calls {
            return Err(window.began + WINDOW - now);
        }
        window.calls += 1;
        Ok(())
    }
}

impl<S> Layer<S> for TeamQuotaLayer {
    type Service = TeamQuota<S>;

    fn layer(&self, inner: S) -> TeamQuota<S> {
        TeamQuota { inner, layer: self.clone() }
    }
}

impl<S, B> Service<Request<B>> for TeamQuota<S>
where
    S: Service<Request<B>>,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = QuotaFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let team = request.headers().get(TEAM).and_then(|team| team.to_str().ok()).unwrap_or("");
        match self.layer.take(team) {
            Ok(()) => QuotaFuture { state: State::Passed { inner: self.inner.call(request) } },
            Err(wait) => {
                let verdict = Verdict::new(Class::RateLimited).with_wait(Some(wait)).with_sent(Sent::No);
                let error = Failed::new(verdict, QuotaUsed { calls: self.layer.calls });
                QuotaFuture { state: State::Refused { error: Some(error) } }
            }
        }
    }
}

pin_project! {
    /// The future of [`TeamQuota`].
    #[derive(Debug)]
    pub struct QuotaFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    #[derive(Debug)]
    enum State<F> {
        Passed { #[pin] inner: F },
        Refused { error: Option<Failed> },
    }
}

impl<F, R, E> Future for QuotaFuture<F>
where
    F: Future<Output = Result<R, E>>,
    E: Into<BoxError>,
{
    type Output = Result<R, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Passed { inner } => inner.poll(cx).map_err(Into::into),
            StateProj::Refused { error } => match error.take() {
                Some(error) => Poll::Ready(Err(error.into())),
                None => Poll::Pending,
            },
        }
    }
}

impl fmt::Display for QuotaUsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the team has used up its {} calls of this minute", self.calls)
    }
}

impl Error for QuotaUsed {}
