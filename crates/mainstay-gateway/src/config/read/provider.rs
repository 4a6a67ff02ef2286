//! `[providers.NAME]`

use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::super::doc::{Table, Value, any_of, offer, shown};
use super::super::secret::Proxy;
use super::super::settings::{BaseUrl, Protocol, Provider, Tables};
use super::aws::Keys;
use super::capabilities::capabilities;
use super::credentials::{api_key, ca_file};
use super::tables::{Of, four, home};
use super::url::{base_url, proxy};
use mainstay::provider::Kind;

/// All providers in the order of the file, with the names of those that were refused, so that a route to one of
/// them is not refused as well.
pub(in super::super) fn providers(
    t: &Table<'_>,
    defaults: &Tables,
    expected: &str,
) -> (Vec<Provider>, Vec<String>) {
    let (mut good, mut names) = (Vec::new(), Vec::new());
    if t.is_empty() {
        t.problem("no provider", expected);
    }
    for (name, value) in t.entries() {
        names.push(name.to_owned());
        let Some(table) = value.table() else { continue };
        if let Some(wrong) = wrong_name(name) {
            table.problem(wrong, "a name of letters, digits, `.`, `_` and `-`, at most 64 of them");
        }
        good.extend(provider(name, table, defaults.clone()));
    }
    (good, names)
}

/// A slash parts provider and model; the rest keeps names fit for headers and metric labels.
fn wrong_name(name: &str) -> Option<String> {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (name.is_empty() || name.len() > 64 || !name.bytes().all(good))
        .then(|| format!("the name {}", shown(name)))
}

fn provider(name: &str, mut t: Table<'_>, mut tables: Tables) -> Option<Provider> {
    let kind = kind(&mut t);
    let keys = Keys::take(&mut t);
    let base = base(&mut t, kind, &keys);
    let api_key = api_key(&mut t);
    let has_key = api_key.as_ref().is_none_or(Option::is_some);
    let aws = keys.read(kind, has_key, base.as_ref().and_then(|base| base.uri().host()));
    let headers = t.get("headers").and_then(|v| headers(&v)).unwrap_or_default();
    let models = t.get("models").and_then(|v| models(&v)).unwrap_or_default();
    let mut default_max_tokens = 8192;
    let tokens = "tokens of an answer";
    t.set("default_max_tokens", &mut default_max_tokens, |v| v.count(1..=10_000_000, tokens));
    let ca_file = t.get("ca_file").and_then(|v| ca_file(&v));
    let mut native_roots = false;
    t.set("native_roots", &mut native_roots, Value::bool);
    let mut protocol = Protocol::Auto;
    let protocols = [("auto", Protocol::Auto), ("http1", Protocol::Http1), ("h2", Protocol::H2)];
    t.set("protocol", &mut protocol, |v| v.word(&protocols));
    let mut h2_connections = 4;
    t.set("h2_connections", &mut h2_connections, |v| v.count(1..=256, "HTTP/2 connections"));
    let mut way_out = Proxy::Env;
    t.set("proxy", &mut way_out, proxy);
    let capabilities = capabilities(&mut t);
    four(&mut t, &mut tables, Of::Provider);
    t.finish(|key| match key {
        "api_key" | "key" | "apikey" | "token" => Some(
            "api_key_env = \"NAME_OF_A_VARIABLE\" or api_key_file: keys don't go into this file".to_owned(),
        ),
        key => home(key),
    });
    Some(Provider {
        name: name.to_owned(),
        kind: kind?,
        base_url: base?,
        api_key: api_key?,
        aws: aws?,
        headers,
        models,
        default_max_tokens,
        ca_file,
        native_roots,
        protocol,
        h2_connections,
        proxy: way_out,
        capabilities,
        retry: tables.retry,
        timeout: tables.timeout,
        breaker: tables.breaker,
        limits: tables.limits,
    })
}

fn kind(t: &mut Table<'_>) -> Option<Kind> {
    let names = Kind::ALL.iter().map(|kind| kind.as_str());
    let Some(value) = t.get("kind") else {
        t.missing("kind", any_of(names));
        return None;
    };
    let written = value.text(&any_of(names.clone()))?;
    written.parse().ok().or_else(|| {
        let all = offer(written, names);
        value.wrong(format!("{all}. A server that speaks OpenAI's API is \"openai\""))
    })
}

fn base(t: &mut Table<'_>, kind: Option<Kind>, keys: &Keys<'_>) -> Option<BaseUrl> {
    if let Some(value) = t.get("base_url") {
        return base_url(&value, kind);
    }
    if let Some(url) = keys.base_url(kind) {
        return super::url::parse_base(&url).ok();
    }
    // Without a kind there has been a refusal already.
    match kind?.profile().base_url {
        Some(url) => super::url::parse_base(url).ok(),
        None => {
            t.missing("base_url", format!("the address of the {} server", kind?));
            None
        }
    }
}

/// Names that are the protocol's own business or that one request has and another has not.
const OURS: [&str; 9] = [
    "host",
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
    "te",
    "trailer",
    "upgrade",
    "accept-encoding",
];

fn headers(v: &Value<'_>) -> Option<HeaderMap> {
    if !v.is_table() {
        return v.wrong_unseen("a table, such as { \"x-team\" = \"search\" }");
    }
    let table = v.table()?;
    let mut map = HeaderMap::new();
    for (name, value) in table.entries() {
        header(&mut map, name, &value);
    }
    Some(map)
}

fn header(map: &mut HeaderMap, name: &str, value: &Value<'_>) -> Option<()> {
    let Ok(header) = HeaderName::from_bytes(name.as_bytes()) else {
        return value.refuse(format!("the name {}", shown(name)), "a header's name, such as \"x-team\"");
    };
    if OURS.contains(&header.as_str()) {
        return value
            .refuse(format!("the header {header}"), "another name: the gateway sets this one itself");
    }
    if map.contains_key(&header) {
        return value.refuse(format!("{header} a second time (case does not count)"), "each header once");
    }
    // Headers may carry keys, so no refusal shows a value.
    let expected = "text without control characters";
    let Some(text) = value.raw_text() else { return value.wrong_unseen(expected) };
    let Ok(mut held) = HeaderValue::from_str(text) else {
        return value.refuse("text that no header can hold", expected);
    };
    held.set_sensitive(true);
    map.insert(header, held);
    Some(())
}

fn models(v: &Value<'_>) -> Option<Vec<String>> {
    const EXPECTED: &str = "a list of model names, such as [\"gpt-5\", \"gpt-5-mini\"]";
    let mut names: Vec<String> = Vec::new();
    for item in v.items(EXPECTED)? {
        let Some(name) = item.text(EXPECTED) else { continue };
        if let Some(why) = wrong_model(name) {
            item.wrong::<()>(format!("a model's name{why}"));
        } else if name.contains('*') {
            item.wrong::<()>("an exact name: patterns belong in a route's models");
        } else if names.iter().any(|known| known == name) {
            item.warn(format_args!("{} is listed twice", shown(name)));
        } else {
            names.push(name.to_owned());
        }
    }
    Some(names)
}

/// What is wrong with a model's name. It has to fit into a reply's header and be what a caller can write.
pub(super) fn wrong_model(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some(" that is not empty")
    } else if name.len() > 256 {
        Some(" of at most 256 bytes")
    } else if name.chars().any(|c| c.is_control() || c.is_whitespace()) {
        Some(" without white space")
    } else {
        None
    }
}
