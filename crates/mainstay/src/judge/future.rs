//! The future: from a call to a reply of which it is known what it is.

use super::{
    JudgeBody,
    collected::{Collected, poll_collect},
    held::Held,
    plan::Plan,
    reading::Reading,
    tee::Tee,
};
use bytes::Bytes;
use http::{Response, response::Parts};
use http_body::Body;
use mainstay_layers::{
    BoxError,
    classify::{Class, Failed, Verdict},
};
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::time::Sleep;

pin_project! {
    /// The future of [`Judge`](super::Judge).
    #[derive(Debug)]
    pub struct ResponseFuture<F, B> {
        #[pin]
        state: State<F, B>,
        reading: Reading,
    }
}

pin_project! {
    #[project = StateProj]
    #[derive(Debug)]
    enum State<F, B> {
        Calling {
            #[pin]
            inner: F,
        },
        Collecting {
            parts: Option<Parts>,
            #[pin]
            body: B,
            read: Collected,
            #[pin]
            limit: Option<Sleep>,
        },
        Holding {
            parts: Option<Parts>,
            held: Held<B>,
        },
        // What was below is let go the moment that the reply is known.
        Done,
    }
}

impl<F, B> ResponseFuture<F, B> {
    pub(super) fn new(inner: F, reading: Reading) -> Self {
        Self { state: State::Calling { inner }, reading }
    }
}

impl<F, E, B> Future for ResponseFuture<F, B>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: Into<BoxError>,
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Output = Result<Response<JudgeBody<B>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProj::Calling { inner } => {
                    let (mut parts, body) = match ready!(inner.poll(cx)) {
                        Ok(response) => response.into_parts(),
                        Err(error) => return Poll::Ready(Err(this.reading.failed(error.into()))),
                    };
                    match this.reading.plan(&parts) {
                        Plan::Refuse(error) => {
                            return Poll::Ready(Err(Failed::new(Class::Malformed.into(), error).into()));
                        }
                        Plan::PassOn => {
                            parts.extensions.insert(Verdict::new(Class::Success));
                            let body = JudgeBody::untouched(body, this.reading.progress.clone());
                            return Poll::Ready(Ok(Response::from_parts(parts, body)));
                        }
                        Plan::Hold => {
                            let tee =
                                Tee::new(body, this.reading.clone(), parts.status, parts.headers.clone());
                            State::Holding { parts: Some(parts), held: Held::new(tee) }
                        }
                        Plan::Collect => {
                            let limit = (!parts.status.is_success())
                                .then(|| tokio::time::sleep(this.reading.layer.config().error_body));
                            State::Collecting { parts: Some(parts), body, read: Collected::default(), limit }
                        }
                    }
                }
                StateProj::Collecting { parts, body, read, limit } => {
                    let is_error = parts.as_ref().is_some_and(|parts| !parts.status.is_success());
                    let max = this.reading.layer.config().max_error_body;
                    let end = ready!(poll_collect(body, read, limit, is_error.then_some(max), cx));
                    let Some(parts) = parts.take() else { return Poll::Pending };
                    let body = read.take();
                    this.state.set(State::Done);
                    return Poll::Ready(this.reading.judge_whole(parts, body, end));
                }
                StateProj::Holding { parts, held } => {
                    let outcome = ready!(held.poll(cx));
                    let Some(parts) = parts.take() else { return Poll::Pending };
                    this.state.set(State::Done);
                    return Poll::Ready(this.reading.judge_stream(parts, outcome));
                }
                StateProj::Done => return Poll::Pending,
            };
            this.state.set(next);
        }
    }
}
