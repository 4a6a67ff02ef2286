//! The future: from a call to a reply in the caller's dialect.

use super::{TranslateBody, TranslateLayer, reply, request::Plan};
use bytes::{Bytes, BytesMut};
use http::{Response, response::Parts};
use http_body::Body;
use mainstay_layers::BoxError;
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project! {
    /// The future of [`Translate`](super::Translate).
    #[derive(Debug)]
    pub struct ResponseFuture<F, B> {
        #[pin]
        state: State<F, B>,
    }
}

pin_project! {
    #[project = StateProj]
    #[derive(Debug)]
    enum State<F, B> {
        Refused { error: Option<BoxError> },
        Passing {
            #[pin]
            inner: F,
        },
        Calling {
            #[pin]
            inner: F,
            layer: TranslateLayer,
            plan: Option<Plan>,
        },
        Collecting {
            parts: Option<Parts>,
            #[pin]
            body: B,
            read: BytesMut,
            layer: TranslateLayer,
            plan: Option<Plan>,
        },
    }
}

impl<F, B> ResponseFuture<F, B> {
    pub(super) fn refused(error: BoxError) -> Self {
        Self { state: State::Refused { error: Some(error) } }
    }

    pub(super) fn passing(inner: F) -> Self {
        Self { state: State::Passing { inner } }
    }

    pub(super) fn translating(inner: F, layer: TranslateLayer, plan: Plan) -> Self {
        Self { state: State::Calling { inner, layer, plan: Some(plan) } }
    }
}

impl<F, E, B> Future for ResponseFuture<F, B>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: Into<BoxError>,
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Output = Result<Response<TranslateBody<B>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProj::Refused { error } => {
                    return error.take().map_or(Poll::Pending, |error| Poll::Ready(Err(error)));
                }
                StateProj::Passing { inner } => {
                    let reply = ready!(inner.poll(cx)).map_err(Into::into)?;
                    return Poll::Ready(Ok(reply.map(TranslateBody::untouched)));
                }
                StateProj::Calling { inner, layer, plan } => {
                    let (mut parts, body) = ready!(inner.poll(cx)).map_err(Into::into)?.into_parts();
                    let Some(plan) = plan.take() else { return Poll::Pending };
                    if reply::is_stream(layer.target.api.dialect(), &parts, &plan) {
                        reply::stream_head(&mut parts, &plan);
                        let body = TranslateBody::stream(body, layer, &plan);
                        return Poll::Ready(Ok(Response::from_parts(parts, body)));
                    }
                    let (layer, read) = (layer.clone(), BytesMut::new());
                    State::Collecting { parts: Some(parts), body, read, layer, plan: Some(plan) }
                }
                StateProj::Collecting { parts, mut body, read, layer, plan } => {
                    loop {
                        match ready!(body.as_mut().poll_frame(cx)) {
                            Some(Ok(frame)) => {
                                if let Ok(data) = frame.into_data() {
                                    read.extend_from_slice(&data);
                                }
                                if read.len() > layer.max_reply {
                                    return Poll::Ready(Err(reply::too_large()));
                                }
                            }
                            Some(Err(error)) => return Poll::Ready(Err(error.into())),
                            None => break,
                        }
                    }
                    let (Some(parts), Some(plan)) = (parts.take(), plan.take()) else { return Poll::Pending };
                    let whole = reply::whole(parts, &read.split().freeze(), layer, &plan)?;
                    return Poll::Ready(Ok(whole.map(TranslateBody::whole)));
                }
            };
            this.state.set(next);
        }
    }
}
