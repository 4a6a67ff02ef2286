//! The service.

use super::{JudgeBody, JudgeLayer, ResponseFuture, UsageCell, reading::Reading};
use crate::{dialect::Dialect, peek::Call};
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use mainstay_layers::{
    BoxError,
    timeout::{Progress, Streaming},
};
use std::task::{Context, Poll};
use tower_service::Service;

/// The service of [`JudgeLayer`].
#[derive(Clone, Debug)]
pub struct Judge<S> {
    inner: S,
    layer: JudgeLayer,
}

impl<S> Judge<S> {
    pub(super) fn new(inner: S, layer: JudgeLayer) -> Self {
        Self { inner, layer }
    }
}

impl<S, B, RB> Service<Request<B>> for Judge<S>
where
    S: Service<Request<B>, Response = Response<RB>>,
    S::Error: Into<BoxError>,
    RB: Body<Data = Bytes>,
    RB::Error: Into<BoxError>,
{
    type Response = Response<JudgeBody<RB>>;
    type Error = BoxError;
    type Future = ResponseFuture<S::Future, RB>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let extensions = request.extensions();
        let (dialect, stream, translated) = match extensions.get::<Call>() {
            Some(call) => (call.dialect, Some(call.stream), call.translated),
            None => (
                Dialect::of_path(request.uri().path()),
                extensions.get::<Streaming>().map(|streaming| streaming.0),
                false,
            ),
        };
        let usage = extensions.get::<UsageCell>().cloned();
        // Fresh for each try: the content of an earlier one is none of this one's.
        let progress = Progress::new();
        request.extensions_mut().insert(progress.clone());
        let reading = Reading { layer: self.layer.clone(), dialect, stream, translated, progress, usage };
        ResponseFuture::new(self.inner.call(request), reading)
    }
}
