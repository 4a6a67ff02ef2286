//! The targets of a route.
//!
//! A target is `"provider"`, `"provider/model"`, or a table with settings of its own. What it has of `retry`, `timeout`,
//! `breaker` and `limits` is the target's wherever it is listed: two places that would make two things of one circuit are
//! refused. `parameters` are the route's: they have no state, and the same target may be asked differently by two routes.

use std::collections::HashMap;

use super::super::check;
use super::super::doc::{Table, Value, offer, shown};
use super::super::settings::{Provider, Tables, Target};
use super::capabilities::capabilities;
use super::parameters::parameters;
use super::provider::wrong_model;
use super::tables::{Of, four, home};

/// What is known of targets while routes are read.
pub(in super::super) struct Targets<'p> {
    /// The names that are written, those of refused providers too.
    names: &'p [String],
    providers: &'p [Provider],
    /// Target → where it was listed first, and with which tables.
    listed: HashMap<String, Listed>,
}

struct Listed {
    line: usize,
    path: String,
    tables: Tables,
}

impl<'p> Targets<'p> {
    pub(in super::super) fn new(names: &'p [String], providers: &'p [Provider]) -> Self {
        Self { names, providers, listed: HashMap::new() }
    }

    /// The key `targets` of a route.
    pub(super) fn read(&mut self, t: &mut Table<'_>) -> Option<Vec<Target>> {
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
            let read = if item.is_table() { self.table(item) } else { self.name(item) };
            let Some(read) = read else { continue };
            if targets.iter().any(|known| known.provider == read.provider && known.model == read.model) {
                item.warn("this target is listed twice: a call may try it twice as often");
            }
            self.agree(item, &read);
            targets.push(read);
        }
        Some(targets)
    }

    fn table(&self, item: &Value<'_>) -> Option<Target> {
        let mut t = item.table()?;
        let mut weight = 1;
        t.set("weight", &mut weight, |v| v.count(1..=1_000_000, "the target's share"));
        let read = match t.get("target") {
            Some(value) => self.name(&value),
            None => {
                t.missing("target", "\"provider\" or \"provider/model\"");
                None
            }
        };
        let provider = read.as_ref().and_then(|target| self.provider(&target.provider));
        let base = provider.map(Provider::tables).unwrap_or_default();
        let mut tables = base.clone();
        let capabilities = capabilities(&mut t);
        four(&mut t, &mut tables, Of::Target);
        let parameters = parameters(&mut t, provider.map(|provider| provider.kind));
        t.finish(|key| match key {
            "temperature" | "top_p" | "max_tokens" | "seed" | "reasoning_effort" => {
                Some(format!("{key} in the table `parameters` or `default_parameters`"))
            }
            "model" | "provider" => Some("target = \"PROVIDER/MODEL\"".to_owned()),
            key => home(key),
        });
        let tables = (tables != base).then(|| Box::new(tables));
        if let Some(tables) = &tables {
            check::target(item, tables, &base);
        }
        Some(Target { weight, capabilities, tables, parameters, ..read? })
    }

    fn name(&self, v: &Value<'_>) -> Option<Target> {
        let text = v.text("\"provider\" or \"provider/model\"")?;
        // Exactly the first part is the provider: models have slashes of their own.
        let (provider, model) = match text.split_once('/') {
            Some((provider, model)) => (provider, Some(model)),
            None => (text, None),
        };
        if !self.names.iter().any(|known| known == provider) {
            let known = offer(provider, self.names.iter().map(String::as_str));
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
        Some(Target::plain(provider, model.map(str::to_owned)))
    }

    fn provider(&self, name: &str) -> Option<&'p Provider> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// One target has one circuit, so it has the same tables wherever it is listed.
    fn agree(&mut self, item: &Value<'_>, target: &Target) {
        // Of a provider that was refused nothing is known.
        let Some(provider) = self.provider(&target.provider) else { return };
        let tables = target.tables.as_deref().cloned().unwrap_or_else(|| provider.tables());
        let name = target.to_string();
        match self.listed.get(&name) {
            None => {
                let listed = Listed { line: item.line(), path: item.path().to_owned(), tables };
                self.listed.insert(name, listed);
            }
            Some(first) if first.tables != tables => {
                let (line, path) = (first.line, &first.path);
                item.refuse::<()>(
                    format!("{}, with other settings than in line {line} ({path})", shown(&name)),
                    format!(
                        "the same retry, timeout, breaker and limits in both places, since a target has one circuit; or \
                         for one of them another table [providers.NAME] like that of {}",
                        shown(&provider.name)
                    ),
                );
            }
            Some(_) => {}
        }
    }
}
