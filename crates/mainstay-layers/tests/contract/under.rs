//! The service under the layers, and the erased type of what is above it.

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use mainstay_layers::BoxError;
use mainstay_testkit::memory::FaultBody;
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll},
};
use tower::{Service, ServiceExt, util::BoxCloneSyncService};

/// A layer over [`Under`], whatever its types are.
pub(crate) type Stack = BoxCloneSyncService<Request<FaultBody>, Response<AnyBody>, BoxError>;

pub(crate) type AnyBody = UnsyncBoxBody<Bytes, BoxError>;

/// What becomes of a call, by its number from 0.
type Answers = dyn Fn(usize) -> Answer + Send + Sync;

pub(crate) enum Answer {
    Reply(Response<FaultBody>),
    Never,
}

/// How ready it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ready {
    Yes,
    Pending,
    Fails,
}

/// A service that answers as a test says, and is as ready as a test says.
#[derive(Clone)]
pub(crate) struct Under {
    answers: Arc<Answers>,
    ready: Arc<dyn Fn(usize) -> Ready + Send + Sync>,
    calls: Arc<AtomicUsize>,
    readies: Arc<AtomicUsize>,
}

impl Under {
    pub(crate) fn new(answers: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        Self {
            answers: Arc::new(answers),
            ready: Arc::new(|_| Ready::Yes),
            calls: Arc::default(),
            readies: Arc::default(),
        }
    }

    /// Good replies with that body.
    pub(crate) fn body(body: impl Fn() -> FaultBody + Send + Sync + 'static) -> Self {
        Self::new(move |_| Answer::Reply(Response::new(body())))
    }

    /// Replies of these statuses, the last one for ever.
    pub(crate) fn statuses(statuses: &'static [u16]) -> Self {
        Self::new(move |call| {
            let status = statuses.get(call).or(statuses.last()).copied().unwrap_or(200);
            Answer::Reply(Response::builder().status(status).body(FaultBody::from("reply")).unwrap())
        })
    }

    /// Says how ready it is the n-th time that it is asked, from 0.
    pub(crate) fn ready(mut self, ready: impl Fn(usize) -> Ready + Send + Sync + 'static) -> Self {
        self.ready = Arc::new(ready);
        self
    }

    /// How often it was asked whether it is ready.
    pub(crate) fn asked(&self) -> usize {
        self.readies.load(SeqCst)
    }
}

impl<B> Service<Request<B>> for Under
where
    B: Body + Send + 'static,
    B::Error: Into<BoxError>,
    B::Data: Send,
{
    type Response = Response<FaultBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<FaultBody>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match (self.ready)(self.readies.fetch_add(1, SeqCst)) {
            Ready::Yes => Poll::Ready(Ok(())),
            Ready::Pending => Poll::Pending,
            Ready::Fails => Poll::Ready(Err("not ready".into())),
        }
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let answer = (self.answers)(self.calls.fetch_add(1, SeqCst));
        Box::pin(async move {
            request.into_body().collect().await.map_err(Into::into)?;
            match answer {
                Answer::Reply(reply) => Ok(reply),
                Answer::Never => std::future::pending().await,
            }
        })
    }
}

pub(crate) fn erase<S, B>(service: S) -> Stack
where
    S: Service<Request<FaultBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let erased = |reply: Response<B>| reply.map(|body| body.map_err(Into::into).boxed_unsync());
    BoxCloneSyncService::new(service.map_err(Into::into).map_response(erased))
}

pub(crate) fn request() -> Request<FaultBody> {
    Request::post("/search").body(FaultBody::from("a question")).unwrap()
}
