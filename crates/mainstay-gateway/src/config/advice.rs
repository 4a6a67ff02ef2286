//! What works against itself in the settings that a model's calls meet.

use std::time::Duration;

use super::Config;
use super::explain::Way;
use super::settings::{Limits, Recovery, Retry, Route, Tables, Target, Timeout, WhenExhausted};
use super::units::show_duration;

impl Config {
    /// What of the settings for a model works against itself, for people.
    #[must_use]
    pub fn advice(&self, model: &str) -> Vec<String> {
        match self.way(model) {
            Some(Way::Route(at, _)) => {
                self.routes.get(at).map_or_else(Vec::new, |route| self.of_route(route))
            }
            Some(Way::Direct(provider, rest)) => self.outlived(&self.direct(provider, rest)),
            None => Vec::new(),
        }
    }

    fn of_route(&self, route: &Route) -> Vec<String> {
        let mut advice = Vec::new();
        for said in route.targets.iter().flat_map(|target| self.outlived(target)) {
            if !advice.contains(&said) {
                advice.push(said);
            }
        }
        advice.extend(self.waits(route));
        for kind in [Kind::Whole, Kind::Stream] {
            advice.extend(self.too_late(route, kind));
            advice.extend(self.hedges(route, kind));
        }
        advice.extend(self.recovers(route));
        advice
    }

    /// Inner limits that the outer one ends first.
    fn outlived(&self, target: &Target) -> Vec<String> {
        let (Some(deadline), Some(tables)) = (self.server.deadline, self.tables(target)) else {
            return Vec::new();
        };
        let of = match &target.tables {
            Some(_) => format!("{target}:"),
            None => format!("providers.{}.", target.provider),
        };
        let separator = if target.tables.is_some() { " " } else { "" };
        // A default is a bound like any other; what somebody wrote was meant to be used.
        let Tables { timeout, retry, limits, .. } = &tables;
        let (clocks, tries, places) = (Timeout::default(), Retry::default(), Limits::default());
        let limits = [
            ("timeout.attempt", timeout.attempt, clocks.attempt),
            ("timeout.idle", timeout.idle, clocks.idle),
            ("timeout.first_event", timeout.first_event, clocks.first_event),
            ("timeout.progress", timeout.progress, clocks.progress),
            ("retry.max_wait", Some(retry.max_wait), Some(tries.max_wait)),
            ("retry.within", retry.within, tries.within),
            ("limits.queue_wait", Some(limits.queue_wait), Some(places.queue_wait)),
        ];
        let limits = limits.into_iter().filter(|(_, limit, usual)| limit != usual);
        let longer = limits.filter_map(|(key, limit, _)| {
            let limit = limit.filter(|limit| *limit >= deadline)?;
            let (limit, deadline) = (show_duration(limit), show_duration(deadline));
            Some(format!(
                "{of}{separator}{key} ({limit}) is never used up: server.deadline ({deadline}) ends the call first"
            ))
        });
        longer.collect()
    }

    /// The wait for a target that the deadline ends first.
    fn waits(&self, route: &Route) -> Option<String> {
        let deadline = self.server.deadline?;
        let longer = route.when_exhausted == WhenExhausted::Wait
            && route.max_wait >= deadline
            && route.max_wait != Duration::from_secs(60);
        longer.then(|| {
            let (wait, deadline) = (show_duration(route.max_wait), show_duration(deadline));
            format!("max_wait ({wait}) is never used up: server.deadline ({deadline}) ends the call first")
        })
    }

    /// The first target that is not asked any more when those before it hang.
    fn too_late(&self, route: &Route, kind: Kind) -> Option<String> {
        // A hedge asks the next one meanwhile.
        if route.hedge.is_some() {
            return None;
        }
        let mut spent = Duration::ZERO;
        let mut before: Option<&Target> = None;
        for target in &route.targets {
            if let Some(before) = before {
                if self.server.deadline.is_some_and(|deadline| spent >= deadline) {
                    let deadline = show_duration(self.server.deadline.unwrap_or_default());
                    let spent = show_duration(spent);
                    return Some(format!(
                        "no {kind} reaches {target} when {before} hangs: that is known after {spent} ({}), and \
                         server.deadline ({deadline}) ends the call first",
                        kind.clocks()
                    ));
                }
            }
            let Some(hangs) = self.tables(target).map(|tables| kind.hangs(&tables.timeout)) else { continue };
            match hangs {
                Some(hangs) => spent = spent.saturating_add(hangs),
                None => {
                    let next = route.targets.iter().skip_while(|other| *other != target).nth(1)?;
                    return Some(format!(
                        "no {kind} reaches {next} when {target} hangs: nothing ends the wait ({} is off)",
                        kind.clocks()
                    ));
                }
            }
            before = Some(target);
        }
        None
    }

    /// A hedge that would start when its call has been given up.
    fn hedges(&self, route: &Route, kind: Kind) -> Option<String> {
        let after = route.hedge?.after?;
        let tables = self.tables(route.targets.first()?)?;
        let end = kind.hangs(&tables.timeout).filter(|end| *end <= after)?;
        let (after, end) = (show_duration(after), show_duration(end));
        Some(format!(
            "hedge.after ({after}) never comes for a {kind}: the first target is given up after {end} ({})",
            kind.clocks()
        ))
    }

    /// Whether the next target can take what recovery sends it.
    fn recovers(&self, route: &Route) -> Option<String> {
        if route.recovery != Recovery::Continue {
            return None;
        }
        let takes_none = |target: &&Target| {
            let provider = self.provider(&target.provider);
            provider.is_some_and(|provider| {
                // Prefixes are a feature of its beta address.
                provider.kind.as_str() == "deepseek" && !provider.base_url.as_str().contains("/beta")
            })
        };
        let declared = |target: &&Target| self.capabilities(target).prefill == Some(false);
        if let Some(target) = route.targets.iter().skip(1).find(declared) {
            return Some(format!(
                "recovery: {target} does not take the beginning of an answer (capabilities.prefill); it is asked from the \
                 start, and goes on only if it says the same"
            ));
        }
        let target = route.targets.iter().skip(1).find(takes_none)?;
        Some(format!(
            "recovery: {target} takes the beginning of an answer at its /beta address only; here it is asked from the \
             start, and goes on only if it says the same"
        ))
    }
}

/// Which clocks count.
#[derive(Clone, Copy)]
enum Kind {
    Whole,
    Stream,
}

impl Kind {
    /// After which time a target that says nothing is given up; `None`: never.
    fn hangs(self, timeout: &Timeout) -> Option<Duration> {
        match self {
            Kind::Whole => timeout.attempt,
            Kind::Stream => timeout.idle.into_iter().chain(timeout.first_event).min(),
        }
    }

    fn clocks(self) -> &'static str {
        match self {
            Kind::Whole => "timeout.attempt",
            Kind::Stream => "timeout.idle or first_event",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Whole => "call that is no stream",
            Kind::Stream => "stream",
        })
    }
}
