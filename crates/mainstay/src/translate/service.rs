//! The service.

use super::{ResponseFuture, TranslateBody, TranslateLayer, request};
use crate::{body::RequestBody, peek::Call};
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use mainstay_layers::{
    BoxError,
    classify::{Class, Failed, Sent, Verdict},
};
use std::task::{Context, Poll};
use tower_service::Service;

/// The service of [`TranslateLayer`].
#[derive(Clone, Debug)]
pub struct Translate<S> {
    inner: S,
    layer: TranslateLayer,
}

impl<S> Translate<S> {
    pub(super) fn new(inner: S, layer: TranslateLayer) -> Self {
        Self { inner, layer }
    }
}

impl<S, B> Service<Request<RequestBody>> for Translate<S>
where
    S: Service<Request<RequestBody>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Response = Response<TranslateBody<B>>;
    type Error = BoxError;
    type Future = ResponseFuture<S::Future, B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        // Without a call in the extensions there is no telling what it is.
        let call = match request.extensions().get::<Call>() {
            Some(call) if !self.layer.passes(call) => call.clone(),
            _ => return ResponseFuture::passing(self.inner.call(request::renamed(request))),
        };
        let (mut parts, body) = request.into_parts();
        match request::translate(&self.layer, &call, &mut parts, &body) {
            Ok((body, plan)) => {
                let inner = self.inner.call(Request::from_parts(parts, body));
                ResponseFuture::translating(inner, self.layer.clone(), plan)
            }
            Err(error) => {
                let verdict = Verdict::new(Class::Rejected)
                    .with_sent(Sent::No)
                    .with_code(Some(error.code))
                    .with_message(Some(&*error.message));
                ResponseFuture::refused(Failed::new(verdict, error).into())
            }
        }
    }
}
