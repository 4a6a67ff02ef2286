//! What the configuration says, after reading: plain values with their units in their types.
//!
//! `None` is "off" throughout (`"0s"`, `"0"` or `0` in the file). Where there is no `Option`, the setting bounds
//! something that must be bounded and cannot be switched off.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderMap, Uri};

use super::kind::Kind;
use super::secret::{ApiKey, Proxy};

const MIB: u64 = 1024 * 1024;

/// `[server]`: the gateway's own side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Where callers connect. Default `127.0.0.1:8080`; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Largest request, in bytes, after decompression. Default 32 MiB.
    pub max_request_body: u64,
    /// How long running calls may go on after SIGTERM. Default 30 s; zero ends them at once.
    pub drain: Duration,
    /// Over everything that one call does. Default off.
    pub deadline: Option<Duration>,
    /// Longest silence while a caller sends its request. Default 30 s.
    pub upload_idle: Duration,
    /// Between the comments that an SSE caller gets while it waits. Default off.
    pub keepalive: Option<Duration>,
    /// For a request's head to arrive. Default 30 s.
    pub header_timeout: Duration,
    /// Connections at one time; more wait to be accepted. Default 4096.
    pub max_connections: usize,
    /// Header fields in one request. Default 100.
    pub max_headers: usize,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            max_request_body: 32 * MIB,
            drain: Duration::from_secs(30),
            deadline: None,
            upload_idle: Duration::from_secs(30),
            keepalive: None,
            header_timeout: Duration::from_secs(30),
            max_connections: 4096,
            max_headers: 100,
        }
    }
}

/// `[providers.NAME]` with the defaults merged in.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The NAME: ASCII letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// Which API it speaks.
    pub kind: Kind,
    /// Where it lives. Without a trailing slash.
    pub base_url: BaseUrl,
    /// Its key; `None` passes the caller's own credentials on.
    pub api_key: Option<ApiKey>,
    /// Sent with every request. All are marked sensitive, so that `Debug` shows no value.
    pub headers: HeaderMap,
    /// What `GET /v1/models` lists for it.
    pub models: Vec<String>,
    /// `max_tokens` where the provider demands one and the caller named none. Default 8192.
    pub default_max_tokens: u32,
    /// A file of PEM certificates that are trusted besides the usual roots.
    pub ca_file: Option<PathBuf>,
    /// Trust the system's roots too. Default false: the compiled-in ones alone.
    pub native_roots: bool,
    /// Which HTTP is spoken. Default [`Protocol::Auto`].
    pub protocol: Protocol,
    /// HTTP/2 connections that the calls are spread over. Default 1.
    pub h2_connections: usize,
    /// The way out. Default [`Proxy::Env`].
    pub proxy: Proxy,
    /// Tries.
    pub retry: Retry,
    /// Clocks.
    pub timeout: Timeout,
    /// The circuit.
    pub breaker: Breaker,
    /// Bounds.
    pub limits: Limits,
}

/// `[providers.NAME.retry]`
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// All tries, the first included. Default 3.
    pub attempts: u32,
    /// Wait before the second try; doubles from there. Default 1 s.
    pub base_delay: Duration,
    /// Longest wait of our own choice. Default 30 s.
    pub max_delay: Duration,
    /// How waits are spread. Default [`Jitter::Full`].
    pub jitter: Jitter,
    /// Longest wait that a server may ask for; a longer one ends the tries. Default 60 s.
    pub max_wait: Duration,
    /// Over all tries and waits. Default 5 min.
    pub within: Option<Duration>,
    /// What retries may be drawn from.
    pub budget: Budget,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 3,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(30),
            jitter: Jitter::Full,
            max_wait: Duration::from_secs(60),
            within: Some(Duration::from_secs(300)),
            budget: Budget::default(),
        }
    }
}

/// `[providers.NAME.retry.budget]`
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Retries per call. Default 0.2.
    pub ratio: f64,
    /// Retries per second that are always there. Default 10 (`"10/s"`).
    pub floor: f64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { ratio: 0.2, floor: 10.0 }
    }
}

/// How a wait is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// Anything from nothing to the whole wait.
    Full,
    /// From half to the whole wait.
    Equal,
    /// Exactly the wait.
    None,
}

/// `[providers.NAME.timeout]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// For DNS, TCP, proxy and TLS together. Default 5 s.
    pub connect: Duration,
    /// From the request sent to the last byte of a reply that is no stream. Default 2 min.
    pub attempt: Option<Duration>,
    /// Longest silence of a stream, the wait for its head included. Default 30 s.
    pub idle: Option<Duration>,
    /// Until a stream has content; keep-alives do not count. Default off.
    pub first_event: Option<Duration>,
    /// After the first content, the longest time without more. Default off.
    pub progress: Option<Duration>,
    /// For the body of an error reply; then its status stands alone. Default 5 s.
    pub error_body: Duration,
}

impl Default for Timeout {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            attempt: Some(Duration::from_secs(120)),
            idle: Some(Duration::from_secs(30)),
            first_event: None,
            progress: None,
            error_body: Duration::from_secs(5),
        }
    }
}

/// `[providers.NAME.breaker]`
#[derive(Clone, Debug, PartialEq)]
pub struct Breaker {
    /// Whether there is a circuit at all. Default true.
    pub enabled: bool,
    /// Failures in a row that open it. Default 5.
    pub failures: u32,
    /// How long it stays open. Default 30 s.
    pub open_for: Duration,
    /// Calls that may pass while half-open. Default 5.
    pub probes: u32,
    /// Factor on `open_for` for each relapse. Default 1: it does not grow.
    pub growth: f64,
    /// Where growing ends. Default 5 min. Not less than `open_for` where `growth` is more than 1.
    pub max_open_for: Duration,
    /// Share of failures over `window` that opens it, more than 0 and at most 1. Default off.
    pub failure_rate: Option<f64>,
    /// Share of slow calls over `window` that opens it, more than 0 and at most 1. Default off.
    pub slow_rate: Option<f64>,
    /// Until the first content; what takes longer is slow. Default 30 s.
    pub slow_after: Duration,
    /// What the rates look back on. Default 60 s.
    pub window: Duration,
    /// Calls in `window` below which the rates say nothing. Default 10.
    pub min_calls: u32,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            enabled: true,
            failures: 5,
            open_for: Duration::from_secs(30),
            probes: 5,
            growth: 1.0,
            max_open_for: Duration::from_secs(300),
            failure_rate: None,
            slow_rate: None,
            slow_after: Duration::from_secs(30),
            window: Duration::from_secs(60),
            min_calls: 10,
        }
    }
}

/// `[providers.NAME.limits]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest reply that is no stream, in bytes after decompression. Default 16 MiB.
    pub response_body: u64,
    /// Largest event of a stream, in bytes. Default 8 MiB.
    pub sse_event: u64,
    /// Largest whole stream, in bytes. Default off.
    pub stream: Option<u64>,
    /// Calls in flight until their bodies end. Default off.
    pub concurrency: Option<usize>,
    /// Wait for a place; then 503 `overloaded`. Default 1 s; zero refuses at once.
    pub queue_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            response_body: 16 * MIB,
            sse_event: 8 * MIB,
            stream: None,
            concurrency: None,
            queue_wait: Duration::from_secs(1),
        }
    }
}

/// Which HTTP is spoken to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// What ALPN agrees on; HTTP/1.1 without TLS.
    Auto,
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, without TLS by prior knowledge.
    H2,
}

/// An address that requests are sent below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    pub(super) uri: Uri,
    pub(super) text: String,
}

impl BaseUrl {
    /// Parsed; scheme and host are there, no query, no user.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// As written, without a trailing slash.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// `[[routes]]`
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Exact names, or patterns with `*`. At least one.
    pub models: Vec<String>,
    /// Where such calls go, in order. At least one; every provider is there.
    pub targets: Vec<Target>,
    /// How a target is chosen. Default [`Strategy::Order`].
    pub strategy: Strategy,
    /// What becomes of a stream that was cut. Default [`Recovery::Off`].
    pub recovery: Recovery,
    /// When the next target is asked. Default [`Failover::AfterRetries`].
    pub failover: Failover,
    /// Where the route stands in the file.
    pub line: usize,
}

/// One target of a route.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The provider's name.
    pub provider: String,
    /// What the model is called there; `None`: what the caller called it.
    pub model: Option<String>,
    /// Its share under [`Strategy::Weighted`]. Default 1.
    pub weight: u32,
}

/// How a route chooses among its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// As written.
    Order,
    /// By weight.
    Weighted,
    /// By time to first event.
    Latency,
}

/// What becomes of a stream that was cut after content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// It ends with an error event.
    Off,
    /// The next target goes on.
    Continue,
}

/// When the next target is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failover {
    /// When the tries at this one are used up.
    AfterRetries,
    /// At the first failure.
    AtOnce,
}
