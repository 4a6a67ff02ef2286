//! What only the whole file can tell: settings that contradict each other, and parts that nothing uses.

use mainstay::provider::Native;
use mainstay::route::{Pattern, Table};
use std::net::IpAddr;
use std::time::Duration;

use super::doc::{Doc, Value};
use super::settings::{Adaptive, Breaker, Limits, Protocol, Provider, Retry, Route, Server, Tables};
use super::units::show_duration;

pub(super) fn whole(doc: &Doc<'_>, server: &Server, providers: &[Provider], routes: &[Route]) {
    for provider in providers {
        calls_itself(doc, server, provider);
        address(doc, provider);
        tables(doc, provider);
        let name = provider.name.as_str();
        let used = routes.iter().flat_map(|route| &route.targets).any(|target| target.provider == name);
        if !used {
            let how = match swallowed(routes, name) {
                None => format!("no route leads here: it is reached as \"{name}/MODEL\" only"),
                Some(pattern) => format!(
                    "no request can reach it: no route leads here, and {pattern:?} takes every \"{name}/MODEL\""
                ),
            };
            doc.warn(&["providers", name], how);
        }
    }
}

/// The pattern that takes calls which name a provider themselves, if there is one.
fn swallowed<'r>(routes: &'r [Route], provider: &str) -> Option<&'r str> {
    let mut table = Table::default();
    for entry in routes.iter().flat_map(|route| &route.models) {
        table.insert(Pattern::new(entry.as_str()), entry.as_str());
    }
    // Whatever takes a model that nobody has takes all that nobody has listed.
    table.get(&format!("{provider}/\u{1}")).copied()
}

/// A gateway that is its own provider would multiply each call without end.
fn calls_itself(doc: &Doc<'_>, server: &Server, provider: &Provider) {
    let uri = provider.base_url.uri();
    let tls = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
    let host = uri.host().unwrap_or_default();
    let ip: Option<IpAddr> = host.trim_start_matches('[').trim_end_matches(']').parse().ok();
    let here = ip.is_some_and(|ip| {
        ip == server.listen.ip() || (server.listen.ip().is_unspecified() && ip.is_loopback())
    });
    let local =
        host == "localhost" && (server.listen.ip().is_loopback() || server.listen.ip().is_unspecified());
    if port == server.listen.port() && (here || local) {
        let path = ["providers", provider.name.as_str(), "base_url"];
        doc.problem(
            doc.locate(&path),
            &doc.path(&path),
            format!("{}, which is where the gateway itself listens", provider.base_url.as_str()),
            "the address of another server",
        );
    }
}

fn address(doc: &Doc<'_>, provider: &Provider) {
    let path = ["providers", provider.name.as_str(), "base_url"];
    let uri = provider.base_url.uri();
    let host = uri.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let near = bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if uri.scheme_str() == Some("http")
        && !near
        && (provider.api_key.is_some() || provider.aws.is_some() || !provider.headers.is_empty())
    {
        doc.warn(&path, "the key travels in clear text: https is not used");
    }
    let ends_in_version = provider.base_url.as_str().ends_with("/v1");
    if provider.kind.profile().native != Native::OpenAi && ends_in_version {
        let kind = provider.kind;
        doc.warn(&path, format!("for {kind} it is the host alone: the /v1 at its end is left out"));
    }
    let usual = provider.kind.profile().base_url.and_then(|usual| usual.parse::<http::Uri>().ok());
    let usual_has_path = usual.is_none_or(|usual| usual.path() != "/");
    if provider.kind.profile().native == Native::OpenAi && usual_has_path && uri.path() == "/" {
        let url = provider.base_url.as_str();
        doc.warn(&path, format!("calls go to {url}/chat/completions: most servers have that below /v1"));
    }
    if provider.protocol == Protocol::Http1 && provider.h2_connections != 4 {
        let path = ["providers", provider.name.as_str(), "h2_connections"];
        doc.warn(&path, "has no effect with protocol = \"http1\"");
    }
}

/// Something about the four tables that is hardly meant, or cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    table: &'static str,
    key: &'static str,
    said: Said,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    Warning(String),
    Problem { found: String, expected: String },
}

impl Finding {
    fn warning(table: &'static str, key: &'static str, message: String) -> Self {
        Self { table, key, said: Said::Warning(message) }
    }
}

/// What contradicts itself in the tables of a target and not in those of its provider, where it has been told.
pub(super) fn target(item: &Value<'_>, tables: &Tables, providers: &Tables) {
    let known = contradictions(providers, true);
    for Finding { table, key, said } in contradictions(tables, true) {
        if known.iter().any(|known| (known.table, known.key, &known.said) == (table, key, &said)) {
            continue;
        }
        match said {
            Said::Warning(message) => item.warn_below(&[table, key], message),
            Said::Problem { found, expected } => item.problem_below(&[table, key], found, expected),
        }
    }
    // Its own places are within its provider's.
    let (own, all) = (tables.limits.places(), providers.limits.places());
    match (own, all) {
        (None, Some(all)) => {
            let why = format!("has no effect: the limit of its provider ({all}) holds for all its targets");
            item.warn_below(&["limits", "concurrency"], why);
        }
        (Some(own), Some(all)) if own > all => {
            let why =
                format!("{own} is more than its provider's limit ({all}), which holds for all its targets");
            item.warn_below(&["limits", "concurrency"], why);
        }
        _ => {}
    }
    let line = [
        ("queue_wait", tables.limits.queue_wait != providers.limits.queue_wait),
        ("max_waiting", tables.limits.max_waiting != providers.limits.max_waiting),
    ];
    for (key, _) in line.into_iter().filter(|&(_, own)| own && !tables.limits.within(&providers.limits)) {
        item.warn_below(&["limits", key], "has no effect: the target has no limit of its own to wait for");
    }
}

fn tables(doc: &Doc<'_>, provider: &Provider) {
    let name = provider.name.as_str();
    // Against the built-in attempt, a short `within` is simply the shorter bound, and meant.
    let attempt =
        doc.has(&["providers", name, "timeout", "attempt"]) || doc.has(&["defaults", "timeout", "attempt"]);
    for Finding { table, key, said } in contradictions(&provider.tables(), attempt) {
        let (at, path) = written(doc, name, table, key);
        match said {
            Said::Warning(message) => doc.warn_at(at, path, message),
            Said::Problem { found, expected } => doc.problem(at, &path, found, expected),
        }
    }
}

/// `attempt`: whether `timeout.attempt` is somebody's choice.
fn contradictions(tables: &Tables, attempt: bool) -> Vec<Finding> {
    let mut all = tries(&tables.retry);
    all.extend(clocks(tables, attempt));
    all.extend(circuit(&tables.breaker));
    all.extend(places(&tables.limits));
    all
}

fn tries(retry: &Retry) -> Vec<Finding> {
    let mut all = Vec::new();
    let mut tell = |key, message| all.push(Finding::warning("retry", key, message));
    if retry.base_delay > retry.max_delay {
        let (base, max) = (show_duration(retry.base_delay), show_duration(retry.max_delay));
        tell("base_delay", format!("{base} is more than max_delay ({max}), which wins"));
    }
    if retry.attempts > 1 && retry.budget.ratio <= 0.0 && retry.budget.floor <= 0.0 {
        tell("budget", "an empty budget: nothing is ever tried again".to_owned());
    }
    if let Some(within) = retry.within {
        if retry.attempts > 1 && within <= retry.base_delay {
            let (within, base) = (show_duration(within), show_duration(retry.base_delay));
            let why = format!("{within} ends before the first wait (base_delay, {base}) has: no second try");
            tell("within", why);
        }
    }
    all
}

fn clocks(tables: &Tables, attempt_is_meant: bool) -> Vec<Finding> {
    let timeout = &tables.timeout;
    let mut all = Vec::new();
    let shorter = |a: Option<Duration>, b: Option<Duration>| match (a, b) {
        (Some(a), Some(b)) if a < b => Some((show_duration(a), show_duration(b))),
        _ => None,
    };
    // Keep-alives feed idle and not first_event, so that a longer first_event still has a use; it is told apart
    // because people set it for models that think in silence, which idle then cuts off.
    if let Some((idle, first)) = shorter(timeout.idle, timeout.first_event) {
        let why = format!(
            "{idle} is shorter than first_event ({first}): a provider that is wholly silent is given up after {idle}"
        );
        all.push(Finding::warning("timeout", "idle", why));
    }
    if let Some((within, attempt)) =
        shorter(tables.retry.within, timeout.attempt).filter(|_| attempt_is_meant)
    {
        let why = format!("{within} is shorter than timeout.attempt ({attempt}), which can't be used up");
        all.push(Finding::warning("retry", "within", why));
    }
    all
}

fn circuit(breaker: &Breaker) -> Vec<Finding> {
    if breaker.growth <= 1.0 || breaker.max_open_for >= breaker.open_for {
        return Vec::new();
    }
    let (max, open_for) = (show_duration(breaker.max_open_for), show_duration(breaker.open_for));
    let said = Said::Problem {
        found: format!("the duration {max}"),
        expected: format!("at least open_for ({open_for}), since growth is set"),
    };
    vec![Finding { table: "breaker", key: "max_open_for", said }]
}

fn places(limits: &Limits) -> Vec<Finding> {
    let Adaptive { floor, ceiling, .. } = limits.adaptive;
    let (Some(ceiling), Some(start)) = (ceiling, limits.concurrency) else { return Vec::new() };
    if (floor..=ceiling).contains(&start) {
        return Vec::new();
    }
    let said = Said::Problem {
        found: format!("the number {start}"),
        expected: format!("from {floor} to {ceiling}: where the adaptive limit starts"),
    };
    vec![Finding { table: "limits", key: "concurrency", said }]
}

/// Where a setting of a provider stands: at its own key if that is written, else at the one in the defaults, else at
/// the nearest of its own that is.
fn written(doc: &Doc<'_>, name: &str, table: &str, key: &str) -> (usize, String) {
    let own = ["providers", name, table, key];
    let shared = ["defaults", table, key];
    let path = if !doc.has(&own) && doc.has(&shared) { &shared[..] } else { &own[..] };
    (doc.locate(path), doc.path(path))
}
