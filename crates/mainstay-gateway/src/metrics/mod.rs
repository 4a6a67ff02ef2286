//! What `/metrics` shows.
//!
//! Every label comes from the configuration (providers, the models that targets name, the patterns of routes) or from a list
//! that is fixed in the code (classes, statuses, kinds of token). Nothing that a caller or a provider sends becomes a label,
//! so that neither can make the process grow.

mod families;
mod labels;
mod places;

use crate::cost::Usd;
use families::{Families, OfRoute, OfTarget, TOKENS, counts};
use labels::{RoutedLabels, UNROUTED};
use mainstay::{
    dialect::Usage,
    layers::{breaker::State, classify::Class},
    route::{Observe, Target, TargetName},
};
use prometheus_client::{encoding::text::encode, registry::Registry};
use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

/// All metrics of one gateway.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    // In order rather than hashed: there are few, and each call looks some of them up.
    targets: BTreeMap<TargetName, OfTarget>,
    routes: BTreeMap<Arc<str>, OfRoute>,
    unrouted: OfRoute,
    families: Families,
}

impl Metrics {
    /// Metrics of these targets and routes.
    pub fn new<'a>(
        targets: impl IntoIterator<Item = &'a TargetName>,
        routes: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut registry = Registry::with_prefix("mainstay");
        let families = Families::register(&mut registry);
        let of_target = |name: &TargetName| (name.clone(), families.of_target(name));
        let of_route = |route: &str| (Arc::from(route), families.of_route(route));
        Self(Arc::new(Inner {
            targets: targets.into_iter().map(of_target).collect(),
            routes: routes.into_iter().map(of_route).collect(),
            unrouted: families.of_route(UNROUTED),
            registry,
            families,
        }))
    }

    /// A request has begun.
    pub fn begin(&self) {
        self.0.families.in_flight.inc();
    }

    /// A request has ended, with the whole of its reply.
    pub fn end(&self, route: Option<&str>, status: u16, took: Duration) {
        self.0.families.in_flight.dec();
        let handles = route.and_then(|route| self.0.routes.get(route)).unwrap_or(&self.0.unrouted);
        // A provider chooses the status that is handed on: only those that HTTP knows become labels.
        let status = if (100..600).contains(&status) { status } else { 0 };
        handles.count(route.unwrap_or(UNROUTED), status);
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
        let labels = || RoutedLabels::of(target, route);
        for ((kind, count), counter) in TOKENS.into_iter().zip(counts).zip(&spent.tokens) {
            if count > 0 {
                let make = || self.0.families.tokens.get_or_create(&labels().with_kind(kind)).clone();
                counter.get_or_init(make).inc_by(count);
            }
        }
        if dollars > 0.0 {
            let make = || self.0.families.cost.get_or_create(&labels()).clone();
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
        self.0.families.places.set(targets);
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

    fn malformed_events(&self, target: &TargetName, events: u64) {
        if let Some(handles) = self.0.targets.get(target) {
            handles.malformed.inc_by(events);
        }
    }

    fn recovery(&self, from: &TargetName, to: Option<&TargetName>) {
        let Some(handles) = self.0.targets.get(from) else { return };
        let [continued, failed] = &handles.recoveries;
        if to.is_some() { continued } else { failed }.inc();
    }
}
