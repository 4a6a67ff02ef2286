//! The layer that records.

use super::{
    body::{Exchange, RecordBody},
    entry::{Entry, safe_headers, safe_path},
};
use http::{Request, Response};
use http_body::Body;
use mainstay_layers::BoxError;
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use std::{
    fmt,
    fs::OpenOptions,
    io::{self, Write},
    path::Path,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tower_layer::Layer;
use tower_service::Service;

/// Where the lines go. An error of the file is kept and told when it is asked for: a call must not fail for it.
#[derive(Clone)]
pub(super) struct Sink(Arc<Mutex<File>>);

struct File {
    out: Box<dyn Write + Send>,
    error: Option<io::Error>,
}

impl Sink {
    pub(super) fn write(&self, entry: &Entry) {
        let mut file = self.0.lock();
        let line = serde_json::to_string(entry).map_err(io::Error::other);
        let written = line.and_then(|line| {
            file.out.write_all(line.as_bytes())?;
            file.out.write_all(b"\n")?;
            file.out.flush()
        });
        if let Err(error) = written {
            file.error.get_or_insert(error);
        }
    }
}

/// Records each exchange as one line of JSON; see [the module](super) for what is left out.
#[derive(Clone)]
pub struct RecordLayer {
    sink: Sink,
}

impl RecordLayer {
    /// Writes to that.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        Self { sink: Sink(Arc::new(Mutex::new(File { out: Box::new(out), error: None }))) }
    }

    /// Adds to the file, which is made when it is not there.
    ///
    /// # Errors
    /// The system's, when the file cannot be opened.
    pub fn append(file: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self::new(OpenOptions::new().create(true).append(true).open(file)?))
    }

    /// The first error met in writing, once.
    pub fn take_error(&self) -> Option<io::Error> {
        self.sink.0.lock().error.take()
    }
}

impl<S> Layer<S> for RecordLayer {
    type Service = Record<S>;

    fn layer(&self, inner: S) -> Record<S> {
        Record { inner, sink: self.sink.clone() }
    }
}

/// The service of a [`RecordLayer`].
#[derive(Clone)]
pub struct Record<S> {
    inner: S,
    sink: Sink,
}

impl<S, B, R> Service<Request<B>> for Record<S>
where
    S: Service<Request<RecordBody<B>>, Response = Response<R>>,
    S::Error: Into<BoxError>,
    R: Body,
{
    type Response = Response<RecordBody<R>>;
    type Error = BoxError;
    type Future = RecordFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let entry = Entry {
            method: request.method().to_string(),
            path: safe_path(request.uri()),
            request_headers: safe_headers(request.headers()),
            ..Entry::default()
        };
        let exchange = Arc::new(Mutex::new(Exchange::new(entry, self.sink.clone())));
        let request = request.map(|body| RecordBody::request(body, Arc::clone(&exchange)));
        RecordFuture { inner: self.inner.call(request), exchange }
    }
}

pin_project! {
    /// The future of a [`Record`]'s call.
    pub struct RecordFuture<F> {
        #[pin]
        inner: F,
        exchange: Arc<Mutex<Exchange>>,
    }
}

impl<F, R, E> Future for RecordFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    E: Into<BoxError>,
    R: Body,
{
    type Output = Result<Response<RecordBody<R>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        match ready!(this.inner.poll(cx)) {
            Ok(response) => {
                this.exchange.lock().replied(response.status().as_u16(), safe_headers(response.headers()));
                Poll::Ready(Ok(response.map(|body| RecordBody::response(body, Arc::clone(this.exchange)))))
            }
            Err(error) => {
                let error = error.into();
                this.exchange.lock().failed(error.to_string());
                Poll::Ready(Err(error))
            }
        }
    }
}

impl fmt::Debug for RecordLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordLayer").finish_non_exhaustive()
    }
}

impl<S: fmt::Debug> fmt::Debug for Record<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<F> fmt::Debug for RecordFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordFuture").finish_non_exhaustive()
    }
}
