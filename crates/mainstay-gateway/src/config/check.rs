//! What only the whole file can tell: settings that contradict each other, and parts that nothing uses.

use mainstay::provider::Native;
use std::net::IpAddr;
use std::time::Duration;

use super::doc::Doc;
use super::settings::{Protocol, Provider, Route, Server};
use super::units::show_duration;

pub(super) fn whole(doc: &Doc<'_>, server: &Server, providers: &[Provider], routes: &[Route]) {
    for provider in providers {
        calls_itself(doc, server, provider);
        address(doc, provider);
        tries(doc, provider);
        clocks(doc, provider);
        circuit(doc, provider);
        let name = provider.name.as_str();
        let used = routes.iter().flat_map(|route| &route.targets).any(|target| target.provider == name);
        if !used {
            let how = format!("no route leads here: it is reached as \"{name}/MODEL\" only");
            doc.warn(&["providers", name], how);
        }
    }
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
        let first = if kind.profile().native == Native::Ollama { "/v1/api" } else { "/v1/v1" };
        doc.warn(&path, format!("for {kind} it is the host alone: with this one, paths begin with {first}"));
    }
    if provider.protocol == Protocol::Http1 && provider.h2_connections != 4 {
        let path = ["providers", provider.name.as_str(), "h2_connections"];
        doc.warn(&path, "has no effect with protocol = \"http1\"");
    }
}

fn tries(doc: &Doc<'_>, provider: &Provider) {
    let (name, retry) = (provider.name.as_str(), &provider.retry);
    if retry.base_delay > retry.max_delay {
        let (base, max) = (show_duration(retry.base_delay), show_duration(retry.max_delay));
        tell(doc, name, "retry", "base_delay", format!("{base} is more than max_delay ({max}), which wins"));
    }
    if retry.attempts > 1 && retry.budget.ratio <= 0.0 && retry.budget.floor <= 0.0 {
        tell(doc, name, "retry", "budget", "an empty budget: nothing is ever tried again".to_owned());
    }
    if let Some(within) = retry.within {
        if retry.attempts > 1 && within <= retry.base_delay {
            let (within, base) = (show_duration(within), show_duration(retry.base_delay));
            let why = format!("{within} ends before the first wait (base_delay, {base}) has: no second try");
            tell(doc, name, "retry", "within", why);
        }
    }
}

fn clocks(doc: &Doc<'_>, provider: &Provider) {
    let (name, timeout) = (provider.name.as_str(), &provider.timeout);
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
        tell(doc, name, "timeout", "idle", why);
    }
    // Against the built-in attempt, a short `within` is simply the shorter bound, and meant.
    let written =
        doc.has(&["providers", name, "timeout", "attempt"]) || doc.has(&["defaults", "timeout", "attempt"]);
    match shorter(provider.retry.within, timeout.attempt) {
        Some((within, attempt)) if written => {
            let why = format!("{within} is shorter than timeout.attempt ({attempt}), which can't be used up");
            tell(doc, name, "retry", "within", why);
        }
        _ => {}
    }
}

fn circuit(doc: &Doc<'_>, provider: &Provider) {
    let (name, breaker) = (provider.name.as_str(), &provider.breaker);
    if breaker.growth > 1.0 && breaker.max_open_for < breaker.open_for {
        let (max, open_for) = (show_duration(breaker.max_open_for), show_duration(breaker.open_for));
        let (at, key) = written(doc, name, "breaker", "max_open_for");
        let expected = format!("at least open_for ({open_for}), since growth is set");
        doc.problem(at, &key, format!("the duration {max}"), expected);
    }
}

fn tell(doc: &Doc<'_>, name: &str, table: &str, key: &str, message: String) {
    let (at, key) = written(doc, name, table, key);
    doc.warn_at(at, key, message);
}

/// Where a setting of a provider stands: at its own key if that is written, else at the one in the defaults, else at
/// the nearest of its own that is.
fn written(doc: &Doc<'_>, name: &str, table: &str, key: &str) -> (usize, String) {
    let own = ["providers", name, table, key];
    let shared = ["defaults", table, key];
    let path = if !doc.has(&own) && doc.has(&shared) { &shared[..] } else { &own[..] };
    (doc.locate(path), doc.path(path))
}
