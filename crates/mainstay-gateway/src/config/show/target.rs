//! A target as it stands in a route's list.

use mainstay::route::Capabilities;
use serde_json::{Map, Value};

use super::super::capabilities::capabilities;
use super::super::settings::{Provider, Target};
use super::{name, quoted, tables};

/// Text where the name says everything, else an inline table: of the tables that differ from the provider's, all keys that a
/// target may have.
pub(super) fn shown(target: &Target, provider: Option<&Provider>) -> String {
    let mut fields = vec![format!("target = {}", quoted(target.to_string()))];
    if target.weight != 1 {
        fields.push(format!("weight = {}", target.weight));
    }
    if target.capabilities != Capabilities::new() {
        fields.push(format!("capabilities = {}", capabilities(&target.capabilities)));
    }
    if let (Some(own), Some(provider)) = (&target.tables, provider) {
        let theirs = tables::rows(&provider.tables());
        for ((table, rows), (_, usual)) in tables::rows(own).into_iter().zip(theirs) {
            if rows != usual {
                let rows = rows.into_iter().filter(|(key, _)| !matches!(*key, "connect" | "budget"));
                let rows: Vec<String> = rows.map(|(key, value)| format!("{key} = {value}")).collect();
                fields.push(format!("{table} = {{ {} }}", rows.join(", ")));
            }
        }
    }
    let parameters = &target.parameters;
    for (key, map) in [("parameters", parameters.set()), ("default_parameters", parameters.defaults())] {
        if !map.is_empty() {
            fields.push(format!("{key} = {}", object(map)));
        }
    }
    match fields.as_slice() {
        [_] => quoted(target.to_string()),
        _ => format!("{{ {} }}", fields.join(", ")),
    }
}

fn object(map: &Map<String, Value>) -> String {
    let fields: Vec<String> =
        map.iter().map(|(key, value)| format!("{} = {}", name(key), toml(value))).collect();
    if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
}

/// Numbers and truth are written alike in both; what TOML has no word for, no file has given us.
fn toml(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text.as_str()),
        Value::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => object(map),
        other => other.to_string(),
    }
}
