//! A place where a call can go: a provider's stack, and what a fallback must know to pass it by.

use super::{
    attempt::TargetName,
    cooldown::{Cooldown, Cooling, Scope},
    pace::Pace,
    recover::Prefill,
};
use crate::{body::RequestBody, peek::Call};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use mainstay_layers::{
    BoxError,
    breaker::CircuitBreaker,
    classify::{Class, Verdict},
    concurrency::ConcurrencyLimit,
    retry::Budget,
};
use std::{fmt, sync::Arc, time::Duration};
use tower::{ServiceExt, util::BoxCloneSyncService};
use tower_service::Service;

/// The body of a reply that came through a router.
pub type ReplyBody = UnsyncBoxBody<Bytes, BoxError>;

/// A stack of layers over a client, its type erased. This is the one place where types are erased.
pub type Stack = BoxCloneSyncService<Request<RequestBody>, Response<ReplyBody>, BoxError>;

/// Which calls a target understands as they are.
type Takes = Arc<dyn Fn(&Call) -> bool + Send + Sync>;

/// One target of a route. Cheap to clone; clones share circuit and cooldown.
#[derive(Clone)]
pub struct Target {
    pub(super) name: Arc<TargetName>,
    /// The model to ask for where the name of the target has none: the rest of a caller's `provider/model`.
    asked: Option<Arc<str>>,
    pub(super) stack: Stack,
    breaker: Option<CircuitBreaker>,
    cooldown: Cooldown,
    key_cooldown: Cooldown,
    takes: Option<Takes>,
    own_key: bool,
    prefill: Prefill,
    pace: Pace,
    places: Option<ConcurrencyLimit>,
    budget: Option<Budget>,
}

/// Why a target is passed by without asking it.
#[derive(Clone, Debug)]
pub(super) enum Skip {
    /// It does not have the endpoint.
    Unsupported,
    /// Its circuit is open.
    Open { retry_in: Duration },
    /// It cools.
    Cooling(Cooling),
}

impl Target {
    /// A target called `name` whose calls go through `stack`.
    pub fn new<S, B>(name: impl Into<Arc<TargetName>>, stack: S) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let stack = stack
            .map_response(|response: Response<B>| {
                response.map(|body| body.map_err(Into::into).boxed_unsync())
            })
            .map_err(Into::into);
        Self {
            name: name.into(),
            asked: None,
            stack: BoxCloneSyncService::new(stack),
            breaker: None,
            cooldown: Cooldown::new(),
            key_cooldown: Cooldown::new(),
            takes: None,
            own_key: true,
            prefill: Prefill::default(),
            pace: Pace::default(),
            places: None,
            budget: None,
        }
    }

    /// The circuit breaker in its stack, so that an open circuit is passed by without a call.
    #[must_use]
    pub fn with_breaker(mut self, breaker: CircuitBreaker) -> Self {
        self.breaker = Some(breaker);
        self
    }

    /// What cools here, shared with other stacks for the same target.
    #[must_use]
    pub fn with_cooldown(mut self, cooldown: Cooldown) -> Self {
        self.cooldown = cooldown;
        self
    }

    /// What cools with the key, shared with the other targets that have the same one.
    #[must_use]
    pub fn with_key_cooldown(mut self, cooldown: Cooldown) -> Self {
        self.key_cooldown = cooldown;
        self
    }

    /// Which calls it understands; without this, all.
    #[must_use]
    pub fn with_calls(mut self, takes: impl Fn(&Call) -> bool + Send + Sync + 'static) -> Self {
        self.takes = Some(Arc::new(takes));
        self
    }

    /// Whether calls go with a key of the target's own (the default) or with the caller's: what a key suffers concerns
    /// other callers only in the first case.
    #[must_use]
    pub fn with_own_key(mut self, own_key: bool) -> Self {
        self.own_key = own_key;
        self
    }

    /// How it takes the beginning of its own answer, when it is to go on where another one was cut.
    #[must_use]
    pub fn with_prefill(mut self, prefill: Prefill) -> Self {
        self.prefill = prefill;
        self
    }

    /// How long it takes to its first content: the same handle as its [`AttemptLayer`](super::AttemptLayer)'s, which
    /// writes it down.
    #[must_use]
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// The limit in its stack, which knows how many calls it has.
    #[must_use]
    pub fn with_places(mut self, places: ConcurrencyLimit) -> Self {
        self.places = Some(places);
        self
    }

    /// What hedges to it are paid from; without one they cost nothing.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// How long it takes to its first content.
    pub fn pace(&self) -> &Pace {
        &self.pace
    }

    /// The limit in its stack.
    pub fn places(&self) -> Option<&ConcurrencyLimit> {
        self.places.as_ref()
    }

    /// How many calls it has, as far as that is known.
    pub fn in_flight(&self) -> usize {
        self.places.as_ref().map_or(0, ConcurrencyLimit::in_flight)
    }

    /// What a call to it is expected to cost: time to first content, times the calls that share it.
    pub(super) fn cost(&self, stream: bool) -> f64 {
        self.pace.expected(stream).as_secs_f64() * (self.in_flight() as f64 + 1.0)
    }

    /// Pays for a hedge.
    pub(super) fn may_hedge(&self) -> bool {
        self.budget.as_ref().is_none_or(|budget| budget.try_withdraw(1.0))
    }

    pub(super) fn prefill(&self) -> Prefill {
        self.prefill
    }

    /// The same target, asked for `model`: circuit, cooldown and name in metrics stay those of the configuration.
    #[must_use]
    pub fn for_model(&self, model: &str) -> Self {
        Self { asked: Some(model.into()), ..self.clone() }
    }

    /// The model to ask of it for a call that named `model`.
    pub(super) fn model(&self, model: Option<&Arc<str>>) -> Arc<str> {
        self.asked.as_ref().or(self.name.model.as_ref()).or(model).cloned().unwrap_or_else(|| Arc::from(""))
    }

    /// Its name.
    pub fn name(&self) -> &Arc<TargetName> {
        &self.name
    }

    /// Its circuit breaker.
    pub fn breaker(&self) -> Option<&CircuitBreaker> {
        self.breaker.as_ref()
    }

    /// What cools here: rate limited, overloaded or missing models.
    pub fn cooldown(&self) -> &Cooldown {
        &self.cooldown
    }

    /// What cools with its key: out of credit, or refused. Targets may share it.
    pub fn key_cooldown(&self) -> &Cooldown {
        &self.key_cooldown
    }

    /// Why a call for `model` would have to wait here, by the target's own or its key's cooldown.
    pub fn cooling_for(&self, model: &str) -> Option<Cooling> {
        self.key_cooldown.cooling_for(model).or_else(|| self.cooldown.cooling_for(model))
    }

    /// Notes a failure of a call for `model`, for the calls that follow.
    pub(super) fn cool(&self, status: StatusCode, verdict: &Verdict, another: bool, model: &Arc<str>) {
        let scope = Scope { own_key: self.own_key, own_model: self.name.model.is_some() };
        let cooldown = match verdict.class {
            Class::QuotaExhausted | Class::Auth => &self.key_cooldown,
            _ => &self.cooldown,
        };
        cooldown.begin(status, verdict, another, scope, model);
    }

    /// Why it would not be asked now. Costs a few loads.
    pub(super) fn skip(&self, call: Option<&Call>) -> Option<Skip> {
        if let (Some(takes), Some(call)) = (&self.takes, call) {
            if !takes(call) {
                return Some(Skip::Unsupported);
            }
        }
        let model = match (&self.asked, &self.name.model, call) {
            (Some(model), _, _) | (None, Some(model), _) => &**model,
            (None, None, call) => call.map_or("", |call| &*call.model),
        };
        if let Some(cooling) = self.cooling_for(model) {
            return Some(Skip::Cooling(cooling));
        }
        let retry_in = self.breaker.as_ref().and_then(CircuitBreaker::retry_in)?;
        Some(Skip::Open { retry_in })
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("name", &self.name)
            .field("breaker", &self.breaker)
            .field("cooldown", &self.cooldown)
            .finish_non_exhaustive()
    }
}
