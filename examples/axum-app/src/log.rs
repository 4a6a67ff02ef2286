//! A log layer: one line for each outcome. Outside the retry it sees calls, inside it sees tries.

use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use mainstay::{
    BoxError,
    layers::classify::{Classify, Head},
};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tower::{Layer, Service};

/// Where lines go.
pub type Sink = Arc<dyn Fn(&str) + Send + Sync>;

/// Says what became of everything that passes here, when it is over: for a good reply when its body has ended.
#[derive(Clone)]
pub struct LogLayer<C> {
    label: Arc<str>,
    policy: C,
    sink: Sink,
}

impl<C> LogLayer<C> {
    /// Lines begin with `label`; `policy` gives outcomes their names.
    pub fn new(label: impl Into<Arc<str>>, policy: C, sink: Sink) -> Self {
        Self { label: label.into(), policy, sink }
    }
}

impl<S, C: Clone> Layer<S> for LogLayer<C> {
    type Service = Log<S, C>;

    fn layer(&self, inner: S) -> Log<S, C> {
        Log { inner, layer: self.clone() }
    }
}

/// The service of [`LogLayer`].
#[derive(Clone)]
pub struct Log<S, C> {
    inner: S,
    layer: LogLayer<C>,
}

/// A line that is still to be written; dropped unwritten it says that the caller left.
struct Line<C>(Option<LogLayer<C>>);

impl<C> Line<C> {
    fn write(&mut self, outcome: &str) {
        if let Some(layer) = self.0.take() {
            (layer.sink)(&format!("{}: {outcome}", layer.label));
        }
    }
}

impl<C: Classify> Line<C> {
    fn error(&mut self, error: BoxError) -> BoxError {
        if let Some(layer) = &self.0 {
            let class = layer.policy.error(&*error).class;
            self.write(class.as_str());
        }
        error
    }
}

impl<C> Drop for Line<C> {
    fn drop(&mut self) {
        self.write("the caller left");
    }
}

impl<S, C, B, RB> Service<Request<B>> for Log<S, C>
where
    S: Service<Request<B>, Response = Response<RB>>,
    S::Error: Into<BoxError>,
    C: Classify + Clone,
    RB: Body,
{
    type Response = Response<LogBody<RB, C>>;
    type Error = BoxError;
    type Future = LogFuture<S::Future, C>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        LogFuture { inner: self.inner.call(request), line: Some(Line(Some(self.layer.clone()))) }
    }
}

pin_project! {
    /// The future of [`Log`].
    pub struct LogFuture<F, C> {
        #[pin]
        inner: F,
        line: Option<Line<C>>,
    }
}

impl<F, C, RB, E> Future for LogFuture<F, C>
where
    F: Future<Output = Result<Response<RB>, E>>,
    E: Into<BoxError>,
    C: Classify,
    RB: Body,
{
    type Output = Result<Response<LogBody<RB, C>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let result = ready!(this.inner.poll(cx));
        let mut line = this.line.take().unwrap_or(Line(None));
        Poll::Ready(match result {
            Ok(reply) => {
                let verdict = line.0.as_ref().map(|layer| layer.policy.head(Head::of(&reply)));
                match verdict {
                    Some(verdict) if !verdict.is_success() => line.write(verdict.class.as_str()),
                    _ if reply.body().is_end_stream() => line.write("success"),
                    _ => {}
                }
                Ok(reply.map(|inner| LogBody { inner, line }))
            }
            Err(error) => Err(line.error(error.into())),
        })
    }
}

pin_project! {
    /// The body of a reply, which writes the line at its end.
    pub struct LogBody<B, C> {
        #[pin]
        inner: B,
        line: Line<C>,
    }
}

impl<B, C> Body for LogBody<B, C>
where
    B: Body,
    B::Error: Into<BoxError>,
    C: Classify,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let mut this = self.project();
        Poll::Ready(match ready!(this.inner.as_mut().poll_frame(cx)) {
            Some(Ok(frame)) => {
                if frame.is_trailers() || this.inner.is_end_stream() {
                    this.line.write("success");
                }
                Some(Ok(frame))
            }
            Some(Err(error)) => Some(Err(this.line.error(error.into()))),
            None => {
                this.line.write("success");
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
