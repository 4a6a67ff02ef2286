//! The layer and its service.

use super::{
    super::pace::Pace,
    AskedModel, AttemptBody, AttemptFuture, AttemptLog, Observe, TargetName,
    record::{Record, TryUsage},
};
use crate::judge::UsageCell;
use http::{Request, Response};
use http_body::Body;
use mainstay_layers::{BoxError, retry};
use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

/// Records each try at a target in the request's [`AttemptLog`] and tells an [`Observe`]r.
#[derive(Clone)]
pub struct AttemptLayer {
    // One word: each call carries it from its request to the last frame of its reply.
    pub(super) settings: Arc<Settings>,
}

/// What was set, shared by all clones.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) target: Arc<TargetName>,
    pub(super) observer: Arc<dyn Observe>,
    pub(super) pace: Pace,
}

impl AttemptLayer {
    /// Records tries at `target`.
    pub fn new(target: Arc<TargetName>, observer: Arc<dyn Observe>) -> Self {
        Self { settings: Arc::new(Settings { target, observer, pace: Pace::default() }) }
    }

    /// Writes the times to first content down in `pace`.
    #[must_use]
    pub fn with_pace(mut self, pace: Pace) -> Self {
        Arc::make_mut(&mut self.settings).pace = pace;
        self
    }
}

impl fmt::Debug for AttemptLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptLayer").field("target", &self.settings.target).finish_non_exhaustive()
    }
}

impl<S> Layer<S> for AttemptLayer {
    type Service = AttemptService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        AttemptService { inner, layer: self.clone() }
    }
}

/// The service of [`AttemptLayer`].
#[derive(Clone, Debug)]
pub struct AttemptService<S> {
    inner: S,
    layer: AttemptLayer,
}

impl<S, B, RB> Service<Request<B>> for AttemptService<S>
where
    S: Service<Request<B>, Response = Response<RB>>,
    S::Error: Into<BoxError>,
    RB: Body,
{
    type Response = Response<AttemptBody<RB>>;
    type Error = BoxError;
    type Future = AttemptFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let usage = request.extensions_mut().get_mut::<UsageCell>().map(TryUsage::new);
        let Settings { target, observer, .. } = &*self.layer.settings;
        let extensions = request.extensions();
        let log = extensions.get::<AttemptLog>().cloned().unwrap_or_default();
        let model = match extensions.get::<AskedModel>() {
            Some(AskedModel(model)) => model.clone(),
            None => target.model.clone().unwrap_or_else(|| Arc::from("")),
        };
        if extensions.get::<retry::Attempt>().is_some_and(|attempt| attempt.number > 1) {
            observer.retry(target);
        }
        log.begin();
        let record =
            Record { layer: self.layer.clone(), log, model, since: Instant::now(), open: true, usage };
        AttemptFuture { inner: self.inner.call(request), record: Some(record) }
    }
}
