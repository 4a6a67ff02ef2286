//! The families of metrics, and the handles of what is known beforehand: resolved once, so that a call looks up a target
//! and not its labels.

use super::{
    labels::{
        AttemptLabels, RecoveryLabels, RouteLabels, RoutedLabels, RoutedTokenLabels, StatusLabel,
        TargetLabels, TokenLabels,
    },
    places::Places,
};
use mainstay::{dialect::Usage, layers::classify::Class, route::TargetName};
use parking_lot::RwLock;
use prometheus_client::{
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
    sync::{Arc, OnceLock, atomic::AtomicU64},
};

/// How recoveries end, in the order of [`OfTarget::recoveries`].
const RECOVERIES: [&str; 2] = ["continued", "failed"];

/// The kinds of token, in the order of [`OfTarget::wasted`].
pub(super) const TOKENS: [&str; 4] = ["input", "output", "cached", "reasoning"];

/// In the order of [`TOKENS`].
pub(super) fn counts(usage: &Usage) -> [u64; 4] {
    [usage.input, usage.output, usage.cached, usage.reasoning].map(|count| count.unwrap_or(0))
}

/// Seconds: from 5 ms to some 11 minutes.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.005, 2.0, 18))
}

/// All families.
pub(super) struct Families {
    attempts: Family<AttemptLabels, Counter>,
    retries: Family<TargetLabels, Counter>,
    fallbacks: Family<TargetLabels, Counter>,
    hedges: Family<TargetLabels, Counter>,
    recoveries: Family<RecoveryLabels, Counter>,
    circuits: Family<TargetLabels, Gauge>,
    first: Family<TargetLabels, Histogram>,
    wasted: Family<TokenLabels, Counter>,
    malformed: Family<TargetLabels, Counter>,
    requests: Family<StatusLabel, Counter>,
    durations: Family<RouteLabels, Histogram>,
    pub(super) tokens: Family<RoutedTokenLabels, Counter>,
    pub(super) cost: Family<RoutedLabels, Counter<f64, AtomicU64>>,
    pub(super) in_flight: Gauge,
    pub(super) places: Places,
}

/// The handles of a target.
pub(super) struct OfTarget {
    pub(super) attempts: Vec<(Class, Counter)>,
    pub(super) retries: Counter,
    pub(super) fallbacks: Counter,
    pub(super) hedges: Counter,
    pub(super) recoveries: [Counter; 2],
    pub(super) circuit: Gauge,
    pub(super) first_content: Histogram,
    pub(super) wasted: [Counter; 4],
    pub(super) malformed: Counter,
    /// What its answers cost, by route: made when there is something to count, so that no zero is shown for each pair.
    pub(super) spent: RwLock<BTreeMap<Arc<str>, Arc<Spent>>>,
}

/// The handles of what a target's answers on one route cost, resolved when there is first something to count.
#[derive(Default)]
pub(super) struct Spent {
    pub(super) tokens: [OnceLock<Counter>; 4],
    pub(super) cost: OnceLock<Counter<f64, AtomicU64>>,
}

/// The handles of a route.
pub(super) struct OfRoute {
    requests: Family<StatusLabel, Counter>,
    /// That of 200, which most are: made when there is one, so that no zero is shown before.
    well: OnceLock<Counter>,
    pub(super) duration: Histogram,
}

impl OfRoute {
    /// Counts a request of the route `name`.
    pub(super) fn count(&self, name: &str, status: u16) {
        let of = |status| {
            let labels = StatusLabel { route: name.to_owned(), status };
            self.requests.get_or_create(&labels).clone()
        };
        match status {
            200 => self.well.get_or_init(|| of(200)).inc(),
            status => of(status).inc(),
        };
    }
}

impl Families {
    /// New ones, in this registry.
    pub(super) fn register(registry: &mut Registry) -> Self {
        let all = Self {
            attempts: Family::default(),
            retries: Family::default(),
            fallbacks: Family::default(),
            hedges: Family::default(),
            recoveries: Family::default(),
            circuits: Family::default(),
            first: Family::new_with_constructor(seconds),
            wasted: Family::default(),
            malformed: Family::default(),
            requests: Family::default(),
            durations: Family::new_with_constructor(seconds),
            tokens: Family::default(),
            cost: Family::default(),
            in_flight: Gauge::default(),
            places: Places::default(),
        };
        registry.register("requests", "Requests by route and status", all.requests.clone());
        registry.register(
            "attempts",
            "Tries by target and outcome; a stream's counts at its end",
            all.attempts.clone(),
        );
        registry.register("retries", "Tries that were not the first at their target", all.retries.clone());
        registry.register(
            "fallbacks",
            "Calls that went on to another target, by the one they left",
            all.fallbacks.clone(),
        );
        registry.register(
            "hedges",
            "Second calls that were begun since no content had come, by their target",
            all.hedges.clone(),
        );
        registry.register(
            "recoveries",
            "Streams that were cut after their first content, by the target that broke and whether another one went on",
            all.recoveries.clone(),
        );
        registry.register("circuit_state", "0 closed, 1 half-open, 2 open", all.circuits.clone());
        all.places.register(registry);
        registry.register("tokens", "Tokens of answers that were handed on", all.tokens.clone());
        registry.register(
            "wasted_tokens",
            "Tokens of tries that failed before anything reached the caller, where they were told",
            all.wasted.clone(),
        );
        registry.register(
            "malformed_events",
            "Events of streams that could not be read; in the dialect of their provider they pass as they came",
            all.malformed.clone(),
        );
        registry.register(
            "cost_usd",
            "What answers that were handed on cost, by the prices of the configuration",
            all.cost.clone(),
        );
        registry.register(
            "requests_in_flight",
            "Requests that have begun and not ended",
            all.in_flight.clone(),
        );
        registry.register_with_unit(
            "time_to_first_event",
            "From a try's start to its first content",
            Unit::Seconds,
            all.first.clone(),
        );
        registry.register_with_unit(
            "request_duration",
            "From a request's head to the end of its reply",
            Unit::Seconds,
            all.durations.clone(),
        );
        all
    }

    pub(super) fn of_route(&self, route: &str) -> OfRoute {
        OfRoute {
            requests: self.requests.clone(),
            well: OnceLock::new(),
            duration: self.durations.get_or_create(&RouteLabels { route: route.to_owned() }).clone(),
        }
    }

    pub(super) fn of_target(&self, name: &TargetName) -> OfTarget {
        let labels = TargetLabels::of(name);
        let own = || (labels.provider.clone(), labels.model.clone());
        let attempts = |class: Class| {
            let (provider, model) = own();
            let labels = AttemptLabels { provider, model, class: class.as_str() };
            (class, self.attempts.get_or_create(&labels).clone())
        };
        let recoveries = |outcome| {
            let (provider, model) = own();
            self.recoveries.get_or_create(&RecoveryLabels { provider, model, outcome }).clone()
        };
        let wasted = |kind| {
            let (provider, model) = own();
            self.wasted.get_or_create(&TokenLabels { provider, model, kind }).clone()
        };
        OfTarget {
            attempts: Class::ALL.into_iter().map(attempts).collect(),
            retries: self.retries.get_or_create(&labels).clone(),
            fallbacks: self.fallbacks.get_or_create(&labels).clone(),
            hedges: self.hedges.get_or_create(&labels).clone(),
            recoveries: RECOVERIES.map(recoveries),
            circuit: self.circuits.get_or_create(&labels).clone(),
            first_content: self.first.get_or_create(&labels).clone(),
            wasted: TOKENS.map(wasted),
            malformed: self.malformed.get_or_create(&labels).clone(),
            spent: RwLock::default(),
        }
    }
}
