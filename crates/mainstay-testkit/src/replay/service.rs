//! The service that answers from a file.

use super::entry::{Entry, safe_path};
use crate::memory::{Collect, FaultBody, ScriptedError};
use http::{Method, Request, Response};
use http_body::Body;
use mainstay_layers::BoxError;
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use std::{
    error::Error,
    fmt, io,
    path::Path,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tower_service::Service;

/// Answers from a recording; see [the module](super) for how a call finds its reply. Always ready. Clones share what
/// was used.
#[derive(Clone, Debug)]
pub struct ReplayService {
    entries: Arc<Mutex<Vec<Kept>>>,
    paced: bool,
}

#[derive(Debug)]
struct Kept {
    entry: Entry,
    used: usize,
}

impl ReplayService {
    /// Reads a recording from a file.
    ///
    /// # Errors
    /// The system's; or one that names the line that is no exchange.
    pub fn open(file: impl AsRef<Path>) -> io::Result<Self> {
        Self::read(&std::fs::read_to_string(file)?)
    }

    /// Reads a recording from text, as from `include_str!`. Empty lines are skipped.
    ///
    /// # Errors
    /// One that names the line that is no exchange.
    pub fn read(text: &str) -> io::Result<Self> {
        let mut entries = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let entry: Entry = serde_json::from_str(line).map_err(|error| {
                io::Error::new(io::ErrorKind::InvalidData, format!("line {}: {error}", number + 1))
            })?;
            if !entry.cut {
                entries.push(Kept { entry, used: 0 });
            }
        }
        Ok(Self { entries: Arc::new(Mutex::new(entries)), paced: false })
    }

    /// Replies take as long between their frames as they did. Without it they come at once.
    pub fn paced(mut self) -> Self {
        self.paced = true;
        self
    }

    fn reply(&self, method: &Method, path: &str, body: &[u8]) -> Result<Response<FaultBody>, BoxError> {
        let mut entries = self.entries.lock();
        let fits = entries.iter_mut().filter(|kept| kept.entry.is(method, path, body));
        let Some(kept) = fits.min_by_key(|kept| kept.used) else {
            return Err(NotRecorded { call: format!("{method} {path}"), entries: entries.len() }.into());
        };
        kept.used += 1;
        let error = || ScriptedError::new(kept.entry.error.clone().unwrap_or_default()).into();
        kept.entry.reply(self.paced).ok_or_else(error)
    }
}

impl<B> Service<Request<B>> for ReplayService
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Response = Response<FaultBody>;
    type Error = BoxError;
    type Future = ReplayFuture<B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let path = safe_path(&parts.uri);
        ReplayFuture { read: Collect::new(body), method: parts.method, path, service: self.clone() }
    }
}

pin_project! {
    /// The future of a [`ReplayService`]'s call: reads the request's body whole, then answers.
    #[derive(Debug)]
    pub struct ReplayFuture<B> {
        #[pin]
        read: Collect<B>,
        method: Method,
        path: String,
        service: ReplayService,
    }
}

impl<B> Future for ReplayFuture<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Output = Result<Response<FaultBody>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let body = ready!(this.read.poll(cx))?;
        Poll::Ready(this.service.reply(this.method, this.path, &body))
    }
}

/// A call that is not in the recording.
#[derive(Debug)]
#[non_exhaustive]
pub struct NotRecorded {
    call: String,
    entries: usize,
}

impl fmt::Display for NotRecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, entries } = self;
        write!(f, "{call} with this body is not among the {entries} recorded calls")
    }
}

impl Error for NotRecorded {}
