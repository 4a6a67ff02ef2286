//! A body by script, and a service that answers with one.

use crate::{BoxError, breaker::*, classify::HttpClassifier};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Sleep;
use tower::{Service, util::ServiceFn};

#[derive(Debug)]
pub(super) enum Step {
    Data(&'static str),
    Trailers(HeaderMap),
    Fail(BoxError),
    /// Pending once.
    Pend,
    Sleep(Duration),
    Hang,
}

/// Plays its steps, then ends; tells its end beforehand if `announces`.
#[derive(Debug)]
pub(super) struct Script {
    steps: VecDeque<Step>,
    sleep: Option<Pin<Box<Sleep>>>,
    announces: bool,
}

impl Script {
    pub(super) fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), sleep: None, announces: false }
    }

    pub(super) fn announcing(mut self) -> Self {
        self.announces = true;
        self
    }

    pub(super) fn text() -> Self {
        Self::of([Step::Data("hello")])
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
                std::task::ready!(sleep.as_mut().poll(cx));
                self.sleep = None;
            }
            return Poll::Ready(match self.steps.pop_front() {
                None => None,
                Some(Step::Data(text)) => Some(Ok(Frame::data(Bytes::from_static(text.as_bytes())))),
                Some(Step::Trailers(map)) => Some(Ok(Frame::trailers(map))),
                Some(Step::Fail(error)) => Some(Err(error)),
                Some(Step::Pend) => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Step::Sleep(time)) => {
                    self.sleep = Some(Box::pin(tokio::time::sleep(time)));
                    continue;
                }
                Some(Step::Hang) => {
                    self.steps.push_front(Step::Hang);
                    return Poll::Pending;
                }
            });
        }
    }

    fn is_end_stream(&self) -> bool {
        self.announces && self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::new()
    }
}

pub(super) fn reply(status: u16, body: Script) -> Response<Script> {
    Response::builder().status(StatusCode::from_u16(status).unwrap()).body(body).unwrap()
}

/// A service behind `breaker` that answers with what `answer` makes.
pub(super) fn service<F, Fut>(
    breaker: &CircuitBreaker,
    mut answer: F,
) -> CircuitBreakerService<ServiceFn<impl FnMut(Request<()>) -> Fut + Clone + use<F, Fut>>, HttpClassifier>
where
    F: FnMut() -> Fut + Clone,
    Fut: Future<Output = Result<Response<Script>, BoxError>>,
{
    let inner = tower::service_fn(move |_: Request<()>| answer());
    CircuitBreakerService::new(inner, breaker.clone(), HttpClassifier::new())
}

/// Calls once and reads the body to its end.
pub(super) async fn call<S, C>(service: &mut S) -> Result<StatusCode, BoxError>
where
    S: Service<Request<()>, Response = Response<ResponseBody<Script, C>>, Error = BoxError>,
    C: crate::classify::Classify,
{
    use http_body_util::BodyExt;
    use tower::ServiceExt;
    let reply = service.ready().await?.call(Request::new(())).await?;
    let status = reply.status();
    reply.into_body().collect().await?;
    Ok(status)
}

pub(super) fn breaker(config: Config) -> CircuitBreaker {
    config.build("test").unwrap()
}

pub(super) const OPEN_FOR: Duration = Duration::from_secs(30);
