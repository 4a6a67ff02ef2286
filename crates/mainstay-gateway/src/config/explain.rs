//! `mainstay explain`: what the configuration alone says about a model. Nothing is called.

use std::fmt::Write;

use super::Config;
use super::settings::{Provider, Target};
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
    /// Exact name, then the longest pattern, then `provider/model`.
    fn way<'c>(&'c self, model: &'c str) -> Option<Way<'c>> {
        let entries = || {
            let routes = self.routes.iter().enumerate();
            routes.flat_map(|(at, route)| route.models.iter().map(move |entry| (at, entry.as_str())))
        };
        if let Some((at, entry)) = entries().find(|(_, entry)| *entry == model) {
            return Some(Way::Route(at, entry));
        }
        let mut longest: Option<(usize, &str)> = None;
        for (at, entry) in entries().filter(|(_, entry)| entry.contains('*') && glob(entry, model)) {
            // Of two that are as long the first counts.
            if longest.is_none_or(|(_, known)| entry.len() > known.len()) {
                longest = Some((at, entry));
            }
        }
        if let Some((at, entry)) = longest {
            return Some(Way::Route(at, entry));
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
                (vec![Target { provider, model, weight: 1 }], false)
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

/// `*` stands for any text, nothing included; all else for itself.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|head| text.strip_prefix(head)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(tail) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(tail)
}
