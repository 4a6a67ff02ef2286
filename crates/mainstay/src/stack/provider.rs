//! One provider and its stack.

use super::ProviderError;
use crate::{
    body::RequestBody,
    chat::Chat,
    client::Client,
    endpoint::EndpointLayer,
    judge::JudgeLayer,
    peek::Call,
    provider::Kind,
    route::{AttemptLayer, Stack, Target, TargetName},
    secret::{ApiKey, Redactor},
    sigv4::{PayloadHashLayer, Signer},
    translate::TranslateLayer,
};
use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body::Body;
use http_body_util::BodyExt;
use mainstay_layers::{
    BoxError,
    breaker::{CircuitBreaker, CircuitBreakerLayer},
    deadline::DeadlineLayer,
    limit::BodyLimitLayer,
    retry::{Budget, IdempotencyLayer, RetryLayer},
    timeout::{TimeoutConfig, TimeoutLayer},
};
use std::{sync::Arc, time::Duration};
use tower::{ServiceBuilder, ServiceExt};
use tower_http::decompression::DecompressionLayer;
use tower_service::Service;

/// One provider, with an address, a key and good defaults. See the [module](super).
#[derive(Clone, Debug)]
pub struct Provider {
    kind: Kind,
    name: Arc<str>,
    base_url: Option<Uri>,
    key: Option<ApiKey>,
    signer: Option<Signer>,
    client: Option<Client>,
    timeout: TimeoutConfig,
    retry: RetryLayer,
    /// That of `retry`, where it is known.
    budget: Option<Budget>,
    max_reply: u64,
}

/// All layers of a provider, and what a target wants to know of them.
struct Layers<S> {
    stack: S,
    breaker: CircuitBreaker,
    translate: TranslateLayer,
}

impl Provider {
    /// A provider of this kind at its usual address, without a key: then the caller's own is passed on.
    pub fn new(kind: Kind) -> Self {
        let timeout =
            TimeoutConfig::new().with_attempt(Duration::from_secs(120)).with_idle(Duration::from_secs(30));
        let budget = Budget::new(0.2, 10.0);
        Self {
            kind,
            name: kind.as_str().into(),
            base_url: None,
            key: None,
            signer: None,
            client: None,
            timeout,
            retry: RetryLayer::new().with_budget(budget.clone()),
            budget: Some(budget),
            max_reply: 64 << 20,
        }
    }

    /// What it is called in errors and metrics. Default: the name of its kind.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Where it lives, as its own SDK writes that: OpenAI's ends in `/v1`, Anthropic's is the host alone.
    #[must_use]
    pub fn with_base_url(mut self, base_url: Uri) -> Self {
        self.base_url = Some(base_url);
        self
    }

    /// Its key.
    #[must_use]
    pub fn with_key(mut self, key: ApiKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Signs its requests instead of sending a key, as AWS wants them.
    #[must_use]
    pub fn with_signer(mut self, signer: Signer) -> Self {
        self.signer = Some(signer);
        self
    }

    /// The client, to share its connections or to set it up. Default: a new one.
    #[must_use]
    pub fn with_client(mut self, client: Client) -> Self {
        self.client = Some(client);
        self
    }

    /// The clocks.
    #[must_use]
    pub fn with_timeout(mut self, timeout: TimeoutConfig) -> Self {
        self.timeout = timeout;
        self
    }

    /// How calls are tried again. Hedges and fallbacks do not know its budget: give that to the targets too, with
    /// [`Target::with_budget`]. Default: a budget of a retry for five calls and 10 a second, which all targets of this
    /// provider and its clones share with hedges and fallbacks.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryLayer) -> Self {
        self.retry = retry;
        self.budget = None;
        self
    }

    /// The largest reply that is no stream, in bytes.
    #[must_use]
    pub fn with_max_reply(mut self, bytes: u64) -> Self {
        self.max_reply = bytes;
        self
    }

    /// The stack, as a service.
    ///
    /// # Errors
    /// Where there is no address, or the client cannot be built.
    pub fn stack(&self) -> Result<Stack, ProviderError> {
        let Layers { stack, .. } =
            self.clone().layers(Arc::new(TargetName { provider: self.name.clone(), model: None }))?;
        let stack = stack.map_response(|response: Response<_>| {
            response.map(|body| BodyExt::map_err(body, Into::into).boxed_unsync())
        });
        Ok(Stack::new(stack))
    }

    /// A typed client over the stack, which writes requests as this kind of provider wants them.
    ///
    /// # Errors
    /// As [`stack`](Self::stack).
    pub fn chat(&self) -> Result<Chat<Stack>, ProviderError> {
        let mut redactor = Redactor::new(self.key.as_ref().map(ApiKey::expose));
        if let Some(signer) = self.signer.clone() {
            redactor = redactor.with_changing(move || Redactor::new(signer.credentials().secrets()));
        }
        Ok(Chat::new(self.stack()?).with_kind(self.kind).with_redactor(redactor))
    }

    /// The stack as a target of a [`Fallback`](crate::route::Fallback) or [`Router`](crate::route::Router), asked for
    /// `model`; if that is empty, for what the caller names.
    ///
    /// # Errors
    /// As [`stack`](Self::stack).
    pub fn target(&self, model: &str) -> Result<Target, ProviderError> {
        let model = (!model.is_empty()).then(|| Arc::from(model));
        let name = Arc::new(TargetName { provider: self.name.clone(), model });
        let Layers { stack, breaker, translate } = self.clone().layers(name.clone())?;
        let target = Target::new(name, stack)
            .with_breaker(breaker)
            .with_own_key(self.key.is_some() || self.signer.is_some())
            .with_calls(move |call: &Call| translate.takes(call));
        Ok(match &self.budget {
            Some(budget) => target.with_budget(budget.clone()),
            None => target,
        })
    }

    /// By value, so that what it gives borrows nothing.
    #[expect(clippy::type_complexity, reason = "an unnamed stack, erased once by each who takes it")]
    fn layers(
        self,
        name: Arc<TargetName>,
    ) -> Result<
        Layers<
            impl Service<
                Request<RequestBody>,
                Response = Response<impl Body<Data = Bytes, Error = BoxError> + Send + 'static>,
                Error = BoxError,
                Future: Send + 'static,
            > + Clone
            + Send
            + Sync
            + 'static,
        >,
        ProviderError,
    > {
        let kind = self.kind;
        let base = match (&self.base_url, kind.profile().base_url) {
            (Some(base), _) => base.clone(),
            (None, Some(usual)) => Uri::from_static(usual),
            (None, None) => return Err(ProviderError::NoBaseUrl { kind }),
        };
        let mut endpoint = EndpointLayer::new(kind, &base).ok_or(ProviderError::BadBaseUrl { kind })?;
        if let Some(key) = &self.key {
            endpoint = endpoint.with_key(key.clone());
        }
        let hash = match &self.signer {
            Some(signer) => {
                endpoint = endpoint.with_signer(signer.clone());
                PayloadHashLayer::new()
            }
            None => PayloadHashLayer::off(),
        };
        let client = match &self.client {
            Some(client) => client.clone(),
            None => Client::new()?,
        };
        let max_reply = usize::try_from(self.max_reply).unwrap_or(usize::MAX);
        let translate = TranslateLayer::new(kind).with_name(name.to_string()).with_max_reply(max_reply);
        let breaker = CircuitBreaker::new(name.to_string());
        let stack = ServiceBuilder::new()
            .layer(DeadlineLayer::new())
            .layer(translate.clone())
            .layer(hash)
            .layer(IdempotencyLayer::new())
            .layer(self.retry.clone())
            .layer(CircuitBreakerLayer::new(breaker.clone()))
            .layer(AttemptLayer::new(name, Arc::new(())))
            .layer(JudgeLayer::new(kind))
            .layer(TimeoutLayer::new(self.timeout))
            .layer(BodyLimitLayer::new().response(self.max_reply))
            .layer(DecompressionLayer::new())
            .layer(endpoint)
            .service(client);
        Ok(Layers { stack, breaker, translate })
    }
}
