//! `[prices]`

use super::super::doc::{Table, Value, shown};
use super::super::settings::{Price, Priced};
use super::provider::wrong_model;

/// All prices in the order of the file. A name that begins with one of `providers` and a slash is a price there alone.
pub(in super::super) fn prices(t: &Table<'_>, providers: &[String]) -> Vec<Priced> {
    t.entries().into_iter().filter_map(|(name, value)| priced(name, &value, providers)).collect()
}

fn priced(name: &str, value: &Value<'_>, providers: &[String]) -> Option<Priced> {
    let (provider, model) = match name.split_once('/') {
        Some((provider, model)) if providers.iter().any(|known| known == provider) => (Some(provider), model),
        _ => (None, name),
    };
    let table = value.table()?;
    let wrong = wrong_model(model).map(|why| format!("a model's name{why}"));
    if let Some(wrong) = &wrong {
        table.problem(format!("the name {}", shown(name)), wrong);
    }
    let price = price(table)?;
    let provider = provider.map(str::to_owned);
    wrong.is_none().then(|| Priced { provider, model: model.to_owned(), price })
}

fn price(mut t: Table<'_>) -> Option<Price> {
    const EXPECTED: &str = "USD per million tokens";
    let read = |v: &Value<'_>| v.number(0.0..=1_000_000.0, EXPECTED);
    let mut needed = |key: &'static str| match t.get(key) {
        Some(value) => read(&value),
        None => {
            t.missing(key, format!("{EXPECTED}; 0 where there are none"));
            None
        }
    };
    let (input, output) = (needed("input"), needed("output"));
    let cached = t.get("cached").map(|value| read(&value));
    t.finish(|_| None);
    let input = input?;
    Some(Price { input, output: output?, cached: cached.unwrap_or(Some(input))? })
}
