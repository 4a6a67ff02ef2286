//! Gauges of the limits on calls at a time.

use super::labels::TargetLabels;
use mainstay::route::Target;
use prometheus_client::{
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};

/// How many calls there are and may be, of each limit: under the name of the first target that has it, which for that of a
/// provider is the provider alone.
#[derive(Clone, Default)]
pub(super) struct Places {
    limit: Family<TargetLabels, Gauge>,
    in_flight: Family<TargetLabels, Gauge>,
    waiting: Family<TargetLabels, Gauge>,
}

impl Places {
    pub(super) fn register(&self, registry: &mut Registry) {
        let limit = "Calls that may be in flight, where that is limited; an adaptive limit as it is now";
        registry.register("concurrency_limit", limit, self.limit.clone());
        let in_flight = "Calls that were sent and whose replies have not ended";
        registry.register("concurrency_in_flight", in_flight, self.in_flight.clone());
        registry.register("concurrency_waiting", "Calls that wait for a place", self.waiting.clone());
    }

    pub(super) fn set(&self, targets: &[Target]) {
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
