//! A place where a call can go: a provider's stack, and what a fallback must know to pass it by.

mod asked;

pub(super) use self::asked::{Asks, Skip};

use super::{
    attempt::TargetName,
    capability::Capabilities,
    cooldown::{Cooldown, Cooling},
    pace::Pace,
    recover::Prefill,
};
use crate::{body::RequestBody, peek::Call};
use bytes::Bytes;
use http::{Request, Response, request::Parts};
use http_body::{Body, SizeHint};
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use mainstay_layers::{BoxError, breaker::CircuitBreaker, concurrency::ConcurrencyLimit, retry::Budget};
use std::{fmt, sync::Arc};
use tower::{ServiceExt, util::BoxCloneSyncService};
use tower_service::Service;

/// The body of a reply that came through a router.
pub type ReplyBody = UnsyncBoxBody<Bytes, BoxError>;

/// A stack of layers over a client, its type erased. This is the one place where types are erased.
pub type Stack = BoxCloneSyncService<Request<RequestBody>, Response<ReplyBody>, BoxError>;

/// Which calls a target understands as they are.
type Takes = Arc<dyn Fn(&Call) -> bool + Send + Sync>;

/// What a call takes from the budget.
type Cost = Arc<dyn Fn(&Parts, &SizeHint) -> f64 + Send + Sync>;

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
    cost: Option<Cost>,
    capabilities: Capabilities,
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
            cost: None,
            capabilities: Capabilities::new(),
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

    /// The budget of its provider, the same as its retries draw from. A hedge to this target is paid from it, or not
    /// started. A call that goes on to another target after a failed try at this one takes from it too, as far as there
    /// are tokens, and is never refused; passing by a target that is open, cooling or unfit costs nothing. Without a
    /// budget nothing does.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// What one such call takes from the budget: the same function as the
    /// [`RetryLayer`](mainstay_layers::retry::RetryLayer::with_cost)'s. Default: 1.
    #[must_use]
    pub fn with_cost(mut self, cost: impl Fn(&Parts, &SizeHint) -> f64 + Send + Sync + 'static) -> Self {
        self.cost = Some(Arc::new(cost));
        self
    }

    /// What its model can do. A call that asks for more passes it by. Default: nothing is known, and all is asked.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
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

    /// What its model can do.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// The same target, asked for `model`: circuit, cooldown and name in metrics stay those of the configuration.
    #[must_use]
    pub fn for_model(&self, model: &str) -> Self {
        Self { asked: Some(model.into()), ..self.clone() }
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
