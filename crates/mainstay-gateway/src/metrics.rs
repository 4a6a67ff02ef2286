//! What `/metrics` shows.
//!
//! Every label comes from the configuration (providers, the models that targets name, the patterns of routes) or from a list
//! that is fixed in the code (classes, statuses, kinds of token). Nothing that a caller or a provider sends becomes a label,
//! so that neither can make the process grow.

use crate::cost::Usd;
use mainstay::{
    dialect::Usage,
    layers::{breaker::State, classify::Class},
    route::{Observe, Target, TargetName},
};
use parking_lot::RwLock;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock, atomic::AtomicU64},
    time::Duration,
};

/// The model's label where a target names none: it takes whatever the caller names.
const ANY: &str = "*";

/// The route's label of a request that found none.
const UNROUTED: &str = "none";

/// All metrics of one gateway.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    // In order rather than hashed: there are few, and each call looks some of them up.
    targets: BTreeMap<TargetName, OfTarget>,
    routes: BTreeMap<Arc<str>, OfRoute>,
    unrouted: OfRoute,
    in_flight: Gauge,
    tokens: Family<RoutedTokenLabels, Counter>,
    cost: Family<RoutedLabels, Counter<f64, AtomicU64>>,
    places: Places,
}

/// How many calls there are and may be, of each limit: under the name of the first target that has it, which for that of a
/// provider is the provider alone.
#[derive(Clone, Default)]
struct Places {
    limit: Family<TargetLabels, Gauge>,
    in_flight: Family<TargetLabels, Gauge>,
    waiting: Family<TargetLabels, Gauge>,
}

impl Places {
    fn register(&self, registry: &mut Registry) {
        let limit = "Calls that may be in flight, where that is limited; an adaptive limit as it is now";
        registry.register("concurrency_limit", limit, self.limit.clone());
        let in_flight = "Calls that were sent and whose replies have not ended";
        registry.register("concurrency_in_flight", in_flight, self.in_flight.clone());
        registry.register("concurrency_waiting", "Calls that wait for a place", self.waiting.clone());
    }

    fn set(&self, targets: &[Target]) {
        for (at, target) in targets.iter().enumerate() {
            let Some(places) = target.places() else { continue };
            let mut before = targets.iter().take(at).filter_map(Target::places);
            if before.any(|other| other.is_same(places)) {
                continue;
            }
            let labels = TargetLabels::of(target.name());
            let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
            if places.is_bounded() {
                self.limit.get_or_create(&labels).set(number(places.limit()));
            }
            self.in_flight.get_or_create(&labels).set(number(places.in_flight()));
            self.waiting.get_or_create(&labels).set(number(places.waiting()));
        }
    }
}

/// The handles of a target, resolved once.
struct OfTarget {
    attempts: Vec<(Class, Counter)>,
    retries: Counter,
    fallbacks: Counter,
    hedges: Counter,
    recoveries: [Counter; 2],
    circuit: Gauge,
    first_content: Histogram,
    wasted: [Counter; 4],
    /// What its answers cost, by route: made when there is something to count, so that no zero is shown for each pair.
    spent: RwLock<BTreeMap<Arc<str>, Arc<Spent>>>,
}

/// The handles of what a target's answers on one route cost, resolved when there is first something to count.
#[derive(Default)]
struct Spent {
    tokens: [OnceLock<Counter>; 4],
    cost: OnceLock<Counter<f64, AtomicU64>>,
}

/// The handles of a route, resolved once.
#[derive(Clone)]
struct OfRoute {
    requests: Family<StatusLabel, Counter>,
    /// That of 200, which most are: made when there is one, so that no zero is shown before.
    well: OnceLock<Counter>,
    duration: Histogram,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TargetLabels {
    provider: String,
    model: String,
}

impl TargetLabels {
    fn of(name: &TargetName) -> Self {
        let model = name.model.as_deref().unwrap_or(ANY).to_owned();
        Self { provider: name.provider.to_string(), model }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptLabels {
    provider: String,
    model: String,
    class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RecoveryLabels {
    provider: String,
    model: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    provider: String,
    model: String,
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RoutedTokenLabels {
    provider: String,
    model: String,
    route: String,
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RoutedLabels {
    provider: String,
    model: String,
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabel {
    route: String,
    status: u16,
}

/// How recoveries end, in the order of [`OfTarget::recoveries`].
const RECOVERIES: [&str; 2] = ["continued", "failed"];

/// The kinds of token, in the order of [`OfTarget::wasted`].
const TOKENS: [&str; 4] = ["input", "output", "cached", "reasoning"];

/// In the order of [`TOKENS`].
fn counts(usage: &Usage) -> [u64; 4] {
    [usage.input, usage.output, usage.cached, usage.reasoning].map(|count| count.unwrap_or(0))
}

/// Seconds: from 5 ms to some 11 minutes.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.005, 2.0, 18))
}

impl Metrics {
    /// Metrics of these targets and routes.
    pub fn new<'a>(
        targets: impl IntoIterator<Item = &'a TargetName>,
        routes: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut registry = Registry::with_prefix("mainstay");
        let attempts = Family::<AttemptLabels, Counter>::default();
        let retries = Family::<TargetLabels, Counter>::default();
        let fallbacks = Family::<TargetLabels, Counter>::default();
        let hedges = Family::<TargetLabels, Counter>::default();
        let recoveries = Family::<RecoveryLabels, Counter>::default();
        let circuits = Family::<TargetLabels, Gauge>::default();
        let first = Family::<TargetLabels, Histogram>::new_with_constructor(seconds);
        let tokens = Family::<RoutedTokenLabels, Counter>::default();
        let wasted = Family::<TokenLabels, Counter>::default();
        let cost = Family::<RoutedLabels, Counter<f64, AtomicU64>>::default();
        let requests = Family::<StatusLabel, Counter>::default();
        let durations = Family::<RouteLabels, Histogram>::new_with_constructor(seconds);
        let in_flight = Gauge::default();

        registry.register("requests", "Requests by route and status", requests.clone());
        registry.register(
            "attempts",
            "Tries by target and outcome; a stream's counts at its end",
            attempts.clone(),
        );
        registry.register("retries", "Tries that were not the first at their target", retries.clone());
        registry.register(
            "fallbacks",
            "Calls that went on to another target, by the one they left",
            fallbacks.clone(),
        );
        registry.register(
            "hedges",
            "Second calls that were begun since no content had come, by their target",
            hedges.clone(),
        );
        registry.register(
            "recoveries",
            "Streams that were cut after their first content, by the target that broke and whether another one went on",
            recoveries.clone(),
        );
        registry.register("circuit_state", "0 closed, 1 half-open, 2 open", circuits.clone());
        let places = Places::default();
        places.register(&mut registry);
        registry.register("tokens", "Tokens of answers that were handed on", tokens.clone());
        registry.register(
            "wasted_tokens",
            "Tokens of tries that failed before anything reached the caller, where they were told",
            wasted.clone(),
        );
        registry.register(
            "cost_usd",
            "What answers that were handed on cost, by the prices of the configuration",
            cost.clone(),
        );
        registry.register("requests_in_flight", "Requests that have begun and not ended", in_flight.clone());
        registry.register_with_unit(
            "time_to_first_event",
            "From a try's start to its first content",
            Unit::Seconds,
            first.clone(),
        );
        registry.register_with_unit(
            "request_duration",
            "From a request's head to the end of its reply",
            Unit::Seconds,
            durations.clone(),
        );

        let of_route = |route: &str| OfRoute {
            requests: requests.clone(),
            well: OnceLock::new(),
            duration: durations.get_or_create(&RouteLabels { route: route.to_owned() }).clone(),
        };
        let of_target = |name: &TargetName| {
            let provider = name.provider.to_string();
            let model = name.model.as_deref().unwrap_or(ANY).to_owned();
            let labels = TargetLabels { provider: provider.clone(), model: model.clone() };
            OfTarget {
                attempts: Class::ALL
                    .into_iter()
                    .map(|class| {
                        let (provider, model) = (provider.clone(), model.clone());
                        let labels = AttemptLabels { provider, model, class: class.as_str() };
                        (class, attempts.get_or_create(&labels).clone())
                    })
                    .collect(),
                retries: retries.get_or_create(&labels).clone(),
                fallbacks: fallbacks.get_or_create(&labels).clone(),
                hedges: hedges.get_or_create(&labels).clone(),
                recoveries: RECOVERIES.map(|outcome| {
                    let (provider, model) = (provider.clone(), model.clone());
                    recoveries.get_or_create(&RecoveryLabels { provider, model, outcome }).clone()
                }),
                circuit: circuits.get_or_create(&labels).clone(),
                first_content: first.get_or_create(&labels).clone(),
                wasted: TOKENS.map(|kind| {
                    let labels = TokenLabels { provider: provider.clone(), model: model.clone(), kind };
                    wasted.get_or_create(&labels).clone()
                }),
                spent: RwLock::default(),
            }
        };
        Self(Arc::new(Inner {
            targets: targets.into_iter().map(|name| (name.clone(), of_target(name))).collect(),
            routes: routes.into_iter().map(|route| (Arc::from(route), of_route(route))).collect(),
            unrouted: of_route(UNROUTED),
            registry,
            in_flight,
            tokens,
            cost,
            places,
        }))
    }

    /// A request has begun.
    pub fn begin(&self) {
        self.0.in_flight.inc();
    }

    /// A request has ended, with the whole of its reply.
    pub fn end(&self, route: Option<&str>, status: u16, took: Duration) {
        self.0.in_flight.dec();
        let name = route.unwrap_or(UNROUTED);
        let handles = route.and_then(|route| self.0.routes.get(route)).unwrap_or(&self.0.unrouted);
        // A provider chooses the status that is handed on: only those that HTTP knows become labels.
        let status = if (100..600).contains(&status) { status } else { 0 };
        let of = |status| {
            let labels = StatusLabel { route: name.to_owned(), status };
            handles.requests.get_or_create(&labels).clone()
        };
        match status {
            200 => handles.well.get_or_init(|| of(200)).inc(),
            status => of(status).inc(),
        };
        handles.duration.observe(took.as_secs_f64());
    }

    /// The tokens of an answer, and what they cost where that is known.
    pub(crate) fn spent(&self, target: &TargetName, route: Option<&str>, usage: &Usage, cost: Option<Usd>) {
        let Some(handles) = self.0.targets.get(target) else { return };
        let counts = counts(usage);
        let dollars = cost.map_or(0.0, |Usd(dollars)| dollars);
        if counts == [0; 4] && dollars <= 0.0 {
            return;
        }
        let route = route.filter(|route| self.0.routes.contains_key(*route)).unwrap_or(UNROUTED);
        let known = handles.spent.read().get(route).cloned();
        let spent = known.unwrap_or_else(|| handles.spent.write().entry(route.into()).or_default().clone());
        let labels = || RoutedLabels {
            provider: target.provider.to_string(),
            model: target.model.as_deref().unwrap_or(ANY).to_owned(),
            route: route.to_owned(),
        };
        for ((kind, count), counter) in TOKENS.into_iter().zip(counts).zip(&spent.tokens) {
            if count > 0 {
                let make = || {
                    let RoutedLabels { provider, model, route } = labels();
                    let labels = RoutedTokenLabels { provider, model, route, kind };
                    self.0.tokens.get_or_create(&labels).clone()
                };
                counter.get_or_init(make).inc_by(count);
            }
        }
        if dollars > 0.0 {
            let make = || self.0.cost.get_or_create(&labels()).clone();
            spent.cost.get_or_init(make).inc_by(dollars);
        }
    }

    /// The text that a scraper reads, with the circuits as they are now.
    pub fn render(&self, targets: &[Target]) -> String {
        for target in targets {
            let (Some(handles), Some(breaker)) = (self.0.targets.get(&**target.name()), target.breaker())
            else {
                continue;
            };
            handles.circuit.set(match breaker.state() {
                State::Closed => 0,
                State::HalfOpen => 1,
                _ => 2,
            });
        }
        self.0.places.set(targets);
        let mut text = String::new();
        if let Err(error) = encode(&mut text, &self.0.registry) {
            tracing::error!(%error, "the metrics cannot be written");
        }
        text
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Metrics({} targets, {} routes)", self.0.targets.len(), self.0.routes.len())
    }
}

impl Observe for Metrics {
    fn attempt(&self, target: &TargetName, class: Class, _: Duration) {
        let handles = self.0.targets.get(target);
        if let Some((_, counter)) =
            handles.and_then(|of| of.attempts.iter().find(|(other, _)| *other == class))
        {
            counter.inc();
        }
    }

    fn retry(&self, target: &TargetName) {
        if let Some(handles) = self.0.targets.get(target) {
            handles.retries.inc();
        }
    }

    fn first_content(&self, target: &TargetName, took: Duration) {
        if let Some(handles) = self.0.targets.get(target) {
            handles.first_content.observe(took.as_secs_f64());
        }
    }

    fn fallback(&self, from: &TargetName, _: Class) {
        if let Some(handles) = self.0.targets.get(from) {
            handles.fallbacks.inc();
        }
    }

    fn hedge(&self, to: &TargetName) {
        if let Some(handles) = self.0.targets.get(to) {
            handles.hedges.inc();
        }
    }

    fn wasted(&self, target: &TargetName, usage: &Usage) {
        let Some(handles) = self.0.targets.get(target) else { return };
        for (counter, count) in handles.wasted.iter().zip(counts(usage)) {
            counter.inc_by(count);
        }
    }

    fn recovery(&self, from: &TargetName, to: Option<&TargetName>) {
        let Some(handles) = self.0.targets.get(from) else { return };
        let [continued, failed] = &handles.recoveries;
        if to.is_some() { continued } else { failed }.inc();
    }
}
