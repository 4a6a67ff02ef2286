//! `[[routes]]`

use std::collections::HashMap;

use super::super::doc::{Table, Value, offer, shown};
use super::super::settings::{Failover, Recovery, Route, Strategy, Target, Translation};
use super::super::support::{self, gate};
use super::provider::wrong_model;

/// Pattern or name → the line of the route that has it.
type Seen = HashMap<String, usize>;

/// All routes; `providers` are the names that are written, the refused ones too.
pub(in super::super) fn routes(v: &Value<'_>, providers: &[String]) -> Vec<Route> {
    let mut seen = Seen::new();
    let items = v.items("a list of tables, each written as [[routes]]").unwrap_or_default();
    items.iter().filter_map(|item| route(item, providers, &mut seen)).collect()
}

fn route(item: &Value<'_>, providers: &[String], seen: &mut Seen) -> Option<Route> {
    if !item.is_table() {
        return item.wrong("a table, written as [[routes]]");
    }
    let mut t = item.table()?;
    let models = models(&mut t, seen);
    let targets = targets(&mut t, providers);
    let strategies =
        [("order", Strategy::Order), ("weighted", Strategy::Weighted), ("latency", Strategy::Latency)];
    let mut strategy = Strategy::Order;
    t.set("strategy", &mut strategy, |v| {
        let read = v.word(&strategies)?;
        let there = match read {
            Strategy::Order => true,
            Strategy::Weighted => support::WEIGHTED,
            Strategy::Latency => support::LATENCY,
        };
        gate(v, there, "\"order\"", false, read)
    });
    let mut recovery = Recovery::Off;
    t.set("recovery", &mut recovery, |v| {
        let read = v.word(&[("off", Recovery::Off), ("continue", Recovery::Continue)])?;
        gate(v, support::CONTINUE, "\"off\"", read == Recovery::Off, read)
    });
    let mut failover = Failover::AfterRetries;
    t.set("failover", &mut failover, |v| {
        let read = v.word(&[("after_retries", Failover::AfterRetries), ("at_once", Failover::AtOnce)])?;
        gate(v, support::AT_ONCE, "\"after_retries\"", read == Failover::AfterRetries, read)
    });
    let mut translation = Translation::Strict;
    t.set("translation", &mut translation, |v| {
        v.word(&[("strict", Translation::Strict), ("lenient", Translation::Lenient)])
    });
    let line = t.line();
    t.finish(|key| match key {
        "model" => Some("models = [\"NAME\"]".to_owned()),
        "target" | "provider" => Some("targets = [\"PROVIDER\"]".to_owned()),
        _ => None,
    });
    Some(Route { models: models?, targets: targets?, strategy, recovery, failover, translation, line })
}

fn models(t: &mut Table<'_>, seen: &mut Seen) -> Option<Vec<String>> {
    const EXPECTED: &str = "a list of names or patterns, such as [\"gpt-5\", \"claude-*\"]";
    let Some(value) = t.get("models") else {
        t.missing("models", EXPECTED);
        return None;
    };
    let line = t.line();
    let items = value.items(EXPECTED)?;
    if items.is_empty() {
        return value.refuse("an empty list", EXPECTED);
    }
    let mut names = Vec::new();
    for item in &items {
        let Some(name) = item.text(EXPECTED) else { continue };
        if let Some(why) = wrong_model(name) {
            item.wrong::<()>(format!("a model's name or pattern{why}"));
            continue;
        }
        match seen.get(name).copied() {
            None => {
                seen.insert(name.to_owned(), line);
                names.push(name.to_owned());
            }
            Some(first) if first == line => {
                item.warn(format_args!("{} is listed twice in this route", shown(name)));
            }
            Some(first) if name.contains('*') => {
                item.warn(format_args!(
                    "the pattern {} can never match here: the route in line {first} has it too",
                    shown(name)
                ));
                names.push(name.to_owned());
            }
            Some(first) => {
                item.refuse::<()>(
                    format!("{}, which the route in line {first} has too", shown(name)),
                    "each exact name in one route only",
                );
            }
        }
    }
    Some(names)
}

fn targets(t: &mut Table<'_>, providers: &[String]) -> Option<Vec<Target>> {
    const EXPECTED: &str = "a list of \"provider\" or \"provider/model\"";
    let Some(value) = t.get("targets") else {
        t.missing("targets", EXPECTED);
        return None;
    };
    let items = value.items(EXPECTED)?;
    if items.is_empty() {
        return value.refuse("an empty list", EXPECTED);
    }
    let mut targets: Vec<Target> = Vec::new();
    for item in &items {
        let read = if item.is_table() { weighted(item, providers) } else { target(item, 1, providers) };
        let Some(read) = read else { continue };
        if targets.iter().any(|known| known.provider == read.provider && known.model == read.model) {
            item.warn("this target is listed twice: a call may try it twice as often");
        }
        targets.push(read);
    }
    Some(targets)
}

fn weighted(item: &Value<'_>, providers: &[String]) -> Option<Target> {
    let mut t = item.table()?;
    let mut weight = 1;
    t.set("weight", &mut weight, |v| {
        let read = v.count(1..=1_000_000, "the target's share")?;
        gate(v, support::WEIGHTED, "1", read == 1, read)
    });
    let read = match t.get("target") {
        Some(value) => target(&value, weight, providers),
        None => {
            t.missing("target", "\"provider\" or \"provider/model\"");
            None
        }
    };
    t.finish(|_| None);
    read
}

fn target(v: &Value<'_>, weight: u32, providers: &[String]) -> Option<Target> {
    let text = v.text("\"provider\" or \"provider/model\"")?;
    // Exactly the first part is the provider: models have slashes of their own.
    let (provider, model) = match text.split_once('/') {
        Some((provider, model)) => (provider, Some(model)),
        None => (text, None),
    };
    if !providers.iter().any(|known| known == provider) {
        let known = offer(provider, providers.iter().map(String::as_str));
        return v.refuse(
            format!("{}: there is no provider {}", shown(text), shown(provider)),
            format!("a provider of this file: {known}"),
        );
    }
    if let Some(why) = model.and_then(wrong_model) {
        return v.wrong(format!("a model's name{why} after the slash"));
    }
    if model.is_some_and(|model| model.contains('*')) {
        return v.wrong(format!("an exact name, or {} alone to pass the caller's on", shown(provider)));
    }
    Some(Target { provider: provider.to_owned(), model: model.map(str::to_owned), weight })
}
