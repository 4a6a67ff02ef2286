//! One exchange as it stands in a file.

use crate::{memory::FaultBody, provider::latin1};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Uri};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const SECRET: [&str; 7] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
    "set-cookie",
];
const SECRET_IN_QUERY: [&str; 2] = ["key", "api_key"];
const REDACTED: &str = "[redacted]";

/// One call and its reply.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Entry {
    pub(super) method: String,
    /// Path and query.
    pub(super) path: String,
    pub(super) request_headers: Vec<(String, String)>,
    pub(super) request: Text,
    /// `None` when the call failed.
    pub(super) status: Option<u16>,
    pub(super) response_headers: Vec<(String, String)>,
    pub(super) response: Vec<Piece>,
    /// The error that ended the call or the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// A body was longer than what is recorded, or was dropped before its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) cut: bool,
}

/// One frame of a reply.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Piece {
    /// After the one before it.
    pub(super) after_ms: u64,
    #[serde(flatten)]
    pub(super) data: Text,
}

/// Bytes: as text where they are UTF-8, else one character a byte.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Text {
    Data(String),
    Latin1(String),
}

impl Default for Text {
    fn default() -> Self {
        Self::Data(String::new())
    }
}

impl Text {
    pub(super) fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Data(text.to_owned()),
            Err(_) => Self::Latin1(bytes.iter().copied().map(char::from).collect()),
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Data(text) => text.as_bytes().to_vec(),
            Self::Latin1(text) => latin1(text),
        }
    }
}

/// Headers without the values of those that hold secrets.
pub(super) fn safe_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let value = |name: &HeaderName, value: &HeaderValue| {
        if SECRET.contains(&name.as_str()) || value.is_sensitive() {
            REDACTED.to_owned()
        } else {
            value.as_bytes().iter().copied().map(char::from).collect()
        }
    };
    headers.iter().map(|(name, each)| (name.as_str().to_owned(), value(name, each))).collect()
}

/// Path and query without the values of parameters that hold secrets.
pub(super) fn safe_path(uri: &Uri) -> String {
    let Some(query) = uri.query() else { return uri.path().to_owned() };
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if SECRET_IN_QUERY.contains(&name) => format!("{name}={REDACTED}"),
        _ => pair.to_owned(),
    });
    format!("{}?{}", uri.path(), pairs.collect::<Vec<_>>().join("&"))
}

impl Entry {
    /// Whether it is that call: bodies are the same as JSON, or byte for byte.
    pub(super) fn is(&self, method: &Method, path: &str, body: &[u8]) -> bool {
        let json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).ok();
        let mine = self.request.bytes();
        let same = || mine == body || json(&mine).is_some_and(|mine| json(body) == Some(mine));
        self.method == method.as_str() && self.path == path && same()
    }

    /// The reply; `None` when the call had failed. Waits between its frames only when `paced`.
    pub(super) fn reply(&self, paced: bool) -> Option<Response<FaultBody>> {
        let mut body = FaultBody::new();
        for piece in &self.response {
            if paced && piece.after_ms > 0 {
                body = body.wait(Duration::from_millis(piece.after_ms));
            }
            body = body.data(piece.data.bytes());
        }
        if let Some(error) = &self.error {
            body = body.fail(error);
        }
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.status?).ok()?;
        for (name, value) in &self.response_headers {
            if let (Ok(name), Ok(value)) =
                (name.parse::<HeaderName>(), HeaderValue::from_bytes(&latin1(value)))
            {
                response.headers_mut().append(name, value);
            }
        }
        Some(response)
    }
}
