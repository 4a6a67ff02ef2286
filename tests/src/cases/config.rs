//! The gateway's configuration file.

use super::Case;
use serde_json::{Value, json};
use std::{collections::BTreeMap, io};

/// The file's text: `${name}` is a provider's port.
pub(super) fn config(case: &Case, port: u16, ports: &BTreeMap<&str, u16>) -> io::Result<String> {
    if let Some(text) = &case.config_text {
        return Ok(fill(text, ports));
    }
    let mut config = match &case.config {
        Value::Null => json!({}),
        given => given.clone(),
    };
    fill_all(&mut config, ports);
    let server = config.as_object_mut().map(|all| all.entry("server").or_insert_with(|| json!({})));
    let server =
        server.and_then(Value::as_object_mut).ok_or_else(|| io::Error::other("config is no object"))?;
    server.insert("listen".into(), format!("127.0.0.1:{port}").into());
    toml::to_string(&config).map_err(io::Error::other)
}

fn fill(text: &str, ports: &BTreeMap<&str, u16>) -> String {
    ports
        .iter()
        .fold(text.to_owned(), |text, (name, port)| text.replace(&format!("${{{name}}}"), &port.to_string()))
}

fn fill_all(value: &mut Value, ports: &BTreeMap<&str, u16>) {
    match value {
        Value::String(text) => *text = fill(text, ports),
        Value::Array(items) => items.iter_mut().for_each(|item| fill_all(item, ports)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill_all(field, ports)),
        _ => {}
    }
}
