//! What to send.

use crate::cases::Expect;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// One request of a case; see `cases/README.md`. The default is a GET of `/v1/chat/completions` without a body.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// POST where there is a body, else GET.
    pub method: Option<String>,
    /// `/v1/chat/completions` unless given.
    pub path: Option<String>,
    /// Over the defaults; null removes one.
    pub headers: BTreeMap<String, Option<String>>,
    /// Text; or JSON, which is sent in the very bytes in which the case has it.
    pub body: Option<Box<RawValue>>,
    /// `@PAD@` in the body, or in `raw`, becomes so many `pad`.
    pub pad_bytes: Option<usize>,
    /// `x` unless given.
    pub pad: Option<String>,
    /// All of the request's bytes, one a character, instead of everything else.
    pub raw: Option<String>,
    /// Bytes instead of the body: one a character.
    pub latin1: Option<String>,
    /// Sent in chunks, without a length.
    pub chunked: bool,
    /// So many times one after the other.
    pub repeat: Option<usize>,
    /// So many at once.
    pub concurrent: Option<usize>,
    /// Wait first.
    pub sleep_ms: u64,
    /// The next request follows at once.
    pub background: bool,
    /// The name of a connection that is kept for later requests of that name.
    pub via: Option<String>,
    /// A signal to the gateway, by number, instead of a request.
    pub signal: Option<i32>,
    /// What the client does that a good client does not.
    pub action: Action,
    /// Checks on its own replies.
    pub expect: Expect,
}

/// What a client does that a good client does not.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Action {
    /// Leaves so long after it began to send.
    pub disconnect_after_ms: Option<u64>,
    /// Leaves once it has so many bytes of the body.
    pub disconnect_after_bytes: Option<usize>,
    /// Leaves by FIN instead of by RST.
    pub fin: bool,
    /// Reads nothing for so long.
    pub pause_ms: u64,
}

impl Request {
    /// A GET.
    pub fn get(path: &str) -> Self {
        Self { method: Some("GET".into()), path: Some(path.into()), ..Self::default() }
    }

    /// A POST of those bytes of JSON.
    ///
    /// # Panics
    /// When they are no JSON.
    pub fn post(path: &str, body: &str) -> Self {
        let body = RawValue::from_string(body.to_owned()).expect("a body of JSON");
        Self { path: Some(path.into()), body: Some(body), ..Self::default() }
    }

    /// The copy with that number: each `@N@` in path, headers and body becomes it.
    pub(crate) fn numbered(&self, number: usize) -> Self {
        let fill = |text: &String| text.replace("@N@", &number.to_string());
        Self {
            path: self.path.as_ref().map(fill),
            headers: self.headers.iter().map(|(k, v)| (k.clone(), v.as_ref().map(fill))).collect(),
            body: self
                .body
                .as_ref()
                .and_then(|body| RawValue::from_string(fill(&body.get().to_owned())).ok()),
            latin1: self.latin1.as_ref().map(fill),
            raw: self.raw.as_ref().map(fill),
            via: self.via.as_ref().map(fill),
            ..self.clone()
        }
    }

    /// The body's bytes, without framing.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        if let Some(latin1) = &self.latin1 {
            return one_a_character(latin1);
        }
        let raw = self.body.as_ref().map_or("", |body| body.get());
        self.padded(serde_json::from_str::<String>(raw).unwrap_or_else(|_| raw.to_owned())).into_bytes()
    }

    fn padded(&self, text: String) -> String {
        match self.pad_bytes {
            Some(times) => text.replace("@PAD@", &self.pad.as_deref().unwrap_or("x").repeat(times)),
            None => text,
        }
    }

    /// All of its bytes on the wire.
    pub(crate) fn wire(&self, port: u16) -> Vec<u8> {
        if let Some(raw) = &self.raw {
            return one_a_character(&self.padded(raw.clone()));
        }
        let body = self.bytes();
        let method =
            self.method.clone().unwrap_or_else(|| if body.is_empty() { "GET" } else { "POST" }.into());
        let connection = if self.via.is_some() { "keep-alive" } else { "close" };
        let mut headers: Vec<(String, String)> = vec![
            ("host".into(), format!("127.0.0.1:{port}")),
            ("content-type".into(), "application/json".into()),
            ("connection".into(), connection.into()),
        ];
        if self.chunked {
            headers.push(("transfer-encoding".into(), "chunked".into()));
        } else if !body.is_empty() || method == "POST" {
            headers.push(("content-length".into(), body.len().to_string()));
        }
        headers.retain(|(name, _)| !self.headers.contains_key(name));
        for (name, value) in &self.headers {
            headers.extend(value.iter().map(|value| (name.clone(), value.clone())));
        }
        let path = self.path.as_deref().unwrap_or("/v1/chat/completions");
        let mut out = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in headers {
            out.push_str(&format!("{name}: {value}\r\n"));
        }
        out.push_str("\r\n");
        let mut out = out.into_bytes();
        if !self.chunked {
            out.extend_from_slice(&body);
            return out;
        }
        for piece in body.chunks(16 << 10) {
            out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            out.extend_from_slice(piece);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"0\r\n\r\n");
        out
    }
}

fn one_a_character(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}
