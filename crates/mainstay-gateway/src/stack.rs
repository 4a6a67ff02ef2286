//! From the configuration to the router: one stack of layers for each target.

use crate::config::{Config, Proxy, settings};
use http::{Uri, request::Parts};
use http_body::SizeHint;
use mainstay::{
    client::{BuildError, Client, Protocol},
    endpoint::EndpointLayer,
    judge::{JudgeConfig, JudgeLayer},
    layers::{
        breaker::{self, CircuitBreaker, CircuitBreakerLayer},
        concurrency::{self, ConcurrencyLayer, ConcurrencyLimit},
        limit::BodyLimitLayer,
        retry::{Budget, IdempotencyLayer, Jitter, RetryLayer},
        timeout::{TimeoutConfig, TimeoutLayer},
    },
    peek::Call,
    provider::Kind,
    route::{
        AnswerCache, AttemptLayer, Cooldown, Failover, Fallback, Hedge, HedgeAfter, MemoryStore, Observe,
        Pace, Prefill, Router, Serve, Sticky, Strategy, Target, TargetName, WhenExhausted,
    },
    secret::{ApiKey, Redactor},
    sigv4::{Credentials, PayloadHashLayer, Signer},
    translate::TranslateLayer,
};
use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::Arc,
    time::Duration,
};
use tower::ServiceBuilder;
use tower_http::decompression::DecompressionLayer;

/// Everything that a configuration comes to.
#[derive(Debug)]
pub struct Stacks {
    /// Chooses and falls back.
    pub router: Router,
    /// Every target, for states.
    pub targets: Vec<Target>,
    /// Cuts the keys of all providers out of text.
    pub redactor: Redactor,
    /// The patterns of the routes that drop what a target's dialect has no place for.
    pub lenient: BTreeSet<String>,
}

/// A provider that cannot be built.
#[derive(Debug)]
pub struct StackError {
    /// Which provider.
    pub provider: String,
    /// Why.
    pub why: Box<dyn std::error::Error + Send + Sync>,
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "providers.{}: {}", self.provider, self.why)
    }
}

impl std::error::Error for StackError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.why)
    }
}

/// The names of all targets: each provider by itself (for `provider/model`), and each that a route lists.
pub fn target_names(config: &Config) -> BTreeSet<String> {
    let listed = config.routes.iter().flat_map(|route| &route.targets).map(name_of);
    config.providers.iter().map(|provider| provider.name.clone()).chain(listed).collect()
}

fn name_of(target: &settings::Target) -> String {
    match &target.model {
        Some(model) => format!("{}/{model}", target.provider),
        None => target.provider.clone(),
    }
}

/// Builds the stacks and the router over them.
///
/// # Errors
/// [`StackError`] where a provider's settings cannot be carried out, such as a CA file that is none.
pub fn build(config: &Config, observer: Arc<dyn Observe>) -> Result<Stacks, StackError> {
    let mut providers = HashMap::new();
    for provider in &config.providers {
        let parts = ProviderParts::new(provider)
            .map_err(|why| StackError { provider: provider.name.clone(), why })?;
        providers.insert(provider.name.as_str(), parts);
    }
    // One circuit per target as configured: routes that list the same target share it.
    let mut targets: HashMap<String, Target> = HashMap::new();
    for name in target_names(config) {
        let parsed = TargetName::parse(&name);
        if let Some(parts) = providers.get(&*parsed.provider) {
            targets.insert(name, parts.target(parsed, observer.clone()));
        }
    }

    let mut router = Router::builder().observer(observer.clone());
    for route in &config.routes {
        let listed: Vec<Target> =
            route.targets.iter().filter_map(|target| targets.get(&name_of(target)).cloned()).collect();
        let fallback = Fallback::new(listed)
            .with_observer(observer.clone())
            .with_recovery(route.recovery == settings::Recovery::Continue);
        let fallback = options(fallback, route);
        for pattern in &route.models {
            router = router.route(pattern, fallback.clone());
        }
    }
    for provider in &config.providers {
        if let Some(target) = targets.get(&provider.name) {
            router = router.provider(&provider.name, target.clone());
        }
    }
    let keys = config.providers.iter().flat_map(settings::Provider::keys);
    let redactor = Redactor::new(keys.map(|key| key.expose()));
    let mut targets: Vec<Target> = targets.into_values().collect();
    targets.sort_by_key(|target| target.name().to_string());
    let lenient = config.routes.iter().filter(|route| route.translation == settings::Translation::Lenient);
    let lenient = lenient.flat_map(|route| &route.models).cloned().collect();
    Ok(Stacks { router: router.build(), targets, redactor, lenient })
}

/// What a route says of its targets.
fn options(fallback: Fallback, route: &settings::Route) -> Fallback {
    let strategy = match route.strategy {
        settings::Strategy::Order => Strategy::Order,
        settings::Strategy::Weighted => {
            Strategy::Weighted(route.targets.iter().map(|target| target.weight).collect())
        }
        settings::Strategy::Latency => Strategy::Latency,
    };
    let sticky = route.sticky.as_ref().map(|sticky| match sticky {
        settings::Sticky::User => Sticky::User,
        settings::Sticky::Header(name) => Sticky::Header(name.clone()),
    });
    let failover = match route.failover {
        settings::Failover::AfterRetries => Failover::AfterRetries,
        settings::Failover::AtOnce => Failover::AtOnce,
    };
    let exhausted = match route.when_exhausted {
        settings::WhenExhausted::Fail => WhenExhausted::Fail,
        settings::WhenExhausted::Wait => WhenExhausted::Wait(route.max_wait),
    };
    let hedge = route
        .hedge
        .map(|hedge| Hedge::new(hedge.after.map_or(HedgeAfter::P95, HedgeAfter::Time)).with_max(hedge.max));
    let cache = route.cache.map(|cache| {
        let serve = match cache.serve {
            settings::Serve::OnFailure => Serve::OnFailure,
            settings::Serve::Always => Serve::Always,
        };
        AnswerCache::new(MemoryStore::new(cache.max, cache.ttl), serve)
    });
    fallback
        .with_strategy(strategy)
        .with_sticky(sticky)
        .with_failover(failover)
        .when_exhausted(exhausted)
        .with_hedge(hedge)
        .with_cache(cache)
}

/// What all targets of a provider share: connections, places, the budget for retries.
struct ProviderParts<'a> {
    settings: &'a settings::Provider,
    kind: Kind,
    client: Client,
    endpoint: EndpointLayer,
    hash: PayloadHashLayer,
    places: ConcurrencyLimit,
    key_cooldown: Cooldown,
    budget: Budget,
}

impl<'a> ProviderParts<'a> {
    fn new(settings: &'a settings::Provider) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let kind = settings.kind;
        let base: &Uri = settings.base_url.uri();
        let mut endpoint = EndpointLayer::new(kind, base)
            .ok_or("base_url needs a scheme and a host")?
            .with_headers(settings.headers.clone());
        if let Some(key) = &settings.api_key {
            endpoint = endpoint.with_key(ApiKey::new(key.expose()).ok_or("the key fits into no header")?);
        }
        let mut hash = PayloadHashLayer::off();
        if let Some(aws) = &settings.aws {
            endpoint = endpoint.with_signer(signer(aws).ok_or("the keys fit into no header")?);
            hash = PayloadHashLayer::new();
        }
        let limits = &settings.limits;
        // Without a limit the layer counts, and lets everyone through.
        let places = concurrency::Config::new(limits.concurrency.unwrap_or(usize::MAX))
            .with_queue_wait(limits.queue_wait);
        let budget = &settings.retry.budget;
        Ok(Self {
            settings,
            kind,
            client: client(settings)?,
            endpoint,
            hash,
            places: places.build(),
            key_cooldown: Cooldown::new(),
            budget: Budget::new(budget.ratio, budget.floor),
        })
    }

    fn target(&self, name: TargetName, observer: Arc<dyn Observe>) -> Target {
        let name = Arc::new(name);
        let settings = self.settings;
        let breaker = circuit(&settings.breaker, &name);
        let translate = self.translate(&name);
        let pace = Pace::default();
        let stack = ServiceBuilder::new()
            .layer(translate.clone())
            .layer(self.hash)
            .layer(IdempotencyLayer::new())
            .layer(self.retry())
            .layer(CircuitBreakerLayer::new(breaker.clone()))
            .layer(ConcurrencyLayer::new(self.places.clone()))
            .layer(AttemptLayer::new(name.clone(), observer).with_pace(pace.clone()))
            .layer(JudgeLayer::new(self.kind).with_config(self.judge()))
            .layer(TimeoutLayer::new(self.timeout()))
            .layer(self.limit())
            .layer(DecompressionLayer::new())
            .layer(self.endpoint.clone())
            .service(self.client.clone());
        Target::new(name, stack)
            .with_breaker(breaker)
            .with_own_key(settings.api_key.is_some() || settings.aws.is_some())
            .with_key_cooldown(self.key_cooldown.clone())
            .with_prefill(prefill(self.kind))
            .with_pace(pace)
            .with_places(self.places.clone())
            .with_budget(self.budget.clone())
            .with_calls(move |call: &Call| translate.takes(call))
    }

    fn retry(&self) -> RetryLayer {
        let settings = &self.settings.retry;
        RetryLayer::new()
            .with_attempts(settings.attempts)
            .with_base_delay(settings.base_delay)
            .with_max_delay(settings.max_delay)
            .with_jitter(match settings.jitter {
                settings::Jitter::Full => Jitter::Full,
                settings::Jitter::Equal => Jitter::Equal,
                settings::Jitter::None => Jitter::None,
            })
            .with_max_wait(settings.max_wait)
            .with_within(settings.within)
            .with_budget(self.budget.clone())
            .with_cost(cost)
    }

    fn judge(&self) -> JudgeConfig {
        let limits = &self.settings.limits;
        // An event of a stream is never larger than a whole reply may be.
        let event = limits.sse_event.min(limits.response_body);
        let mut config = JudgeConfig::default();
        config.error_body = self.settings.timeout.error_body;
        config.max_event = usize::try_from(event).unwrap_or(usize::MAX);
        config
    }

    fn timeout(&self) -> TimeoutConfig {
        let clocks = &self.settings.timeout;
        let on = |clock: Option<Duration>| clock.unwrap_or(Duration::ZERO);
        TimeoutConfig::new()
            .with_attempt(on(clocks.attempt))
            .with_idle(on(clocks.idle))
            .with_first_event(on(clocks.first_event))
            .with_progress(on(clocks.progress))
    }

    fn translate(&self, name: &TargetName) -> TranslateLayer {
        let limits = &self.settings.limits;
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        TranslateLayer::new(self.kind)
            .with_name(name.to_string())
            .with_default_max_tokens(self.settings.default_max_tokens)
            .with_max_event(size(limits.sse_event))
            .with_max_reply(size(limits.response_body))
    }

    fn limit(&self) -> BodyLimitLayer {
        let limits = &self.settings.limits;
        let layer = BodyLimitLayer::new().response(limits.response_body);
        match limits.stream {
            Some(stream) => layer.stream(stream),
            None => layer,
        }
    }
}

/// Signs for Bedrock.
fn signer(aws: &settings::Aws) -> Option<Signer> {
    let token = aws.session_token.as_ref().map(|token| token.expose());
    let credentials = Credentials::new(aws.access_key_id.expose(), aws.secret_access_key.expose(), token)?;
    Some(Signer::new(credentials, &aws.region, "bedrock"))
}

/// How a provider takes the beginning of its own answer.
fn prefill(kind: Kind) -> Prefill {
    match kind {
        Kind::Mistral | Kind::DeepSeek => Prefill::Prefix,
        Kind::Vllm => Prefill::ContinueFinal,
        _ => Prefill::Message,
    }
}

/// What a retry takes from the budget: one, and one more for each MiB of the request, so that dear calls are not repeated
/// blindly. At most four, or a budget that is cold would never pay for one.
fn cost(_: &Parts, size: &SizeHint) -> f64 {
    const MIB: f64 = 1_048_576.0;
    (1.0 + size.lower() as f64 / MIB).min(4.0)
}

fn client(settings: &settings::Provider) -> Result<Client, BuildError> {
    let mut client = Client::builder()
        .connect_timeout(settings.timeout.connect)
        .native_roots(settings.native_roots)
        .protocol(match settings.protocol {
            settings::Protocol::Auto => Protocol::Auto,
            settings::Protocol::Http1 => Protocol::Http1,
            settings::Protocol::H2 => Protocol::Http2,
        })
        .h2_connections(settings.h2_connections);
    if let Some(file) = &settings.ca_file {
        client = client.add_root_pem_file(file);
    }
    match &settings.proxy {
        Proxy::Env => {}
        Proxy::Off => client = client.no_proxy(),
        Proxy::Url(url) => client = client.proxy(mainstay::client::Proxy::new(url.expose())),
    }
    client.build()
}

fn circuit(settings: &settings::Breaker, name: &TargetName) -> CircuitBreaker {
    // Without a circuit: one that never opens.
    let failures = if settings.enabled { settings.failures } else { u32::MAX };
    let mut config = breaker::Config::new()
        .with_failures(failures)
        .with_open_for(settings.open_for)
        .with_probes(settings.probes)
        .with_window(settings.window, settings.min_calls);
    if let (true, Some(rate)) = (settings.enabled, settings.failure_rate) {
        config = config.with_failure_rate(rate);
    }
    if let (true, Some(rate)) = (settings.enabled, settings.slow_rate) {
        config = config.with_slow_rate(rate, settings.slow_after);
    }
    if settings.growth > 1.0 {
        config = config.with_growth(settings.growth, settings.max_open_for);
    }
    config.build(name.to_string()).unwrap_or_else(|error| {
        // The configuration has refused what could get here.
        tracing::error!(%error, target = %name, "the circuit breaker has its defaults");
        CircuitBreaker::new(name.to_string())
    })
}
