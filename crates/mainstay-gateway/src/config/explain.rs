//! `mainstay explain`: what the configuration alone says about a model. Nothing is called.

use std::fmt::Write;

use mainstay::route::{Capabilities, Pattern, Table};

use super::Config;
use super::settings::{Provider, Recovery, Retry, Route, Target, Timeout};
use super::show::{provider_toml, route_toml};
use super::units::show_duration;

/// Where a model's calls go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way<'c> {
    /// By the route of this index, through this entry of its `models`.
    Route(usize, &'c str),
    /// By `provider/model`: the provider's name and what is left.
    Direct(&'c str, &'c str),
}

impl Config {
    /// Exact name, then the longest pattern, by the router's own table; then `provider/model`.
    fn way<'c>(&'c self, model: &'c str) -> Option<Way<'c>> {
        let mut table = Table::default();
        for (at, route) in self.routes.iter().enumerate() {
            for entry in &route.models {
                table.insert(Pattern::new(entry.as_str()), (at, entry.as_str()));
            }
        }
        if let Some((at, entry)) = table.get(model) {
            return Some(Way::Route(*at, entry));
        }
        let (provider, rest) = model.split_once('/')?;
        let provider = self.provider(provider).filter(|_| !rest.is_empty())?;
        Some(Way::Direct(&provider.name, rest))
    }

    /// For a person: which route, which targets in which order, and their settings. `None` if nothing takes the
    /// model; [`Config::models_there_are`] says what would.
    #[must_use]
    pub fn explain(&self, model: &str, stream: bool) -> Option<String> {
        let mut out = String::new();
        let (targets, routed) = match self.way(model)? {
            Way::Route(at, entry) => {
                let route = self.routes.get(at)?;
                line(
                    &mut out,
                    format_args!("{model} matches {entry:?} of the route in line {}:", route.line),
                );
                let _ = writeln!(out, "\n{}", indent(&route_toml(route)));
                (route.targets.clone(), true)
            }
            Way::Direct(provider, rest) => {
                line(&mut out, format_args!("{model} matches no route; it names the provider {provider}:"));
                let (provider, model) = (provider.to_owned(), Some(rest.to_owned()));
                (vec![Target { provider, model, weight: 1, capabilities: Capabilities::new() }], false)
            }
        };
        let mut tries: u64 = 0;
        for (at, target) in targets.iter().enumerate() {
            let Some(provider) = self.provider(&target.provider) else { continue };
            tries += u64::from(provider.retry.attempts);
            let name = target.model.as_deref().unwrap_or(model);
            let nth = at + 1;
            line(
                &mut out,
                format_args!("{nth}. {} at {}, as model {name:?}", provider.name, provider.base_url.as_str()),
            );
            let declared = target.capabilities.or(provider.capabilities);
            if declared != Capabilities::new() {
                line(&mut out, format_args!("   declared: {declared}"));
            }
            for said in clocks(provider, stream) {
                line(&mut out, format_args!("   {said}"));
            }
        }
        if routed && targets.len() > 1 {
            line(
                &mut out,
                format_args!("\nThe next is asked when one has failed; at most {tries} tries in all."),
            );
        }
        for advice in self.advice(model) {
            line(&mut out, format_args!("warning: {advice}"));
        }
        let mut shown: Vec<&str> = Vec::new();
        for target in &targets {
            let Some(provider) = self.provider(&target.provider) else { continue };
            if !shown.contains(&provider.name.as_str()) {
                shown.push(&provider.name);
                let _ = write!(out, "\n{}", provider_toml(provider));
            }
        }
        Some(out)
    }

    /// What of the settings for a model works against itself, for people.
    #[must_use]
    pub fn advice(&self, model: &str) -> Vec<String> {
        let (route, targets) = match self.way(model) {
            Some(Way::Route(at, _)) => match self.routes.get(at) {
                Some(route) => (Some(route), route.targets.as_slice()),
                None => (None, &[][..]),
            },
            Some(Way::Direct(provider, _)) => {
                let Some(provider) = self.provider(provider) else { return Vec::new() };
                return self.outlived(provider);
            }
            None => (None, &[][..]),
        };
        let mut advice = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for provider in targets.iter().filter_map(|target| self.provider(&target.provider)) {
            if !seen.contains(&provider.name.as_str()) {
                seen.push(&provider.name);
                advice.extend(self.outlived(provider));
            }
        }
        advice.extend(route.and_then(|route| self.recovers(route)));
        advice
    }

    /// Inner limits that the outer one ends first.
    fn outlived(&self, provider: &Provider) -> Vec<String> {
        let Some(deadline) = self.server.deadline else { return Vec::new() };
        // A default is a bound like any other; what somebody wrote was meant to be used.
        let (clocks, usual) = (&provider.timeout, Timeout::default());
        let limits = [
            ("timeout.attempt", clocks.attempt, usual.attempt),
            ("timeout.idle", clocks.idle, usual.idle),
            ("timeout.first_event", clocks.first_event, usual.first_event),
            ("timeout.progress", clocks.progress, usual.progress),
            ("retry.max_wait", Some(provider.retry.max_wait), Some(Retry::default().max_wait)),
        ];
        let limits = limits.into_iter().filter(|(_, limit, usual)| limit != usual);
        let longer = limits.filter_map(|(key, limit, _)| {
            let limit = limit.filter(|limit| *limit >= deadline)?;
            let (limit, deadline) = (show_duration(limit), show_duration(deadline));
            Some(format!(
                "providers.{}.{key} ({limit}) is never used up: server.deadline ({deadline}) ends the call first",
                provider.name
            ))
        });
        longer.collect()
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
        let declared = |target: &&Target| {
            let provider = self.provider(&target.provider).map(|provider| provider.capabilities);
            target.capabilities.or(provider.unwrap_or_default()).prefill == Some(false)
        };
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

    /// What a caller can ask for: the entries of all routes, then `provider/...`.
    #[must_use]
    pub fn models_there_are(&self) -> Vec<String> {
        let routed = self.routes.iter().flat_map(|route| route.models.iter().cloned());
        routed.chain(self.providers.iter().map(|provider| format!("{}/...", provider.name))).collect()
    }
}

fn line(out: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = out.write_fmt(line);
    out.push('\n');
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// The settings that matter for this kind of call, in words.
fn clocks(provider: &Provider, stream: bool) -> Vec<String> {
    let (retry, timeout, breaker) = (&provider.retry, &provider.timeout, &provider.breaker);
    let shown = |value: Option<_>| value.map_or_else(|| "off".to_owned(), show_duration);
    let mut said = vec![format!(
        "tries: {}, waits from {} to {}, all within {}",
        retry.attempts,
        show_duration(retry.base_delay),
        show_duration(retry.max_delay.max(retry.base_delay)),
        shown(retry.within)
    )];
    let connect = show_duration(timeout.connect);
    said.push(if stream {
        let (idle, first) = (shown(timeout.idle), shown(timeout.first_event));
        format!(
            "clocks of a stream: connect {connect}, idle {idle}, first event {first}, progress {}",
            shown(timeout.progress)
        )
    } else {
        format!("clocks: connect {connect}, the whole attempt {}", shown(timeout.attempt))
    });
    said.push(if breaker.enabled {
        let open_for = show_duration(breaker.open_for);
        format!("circuit: opens after {} failures in a row, for {open_for}", breaker.failures)
    } else {
        "circuit: none".to_owned()
    });
    said
}
