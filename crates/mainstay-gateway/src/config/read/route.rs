//! `[[routes]]`

use std::{collections::HashMap, time::Duration};

use super::super::doc::{Table, Value, shown};
use super::super::settings::{
    Cache, Failover, Hedge, Recovery, Route, Serve, Sticky, Strategy, Target, Translation, WhenExhausted,
};
use super::provider::wrong_model;
use super::target::Targets;

/// Pattern or name → the line of the route that has it.
type Seen = HashMap<String, usize>;

/// All routes, with what is known of the targets that they may have.
pub(in super::super) fn routes(v: &Value<'_>, mut known: Targets<'_>) -> Vec<Route> {
    let mut seen = Seen::new();
    let items = v.items("a list of tables, each written as [[routes]]").unwrap_or_default();
    items.iter().filter_map(|item| route(item, &mut known, &mut seen)).collect()
}

fn route(item: &Value<'_>, known: &mut Targets<'_>, seen: &mut Seen) -> Option<Route> {
    if !item.is_table() {
        return item.wrong("a table, written as [[routes]]");
    }
    let mut t = item.table()?;
    let models = models(&mut t, seen);
    let targets = known.read(&mut t);
    let lone = targets.as_ref().is_some_and(|targets| targets.len() == 1);
    // With one target there is nothing to choose, and nowhere to go on to.
    let needs_two = |v: &Value<'_>, is_on: bool| {
        if lone && is_on {
            v.warn("has no effect with one target");
        }
    };
    let strategies =
        [("order", Strategy::Order), ("weighted", Strategy::Weighted), ("latency", Strategy::Latency)];
    let mut strategy = Strategy::Order;
    t.set("strategy", &mut strategy, |v| {
        let read = v.word(&strategies)?;
        needs_two(v, read != Strategy::Order);
        Some(read)
    });
    let mut sticky = None;
    t.set("sticky", &mut sticky, |v| {
        let read = self::sticky(v)?;
        needs_two(v, read.is_some());
        if read.is_some() && strategy == Strategy::Order {
            v.warn("has no effect with strategy = \"order\"");
        }
        Some(read)
    });
    if strategy != Strategy::Weighted && targets.iter().flatten().any(|target| target.weight != 1) {
        if let Some(v) = t.get("targets") {
            v.warn("weights have no effect without strategy = \"weighted\"");
        }
    }
    let mut recovery = Recovery::Off;
    t.set("recovery", &mut recovery, |v| {
        let read = v.word(&[("off", Recovery::Off), ("continue", Recovery::Continue)])?;
        needs_two(v, read == Recovery::Continue);
        Some(read)
    });
    let mut failover = Failover::AfterRetries;
    t.set("failover", &mut failover, |v| {
        let read = v.word(&[("after_retries", Failover::AfterRetries), ("at_once", Failover::AtOnce)])?;
        needs_two(v, read == Failover::AtOnce);
        Some(read)
    });
    let mut when_exhausted = WhenExhausted::Fail;
    t.set("when_exhausted", &mut when_exhausted, |v| {
        v.word(&[("fail", WhenExhausted::Fail), ("wait", WhenExhausted::Wait)])
    });
    let mut max_wait = Duration::from_secs(60);
    t.set("max_wait", &mut max_wait, Value::duration_set);
    let mut hedge = None;
    t.set("hedge", &mut hedge, |v| {
        let read = self::hedge(v)?;
        needs_two(v, read.is_some());
        Some(read)
    });
    let mut cache = None;
    t.set("cache", &mut cache, self::cache);
    let mut translation = Translation::Strict;
    t.set("translation", &mut translation, |v| {
        v.word(&[("strict", Translation::Strict), ("lenient", Translation::Lenient)])
    });
    if recovery == Recovery::Continue {
        pieced_together(&mut t, targets.as_deref().unwrap_or_default());
    }
    let line = t.line();
    t.finish(|key| match key {
        "model" => Some("models = [\"NAME\"]".to_owned()),
        "target" | "provider" => Some("targets = [\"PROVIDER\"]".to_owned()),
        _ => None,
    });
    Some(Route {
        models: models?,
        targets: targets?,
        strategy,
        recovery,
        failover,
        sticky,
        when_exhausted,
        max_wait,
        hedge,
        cache,
        translation,
        line,
    })
}

/// Answers of some forms must not be pieced together, and recovery sees the caller's request alone.
fn pieced_together(t: &mut Table<'_>, targets: &[Target]) {
    const FORMS: [&str; 5] = ["n", "response_format", "audio", "output_config", "output_format"];
    let fields = targets.iter().flat_map(|target| {
        let of = &target.parameters;
        of.set().keys().chain(of.defaults().keys())
    });
    let form = fields.into_iter().find(|field| FORMS.contains(&field.as_str()));
    if let (Some(form), Some(v)) = (form, t.get("recovery")) {
        v.refuse::<()>(
            format!("\"continue\" with a target whose parameters have {form}"),
            "\"off\", or no such parameter: an answer of that form cannot be pieced together",
        );
    }
}

/// `"user"`, `"header:NAME"`, or `"off"`.
fn sticky(v: &Value<'_>) -> Option<Option<Sticky>> {
    const EXPECTED: &str = "\"off\", \"user\" or \"header:NAME\"";
    match v.text(EXPECTED)? {
        "off" => Some(None),
        "user" => Some(Some(Sticky::User)),
        text => match text.strip_prefix("header:").and_then(|name| name.trim().parse().ok()) {
            Some(name) => Some(Some(Sticky::Header(name))),
            None => v.wrong(EXPECTED),
        },
    }
}

fn hedge(v: &Value<'_>) -> Option<Option<Hedge>> {
    let mut t = v.table()?;
    let mut after = None;
    // The inner `None` is "p95", no `after` at all is off.
    t.set("after", &mut after, |v| match v.raw_text() {
        Some("p95") => Some(Some(None)),
        _ => Some(v.duration_or_off()?.map(Some)),
    });
    let mut max = 1;
    t.set("max", &mut max, |v| v.count(1..=8, "how many more than one may run for a call"));
    t.finish(|_| None);
    Some(after.map(|after| Hedge { after, max }))
}

fn cache(v: &Value<'_>) -> Option<Option<Cache>> {
    let mut t = v.table()?;
    let mut max = None;
    t.set("max", &mut max, Value::size_or_off);
    let mut max_entry = Cache::MAX_ENTRY;
    t.set("max_entry", &mut max_entry, |v| {
        let read = v.size_set()?;
        if max.is_some_and(|max| read > max) {
            v.warn("is more than max, and no answer is kept that is larger than all may be together");
        }
        Some(read)
    });
    let mut ttl = Duration::from_secs(3600);
    t.set("ttl", &mut ttl, Value::duration_set);
    let mut serve = Serve::OnFailure;
    t.set("serve", &mut serve, |v| v.word(&[("on_failure", Serve::OnFailure), ("always", Serve::Always)]));
    t.finish(|_| None);
    Some(max.map(|max| Cache { max, max_entry, ttl, serve }))
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
    let mut shadowed = 0;
    for item in &items {
        let Some(name) = item.text(EXPECTED) else { continue };
        if let Some(why) = wrong_model(name) {
            item.wrong::<()>(format!("a model's name or pattern{why}"));
            continue;
        }
        if name.contains('?') {
            item.warn(format_args!("in {} the ? stands for itself: * is the only wildcard", shown(name)));
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
                shadowed += 1;
            }
            Some(first) => {
                item.refuse::<()>(
                    format!("{}, which the route in line {first} has too", shown(name)),
                    "each exact name in one route only",
                );
            }
        }
    }
    if shadowed > 0 && shadowed == names.len() {
        value.warn("no request can reach this route and its targets: others have all its patterns");
    }
    Some(names)
}
