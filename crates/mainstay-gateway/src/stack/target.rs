//! A target: what routes that list it share, and its stack.

use super::{layers, name_of, provider::ProviderParts};
use crate::config::settings::{self, Tables};
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use mainstay::{
    BoxError,
    body::RequestBody,
    judge::JudgeLayer,
    layers::{
        breaker::{CircuitBreaker, CircuitBreakerLayer},
        concurrency::{ConcurrencyLayer, ConcurrencyLimit},
        retry::{IdempotencyLayer, ReplayBody},
        timeout::TimeoutLayer,
    },
    parameters::{Parameters, ParametersLayer},
    peek::Call,
    provider::Kind,
    route::{AttemptLayer, Cooldown, Observe, Pace, Prefill, Target, TargetName},
    translate::TranslateLayer,
};
use std::sync::Arc;
use tower::{Layer, Service, ServiceBuilder};
use tower_http::decompression::{DecompressionBody, DecompressionLayer};

/// What all routes that list a target share.
pub(super) struct TargetParts<'p> {
    provider: &'p ProviderParts<'p>,
    name: Arc<TargetName>,
    tables: Tables,
    breaker: CircuitBreaker,
    /// Within those of the provider, where the target has a limit of its own.
    places: Option<ConcurrencyLimit>,
    cooldown: Cooldown,
    pace: Pace,
}

impl<'p> TargetParts<'p> {
    pub(super) fn new(provider: &'p ProviderParts<'p>, target: &settings::Target) -> Self {
        let theirs = provider.settings.tables();
        let tables = target.tables.as_deref().cloned().unwrap_or_else(|| theirs.clone());
        let name = name_of(target);
        Self {
            provider,
            breaker: layers::circuit(&tables.breaker, &name),
            name: Arc::new(name),
            places: tables.limits.within(&theirs.limits).then(|| layers::places(&tables.limits)),
            tables,
            cooldown: Cooldown::new(),
            pace: Pace::default(),
        }
    }

    /// The target with a stack of its own.
    pub(super) fn target(&self, parameters: &Parameters, observer: Arc<dyn Observe>) -> Target {
        let provider = self.provider;
        let kind = provider.settings.kind;
        let inner = ServiceBuilder::new()
            .layer(ConcurrencyLayer::new(provider.places.clone()))
            .layer(AttemptLayer::new(self.name.clone(), observer).with_pace(self.pace.clone()))
            .layer(JudgeLayer::new(kind).with_config(layers::judge(&self.tables)))
            .layer(TimeoutLayer::new(layers::timeout(&self.tables.timeout)))
            .layer(layers::limit(&self.tables.limits))
            // Boxed: a decoder's room is most of a body, and each layer above moves it.
            .map_response(|response: Response<DecompressionBody<_>>| response.map(Box::pin))
            .layer(DecompressionLayer::new())
            .layer(provider.endpoint.clone())
            .service(provider.client.clone());
        match &self.places {
            None => self.over(inner, parameters),
            Some(own) => self.over(ConcurrencyLayer::new(own.clone()).layer(inner), parameters),
        }
    }

    /// What stands outside of the places.
    fn over<S, B>(&self, inner: S, parameters: &Parameters) -> Target
    where
        S: Service<Request<ReplayBody<RequestBody>>, Response = Response<B>, Error = BoxError>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let provider = self.provider;
        let translate = self.translate();
        let retry = layers::retry(&self.tables.retry).with_budget(provider.budget.clone());
        let stack = ServiceBuilder::new()
            .layer(translate.clone())
            .layer(ParametersLayer::new(parameters.clone()))
            .layer(provider.hash)
            .layer(IdempotencyLayer::new())
            .layer(retry.with_cost(layers::cost))
            .layer(CircuitBreakerLayer::new(self.breaker.clone()))
            .service(inner);
        Target::new(self.name.clone(), stack)
            .with_breaker(self.breaker.clone())
            .with_own_key(provider.settings.api_key.is_some() || provider.settings.aws.is_some())
            .with_cooldown(self.cooldown.clone())
            .with_key_cooldown(provider.key_cooldown.clone())
            .with_prefill(prefill(provider.settings.kind))
            .with_pace(self.pace.clone())
            .with_places(self.places.as_ref().unwrap_or(&provider.places).clone())
            .with_budget(provider.budget.clone())
            .with_cost(layers::cost)
            .with_capabilities(provider.settings.capabilities)
            .with_calls(move |call: &Call| translate.takes(call))
    }

    fn translate(&self) -> TranslateLayer {
        let limits = &self.tables.limits;
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let provider = self.provider.settings;
        TranslateLayer::new(provider.kind)
            .with_name(self.name.to_string())
            .with_default_max_tokens(provider.default_max_tokens)
            .with_max_event(size(limits.sse_event))
            .with_max_reply(size(limits.response_body))
    }
}

/// How a provider takes the beginning of its own answer.
fn prefill(kind: Kind) -> Prefill {
    match kind {
        Kind::Mistral | Kind::DeepSeek => Prefill::Prefix,
        Kind::Vllm => Prefill::ContinueFinal,
        _ => Prefill::Message,
    }
}
