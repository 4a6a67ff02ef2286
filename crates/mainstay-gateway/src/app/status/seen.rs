//! What there is to see of the targets at one moment.

use super::super::Inner;
use crate::config::settings;
use mainstay::{
    layers::{
        breaker::Metrics,
        concurrency::{Adaptive, ConcurrencyLimit},
    },
    route::{Capabilities, Cooldown, Pace, Target},
};
use serde::Serialize;
use std::time::Duration;

/// All of it.
#[derive(Debug, Serialize)]
pub(super) struct Seen {
    pub(super) version: &'static str,
    pub(super) draining: bool,
    pub(super) targets: Vec<OfTarget>,
    pub(super) routes: Vec<OfRoute>,
}

/// One target.
#[derive(Debug, Serialize)]
pub(super) struct OfTarget {
    pub(super) target: String,
    provider: String,
    model: Option<String>,
    pub(super) circuit: Option<Circuit>,
    /// The one of `cooldowns` that lasts longest.
    cooldown: Option<Cools>,
    pub(super) cooldowns: Vec<Cools>,
    /// Of the provider, whose targets share a limit, unless the target has one of its own.
    pub(super) in_flight: usize,
    pub(super) waiting: Option<usize>,
    pub(super) concurrency: Option<Concurrency>,
    pub(super) time_to_first_event: Quantiles,
    pub(super) time_to_whole_reply: Quantiles,
}

#[derive(Debug, Serialize)]
pub(super) struct Circuit {
    pub(super) state: &'static str,
    pub(super) since_s: f64,
    pub(super) failures_in_a_row: u32,
    pub(super) next_probe_in_s: Option<f64>,
    pub(super) probes_in_flight: u32,
    pub(super) opened_total: u64,
    pub(super) rejected_total: u64,
    pub(super) forced: bool,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Cools {
    /// `key`: all targets with this key; `target`: this one.
    pub(super) scope: &'static str,
    /// The model that it concerns; none: all.
    pub(super) model: Option<String>,
    pub(super) left_s: f64,
    pub(super) class: &'static str,
    pub(super) status: u16,
    pub(super) message: Option<String>,
}

/// How many calls there may be, now and ever; none where nothing limits them.
#[derive(Debug, Serialize)]
pub(super) struct Concurrency {
    pub(super) limit: Option<usize>,
    pub(super) floor: Option<usize>,
    pub(super) ceiling: Option<usize>,
    pub(super) bytes_in_flight: Option<u32>,
    pub(super) bytes_limit: Option<u32>,
}

/// Milliseconds; none until there were 20 answers.
#[derive(Debug, Serialize)]
pub(super) struct Quantiles {
    pub(super) p50_ms: Option<u64>,
    pub(super) p95_ms: Option<u64>,
}

/// What is declared of a target's model.
#[derive(Debug, Serialize)]
pub(super) struct Capable {
    context: Option<u64>,
    tools: Option<bool>,
    vision: Option<bool>,
    json_schema: Option<bool>,
    prefill: Option<bool>,
    #[serde(skip)]
    pub(super) words: String,
}

/// A target where a route lists it.
#[derive(Debug, Serialize)]
pub(super) struct Listed {
    pub(super) target: String,
    pub(super) capabilities: Option<Capable>,
}

#[derive(Debug, Serialize)]
pub(super) struct OfRoute {
    pub(super) models: Vec<String>,
    pub(super) targets: Vec<Listed>,
    pub(super) strategy: &'static str,
    /// What else it does, each as the configuration calls it.
    pub(super) options: Vec<&'static str>,
}

impl Seen {
    pub(super) fn of(app: &Inner, draining: bool) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            draining,
            targets: app.targets.iter().map(|target| OfTarget::of(app, target)).collect(),
            routes: app.config.routes.iter().map(|route| OfRoute::of(app, route)).collect(),
        }
    }
}

impl OfTarget {
    fn of(app: &Inner, target: &Target) -> Self {
        let name = target.name();
        let mut cooldowns = cools(app, "key", target.key_cooldown());
        cooldowns.extend(cools(app, "target", target.cooldown()));
        cooldowns.sort_by(|a, b| b.left_s.total_cmp(&a.left_s));
        Self {
            target: name.to_string(),
            provider: name.provider.to_string(),
            model: name.model.as_deref().map(str::to_owned),
            circuit: target.breaker().map(|breaker| Circuit::of(&breaker.metrics())),
            cooldown: cooldowns.first().cloned(),
            cooldowns,
            in_flight: target.in_flight(),
            waiting: target.places().map(|places| places.waiting()),
            concurrency: target.places().map(Concurrency::of),
            time_to_first_event: Quantiles::of(target.pace(), true),
            time_to_whole_reply: Quantiles::of(target.pace(), false),
        }
    }
}

impl Concurrency {
    fn of(places: &ConcurrencyLimit) -> Self {
        let (adaptive, bytes) = (places.adaptive(), places.request_bytes());
        Self {
            limit: places.is_bounded().then(|| places.limit()),
            floor: adaptive.map(Adaptive::floor),
            ceiling: adaptive.map(Adaptive::ceiling),
            bytes_in_flight: bytes.map(|(there, _)| there),
            bytes_limit: bytes.map(|(_, most)| most),
        }
    }
}

impl Circuit {
    fn of(seen: &Metrics) -> Self {
        Self {
            state: seen.state.as_str(),
            since_s: seconds(seen.since.elapsed()),
            failures_in_a_row: seen.failures_in_a_row,
            next_probe_in_s: seen.retry_in.map(seconds),
            probes_in_flight: seen.probes_in_flight,
            opened_total: seen.opened_total,
            rejected_total: seen.rejected_total,
            forced: seen.forced,
        }
    }
}

fn cools(app: &Inner, scope: &'static str, cooldown: &Cooldown) -> Vec<Cools> {
    /// A model's name may be a caller's.
    const LONGEST: usize = 100;
    let all = cooldown.all().into_iter().map(|(model, cooling)| Cools {
        scope,
        model: model.map(|model| model.chars().take(LONGEST).collect()),
        left_s: seconds(cooling.left),
        class: cooling.verdict.class.as_str(),
        status: cooling.status.as_u16(),
        message: cooling.verdict.message.as_deref().map(|words| app.redactor.text(words)),
    });
    all.collect()
}

impl Quantiles {
    fn of(pace: &Pace, stream: bool) -> Self {
        let ms = |share| {
            let took = pace.quantile(stream, share)?;
            Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX))
        };
        Self { p50_ms: ms(0.5), p95_ms: ms(0.95) }
    }
}

impl Capable {
    /// `None` where nothing is declared.
    pub(super) fn of(all: &Capabilities) -> Option<Self> {
        (*all != Capabilities::new()).then(|| Self {
            context: all.context,
            tools: all.tools,
            vision: all.vision,
            json_schema: all.json_schema,
            prefill: all.prefill,
            words: all.to_string(),
        })
    }
}

impl Listed {
    fn of(app: &Inner, target: &settings::Target) -> Self {
        let all = app.config.capabilities(target);
        Self { target: target.to_string(), capabilities: Capable::of(&all) }
    }
}

impl OfRoute {
    fn of(app: &Inner, route: &settings::Route) -> Self {
        let options = [
            (route.sticky.is_some(), "sticky"),
            (route.failover == settings::Failover::AtOnce, "failover at_once"),
            (route.when_exhausted == settings::WhenExhausted::Wait, "when_exhausted wait"),
            (route.hedge.is_some(), "hedge"),
            (route.recovery == settings::Recovery::Continue, "recovery continue"),
            (route.cache.is_some(), "cache"),
            (route.translation == settings::Translation::Lenient, "translation lenient"),
        ];
        Self {
            models: route.models.clone(),
            targets: route.targets.iter().map(|target| Listed::of(app, target)).collect(),
            strategy: match route.strategy {
                settings::Strategy::Order => "order",
                settings::Strategy::Weighted => "weighted",
                settings::Strategy::Latency => "latency",
            },
            options: options.into_iter().filter(|(on, _)| *on).map(|(_, what)| what).collect(),
        }
    }
}

/// Seconds, to the millisecond.
pub(super) fn seconds(span: Duration) -> f64 {
    (span.as_secs_f64() * 1000.0).round() / 1000.0
}
