//! The form of what must be seen.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;

type ByName<T> = BTreeMap<String, T>;

/// Checks. On a request only those of a reply apply: up to `sse`. See `cases/README.md`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    /// Null: the connection was refused or ended before a head.
    #[serde(deserialize_with = "given")]
    pub status: Option<Value>,
    /// Name → value.
    pub headers: ByName<Value>,
    /// Path in the body → value.
    pub json: Option<ByName<Value>>,
    /// The body as text.
    #[serde(deserialize_with = "given")]
    pub body_equals: Option<Value>,
    /// Texts that it holds.
    pub body_contains: Vec<String>,
    /// Texts that it does not hold.
    pub body_lacks: Vec<String>,
    /// Text → how often it holds it.
    pub body_count: ByName<Value>,
    /// Whether the message ended as HTTP demands.
    #[serde(deserialize_with = "given")]
    pub complete: Option<Value>,
    /// Until the end.
    #[serde(deserialize_with = "given")]
    pub elapsed_ms: Option<Value>,
    /// Until the first byte of the body.
    #[serde(deserialize_with = "given")]
    pub first_ms: Option<Value>,
    /// The body as an event stream.
    pub sse: Option<Sse>,

    /// Of all replies, in order.
    #[serde(deserialize_with = "given")]
    pub statuses: Option<Value>,
    /// Provider → requests that arrived.
    pub calls: ByName<Value>,
    /// Provider → connections.
    pub connections: ByName<Value>,
    /// Provider → most requests at one moment.
    pub parallel: ByName<Value>,
    /// Provider → replies that the gateway gave up.
    pub closed_early: ByName<Value>,
    /// Provider → time between its last two requests.
    pub gap_ms: ByName<Value>,
    /// Provider → its last request.
    pub sent: ByName<Sent>,
    /// Provider → a header that is there and the same on all of its requests.
    pub same_header_on_retry: ByName<String>,
    /// Providers whose requests all have one body.
    pub same_body_on_retry: Vec<String>,
    /// Texts that the gateway printed.
    pub log_contains: Vec<String>,
    /// Texts that it did not print.
    pub log_lacks: Vec<String>,
    /// Regular expressions that `/metrics` has.
    pub metrics: Vec<String>,
    /// Regular expression → how often `/metrics` has it.
    pub metrics_count: ByName<Value>,
    /// The memory that the case cost the gateway; Linux only.
    #[serde(deserialize_with = "given")]
    pub peak_mib: Option<Value>,
    /// How the gateway ended after the signal.
    pub exit: Option<Exit>,
}

/// Checks on an event stream.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sse {
    /// How many events.
    #[serde(deserialize_with = "given")]
    pub count: Option<Value>,
    /// All data payloads.
    #[serde(deserialize_with = "given")]
    pub events: Option<Value>,
    /// What a client assembles.
    #[serde(deserialize_with = "given")]
    pub text: Option<Value>,
    /// The names in order, without pings and repeats.
    #[serde(deserialize_with = "given")]
    pub names: Option<Value>,
    /// The tool calls that a client assembles: `[id, name, arguments]`.
    #[serde(deserialize_with = "given")]
    pub tools: Option<Value>,
    /// The last data payload.
    #[serde(deserialize_with = "given")]
    pub last: Option<Value>,
    /// Whether the stream says that it is whole.
    #[serde(deserialize_with = "given")]
    pub done: Option<Value>,
    /// Whether it carries an error.
    #[serde(deserialize_with = "given")]
    pub error: Option<Value>,
    /// Index of an event (negative: from the end) → path in its data → value.
    pub json: ByName<ByName<Value>>,
}

/// Checks on a request that a provider got.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sent {
    /// The request target.
    #[serde(deserialize_with = "given")]
    pub path: Option<Value>,
    /// Name → value.
    pub headers: ByName<Value>,
    /// Path in the body → value.
    pub json: Option<ByName<Value>>,
    /// The body as text.
    #[serde(deserialize_with = "given")]
    pub body_equals: Option<Value>,
    /// Texts that it holds.
    pub body_contains: Vec<String>,
    /// Texts that it does not hold.
    pub body_lacks: Vec<String>,
}

/// How the gateway ends after a signal.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Exit {
    /// The exit code; 0 unless given.
    #[serde(deserialize_with = "given")]
    pub code: Option<Value>,
    /// Since the signal.
    #[serde(deserialize_with = "given")]
    pub ms: Option<Value>,
}

/// A null that is there is a value to check for; only a field that is absent asks for no check.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}
