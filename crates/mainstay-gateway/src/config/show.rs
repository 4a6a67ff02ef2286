//! The effective settings as TOML, as `mainstay check` prints them. Values of keys and headers are not in it.

use std::fmt::{self, Display, Write};
use std::num::NonZero;
use std::time::Duration;

use super::Config;
use super::capabilities::capabilities;
use super::secret::{ApiKey, Proxy};
use super::settings::{
    AwsKeys, Cache, Failover, Hedge, Priced, Protocol, Provider, Recovery, Route, Serve, Server, Sticky,
    Strategy, Translation, WhenExhausted,
};
use super::units::{show_duration, show_size};

mod tables;
mod target;

impl Config {
    /// All settings with the defaults merged in. Keys stand as `"(set from OPENAI_API_KEY)"`.
    #[must_use]
    pub fn effective_toml(&self) -> String {
        let mut out = Out::default();
        server(&mut out, &self.server);
        for provider in &self.providers {
            self::provider(&mut out, provider);
        }
        for route in &self.routes {
            self::route(&mut out, route, &self.providers);
        }
        for priced in &self.prices {
            self::priced(&mut out, priced);
        }
        out.0
    }
}

impl Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.effective_toml())
    }
}

/// Settings of one provider alone.
pub(super) fn provider_toml(provider: &Provider) -> String {
    let mut out = Out::default();
    self::provider(&mut out, provider);
    out.0
}

/// Settings of one route alone; `providers` are those of its targets.
pub(super) fn route_toml(route: &Route, providers: &[Provider]) -> String {
    let mut out = Out::default();
    self::route(&mut out, route, providers);
    out.0
}

#[derive(Default)]
struct Out(String);

impl Out {
    fn line(&mut self, line: fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.0.write_fmt(line);
        self.0.push('\n');
    }

    fn head(&mut self, head: impl Display) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.line(format_args!("{head}"));
    }

    fn raw(&mut self, key: &str, value: impl Display) {
        self.line(format_args!("{key} = {value}"));
    }

    fn text(&mut self, key: &str, value: impl Into<String>) {
        self.raw(key, quoted(value));
    }

    fn duration(&mut self, key: &str, value: impl Into<Option<Duration>>) {
        self.text(key, show_duration(value.into().unwrap_or_default()));
    }

    fn size(&mut self, key: &str, value: impl Into<Option<u64>>) {
        self.text(key, show_size(value.into().unwrap_or_default()));
    }
}

fn quoted(text: impl Into<String>) -> String {
    toml::Value::String(text.into()).to_string()
}

/// A key of a table: bare where TOML allows it.
fn name(name: &str) -> String {
    let bare =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if bare { name.to_owned() } else { quoted(name) }
}

fn list<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.into_iter().map(quoted).collect();
    format!("[{}]", names.join(", "))
}

fn server(out: &mut Out, s: &Server) {
    out.head("[server]");
    out.text("listen", s.listen.to_string());
    out.raw("workers", s.workers.map_or(0, NonZero::get));
    out.size("max_request_body", s.max_request_body);
    out.duration("drain", s.drain);
    out.duration("deadline", s.deadline);
    out.duration("upload_idle", s.upload_idle);
    out.duration("write_idle", s.write_idle);
    out.duration("keepalive", s.keepalive);
    out.duration("header_timeout", s.header_timeout);
    out.raw("max_connections", s.max_connections);
    out.raw("max_headers", s.max_headers);
}

fn provider(out: &mut Out, p: &Provider) {
    let path = format!("providers.{}", name(&p.name));
    out.head(format_args!("[{path}]"));
    out.text("kind", p.kind.as_str());
    out.text("base_url", p.base_url.as_str());
    match &p.api_key {
        Some(key) => out.text("api_key", format!("(set from {})", key.source())),
        None if p.aws.is_some() => {}
        None => out.text("api_key", "(none: the caller's own is passed on)"),
    }
    if let Some(aws) = &p.aws {
        out.text("aws_region", aws.region.as_str());
        let from = |key: &ApiKey| format!("(set from {})", key.source());
        match &aws.keys {
            AwsKeys::Given { access_key_id, secret_access_key, session_token } => {
                out.text("aws_access_key_id", from(access_key_id));
                out.text("aws_secret_access_key", from(secret_access_key));
                if let Some(token) = session_token {
                    out.text("aws_session_token", from(token));
                }
            }
            AwsKeys::File(file) => {
                out.text("aws_credentials_file", file.path().display().to_string());
                out.text("aws_profile", file.profile());
            }
        }
    }
    let headers = p.headers.keys().map(|header| format!("{} = \"(set)\"", name(header.as_str())));
    let headers: Vec<String> = headers.collect();
    out.raw(
        "headers",
        if headers.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", headers.join(", ")) },
    );
    out.raw("models", list(p.models.iter().map(String::as_str)));
    out.raw("default_max_tokens", p.default_max_tokens);
    if let Some(file) = &p.ca_file {
        out.text("ca_file", file.display().to_string());
    }
    out.raw("native_roots", p.native_roots);
    out.text("protocol", protocol(p.protocol));
    out.raw("h2_connections", p.h2_connections);
    match &p.proxy {
        Proxy::Env => out.text("proxy", "env"),
        Proxy::Off => out.text("proxy", "off"),
        Proxy::Url(url) => out.text("proxy", url.to_string()),
    }
    out.raw("capabilities", capabilities(&p.capabilities));
    for (table, rows) in tables::rows(&p.tables()) {
        out.head(format_args!("[{path}.{table}]"));
        rows.into_iter().for_each(|(key, value)| out.raw(key, value));
    }
}

fn route(out: &mut Out, r: &Route, providers: &[Provider]) {
    out.head("[[routes]]");
    out.raw("models", list(r.models.iter().map(String::as_str)));
    let targets = r.targets.iter().map(|target| {
        let provider = providers.iter().find(|provider| provider.name == target.provider);
        target::shown(target, provider)
    });
    let targets: Vec<String> = targets.collect();
    if targets.iter().any(|target| target.starts_with('{')) {
        out.raw("targets", format_args!("[\n    {},\n]", targets.join(",\n    ")));
    } else {
        out.raw("targets", format_args!("[{}]", targets.join(", ")));
    }
    out.text(
        "strategy",
        match r.strategy {
            Strategy::Order => "order",
            Strategy::Weighted => "weighted",
            Strategy::Latency => "latency",
        },
    );
    out.text(
        "recovery",
        match r.recovery {
            Recovery::Off => "off",
            Recovery::Continue => "continue",
        },
    );
    out.text(
        "failover",
        match r.failover {
            Failover::AfterRetries => "after_retries",
            Failover::AtOnce => "at_once",
        },
    );
    out.text(
        "sticky",
        match &r.sticky {
            None => "off".to_owned(),
            Some(Sticky::User) => "user".to_owned(),
            Some(Sticky::Header(name)) => format!("header:{name}"),
        },
    );
    out.text(
        "when_exhausted",
        match r.when_exhausted {
            WhenExhausted::Fail => "fail",
            WhenExhausted::Wait => "wait",
        },
    );
    out.duration("max_wait", r.max_wait);
    let after = match r.hedge {
        None => "0s".to_owned(),
        Some(Hedge { after: None, .. }) => "p95".to_owned(),
        Some(Hedge { after: Some(after), .. }) => show_duration(after),
    };
    let max = r.hedge.map_or(1, |hedge| hedge.max);
    out.raw("hedge", format_args!("{{ after = {}, max = {max} }}", quoted(after)));
    let cache = r.cache.unwrap_or(Cache {
        max: 0,
        max_entry: Cache::MAX_ENTRY,
        ttl: Duration::from_secs(3600),
        serve: Serve::OnFailure,
    });
    let (max, entry) = (quoted(show_size(cache.max)), quoted(show_size(cache.max_entry)));
    let ttl = quoted(show_duration(cache.ttl));
    let serve = match cache.serve {
        Serve::OnFailure => "on_failure",
        Serve::Always => "always",
    };
    out.raw(
        "cache",
        format_args!("{{ max = {max}, max_entry = {entry}, ttl = {ttl}, serve = \"{serve}\" }}"),
    );
    out.text(
        "translation",
        match r.translation {
            Translation::Strict => "strict",
            Translation::Lenient => "lenient",
        },
    );
}

fn priced(out: &mut Out, p: &Priced) {
    let key = match &p.provider {
        Some(provider) => format!("{provider}/{}", p.model),
        None => p.model.clone(),
    };
    out.head(format_args!("[prices.{}]", name(&key)));
    out.raw("input", format_args!("{:?}", p.price.input));
    out.raw("output", format_args!("{:?}", p.price.output));
    out.raw("cached", format_args!("{:?}", p.price.cached));
}

const fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Auto => "auto",
        Protocol::Http1 => "http1",
        Protocol::H2 => "h2",
    }
}
