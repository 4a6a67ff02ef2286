//! `mainstay explain`: what the configuration alone says about a model. Nothing is called.

use std::fmt::Write;

use mainstay::parameters::Parameters;
use mainstay::route::{Capabilities, Pattern, Table};

use super::Config;
use super::settings::{Limits, Tables, Target};
use super::show::{provider_toml, route_toml};
use super::units::{show_duration, show_size};

/// Where a model's calls go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way<'c> {
    /// By the route of this index, through this entry of its `models`.
    Route(usize, &'c str),
    /// By `provider/model`: the provider's name and what is left.
    Direct(&'c str, &'c str),
}

impl Config {
    /// Exact name, then the longest pattern, by the router's own table; then `provider/model`.
    pub(super) fn way<'c>(&'c self, model: &'c str) -> Option<Way<'c>> {
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

    /// Whether calls for `model` go to `provider` under that name, by some route.
    #[must_use]
    pub fn hands_on(&self, model: &str, provider: &str) -> bool {
        let Some(Way::Route(at, _)) = self.way(model) else { return false };
        let targets = self.routes.get(at).map_or(&[][..], |route| &route.targets);
        targets.iter().any(|target| {
            target.provider == provider && target.model.as_deref().is_none_or(|named| named == model)
        })
    }

    /// Whether calls for `model` take no route but name a provider themselves.
    #[must_use]
    pub fn is_direct(&self, model: &str) -> bool {
        matches!(self.way(model), Some(Way::Direct(..)))
    }

    /// The target of a call that names a provider itself: the provider alone, as it is configured.
    pub(super) fn direct(&self, provider: &str, model: &str) -> Target {
        let target = Target::plain(provider, Some(model.to_owned()));
        Target { tables: self.alone(provider).map(|tables| Box::new(tables.clone())), ..target }
    }

    /// The tables of a provider that some route lists alone, where they are not its own.
    #[must_use]
    pub fn alone(&self, provider: &str) -> Option<&Tables> {
        let targets = self.routes.iter().flat_map(|route| &route.targets);
        let mut alone = targets.filter(|target| target.provider == provider && target.model.is_none());
        alone.find_map(|target| target.tables.as_deref())
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
                let _ = writeln!(out, "\n{}", indent(&route_toml(route, &self.providers)));
                (route.targets.clone(), true)
            }
            Way::Direct(provider, rest) => {
                line(&mut out, format_args!("{model} matches no route; it names the provider {provider}:"));
                (vec![self.direct(provider, rest)], false)
            }
        };
        let mut tries: u64 = 0;
        for (at, target) in targets.iter().enumerate() {
            let Some(provider) = self.provider(&target.provider) else { continue };
            let Some(tables) = self.tables(target) else { continue };
            tries += u64::from(tables.retry.attempts);
            let name = target.model.as_deref().unwrap_or(model);
            let nth = at + 1;
            line(
                &mut out,
                format_args!("{nth}. {} at {}, as model {name:?}", provider.name, provider.base_url.as_str()),
            );
            let declared = self.capabilities(target);
            if declared != Capabilities::new() {
                line(&mut out, format_args!("   declared: {declared}"));
            }
            for said in clocks(&tables, stream).into_iter().chain(parameters(&target.parameters)) {
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

/// The fields of the request that the target has its own mind about.
fn parameters(parameters: &Parameters) -> Vec<String> {
    let list = |map: &serde_json::Map<String, serde_json::Value>| {
        map.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
    };
    let mut said = Vec::new();
    if !parameters.set().is_empty() {
        said.push(format!("sets in the request: {}", list(parameters.set())));
    }
    if !parameters.defaults().is_empty() {
        said.push(format!("fills in where the caller says nothing: {}", list(parameters.defaults())));
    }
    said
}

/// The settings that matter for this kind of call, in words.
fn clocks(tables: &Tables, stream: bool) -> Vec<String> {
    let Tables { retry, timeout, breaker, limits } = tables;
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
    said.extend(places(limits));
    said
}

/// How many calls may be in flight, where that is bounded.
fn places(limits: &Limits) -> Option<String> {
    let calls = match (limits.adaptive.ceiling, limits.places()) {
        (Some(ceiling), Some(start)) => {
            Some(format!("from {} to {ceiling} calls in flight, at first {start}", limits.adaptive.floor))
        }
        (None, Some(calls)) => Some(format!("{calls} calls in flight")),
        (_, None) => None,
    };
    let bytes =
        limits.bytes_in_flight.map(|bytes| format!("{} of requests in flight", show_size(bytes.into())));
    let bounds: Vec<String> = calls.into_iter().chain(bytes).collect();
    (!bounds.is_empty())
        .then(|| format!("limits: {}; others wait {}", bounds.join(", "), show_duration(limits.queue_wait)))
}
