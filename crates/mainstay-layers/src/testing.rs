//! What the tests of several layers use.

#![allow(dead_code, reason = "not every set of features uses all of it")]

use crate::BoxError;
use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use std::{
    future::{Future, poll_fn},
    marker::PhantomData,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};
use tokio::sync::mpsc;

/// A body that is fed from outside.
#[derive(Debug)]
pub(crate) struct FedBody {
    frames: mpsc::UnboundedReceiver<Result<Frame<Bytes>, BoxError>>,
    hint: SizeHint,
    /// How often it was asked.
    pub(crate) polls: u32,
}

/// The other end of a [`FedBody`]; dropping it ends the body.
#[derive(Debug, Clone)]
pub(crate) struct Feed(mpsc::UnboundedSender<Result<Frame<Bytes>, BoxError>>);

pub(crate) fn fed() -> (Feed, FedBody) {
    let (feed, frames) = mpsc::unbounded_channel();
    (Feed(feed), FedBody { frames, hint: SizeHint::new(), polls: 0 })
}

impl FedBody {
    pub(crate) fn with_hint(mut self, lower: u64, upper: Option<u64>) -> Self {
        self.hint.set_lower(lower);
        if let Some(upper) = upper {
            self.hint.set_upper(upper);
        }
        self
    }
}

impl Feed {
    pub(crate) fn data(&self, data: impl Into<Bytes>) {
        let _ = self.0.send(Ok(Frame::data(data.into())));
    }

    pub(crate) fn trailers(&self) {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
        let _ = self.0.send(Ok(Frame::trailers(trailers)));
    }

    pub(crate) fn error(&self) {
        let _ = self.0.send(Err("broken".into()));
    }

    /// Whether the body was dropped.
    pub(crate) fn is_gone(&self) -> bool {
        self.0.is_closed()
    }
}

impl Body for FedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.polls += 1;
        self.frames.poll_recv(cx)
    }

    fn size_hint(&self) -> SizeHint {
        self.hint
    }
}

/// The next frame.
pub(crate) async fn next<B: Body + Unpin>(body: &mut B) -> Option<Result<Frame<B::Data>, B::Error>> {
    poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await
}

/// The data of the next frame, which must be one.
pub(crate) async fn data<B: Body + Unpin>(body: &mut B) -> B::Data
where
    B::Error: std::fmt::Debug,
{
    next(body).await.expect("a frame").expect("no error").into_data().ok().expect("data")
}

/// The error of the next frame, which must be one.
pub(crate) async fn failure<B: Body<Error = BoxError> + Unpin>(body: &mut B) -> BoxError {
    match next(body).await.expect("an error, not the end") {
        Ok(_) => panic!("an error, not a frame"),
        Err(error) => error,
    }
}

/// How many calls of an [`endless`] service are running.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calls(Arc<AtomicUsize>);

impl Calls {
    pub(crate) fn running(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

struct Running(Calls);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A service that never answers.
#[derive(Debug)]
pub(crate) struct Endless<R>(Calls, PhantomData<fn(R)>);

pub(crate) fn endless<R>() -> (Calls, Endless<R>) {
    let calls = Calls::default();
    (calls.clone(), Endless(calls, PhantomData))
}

impl<R> Clone for Endless<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<R> tower_service::Service<R> for Endless<R> {
    type Response = http::Response<FedBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: R) -> Self::Future {
        self.0.0.fetch_add(1, Ordering::SeqCst);
        let running = Running(self.0.clone());
        Box::pin(async move {
            let _running = running;
            std::future::pending().await
        })
    }
}
