//! HTTP/1.1 on a raw socket, as little of it as a provider needs.

use super::{HeaderValues, Step};
use bytes::{Bytes, BytesMut};
use std::{collections::BTreeMap, io, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const MAX_HEAD: usize = 1 << 20;
const MAX_BODY: usize = 64 << 20;
const MAX_LINE: usize = 8 << 10;

/// The head of a request.
pub(super) struct Head {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Head {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().rev().find(|(each, _)| each == name).map(|(_, value)| value.as_str())
    }

    fn has(&self, name: &str, value: &str) -> bool {
        self.header(name).is_some_and(|found| found.eq_ignore_ascii_case(value))
    }

    pub(super) fn closes(&self) -> bool {
        self.has("connection", "close")
    }
}

/// A connection with what was read ahead.
pub(super) struct Wire {
    stream: TcpStream,
    ahead: BytesMut,
}

impl Wire {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, ahead: BytesMut::new() }
    }

    /// Small pieces leave at once: a script's delays are the only ones.
    pub(super) fn prepare(&self) -> io::Result<()> {
        self.stream.set_nodelay(true)
    }

    /// Reads on; `false` at the end of the connection.
    async fn more(&mut self) -> io::Result<bool> {
        Ok(self.stream.read_buf(&mut self.ahead).await? > 0)
    }

    /// The next head, `None` when the client has gone or what it sent is none.
    pub(super) async fn head(&mut self) -> io::Result<Option<Head>> {
        let mut searched = 0;
        loop {
            let fresh = self.ahead.get(searched..).unwrap_or_default();
            if let Some(at) = find(fresh, b"\r\n\r\n") {
                let head = self.ahead.split_to(searched + at + 4);
                return Ok(parse_head(&head));
            }
            searched = self.ahead.len().saturating_sub(3);
            if self.ahead.len() > MAX_HEAD || !self.more().await? {
                return Ok(None);
            }
        }
    }

    /// The body that belongs to `head`.
    pub(super) async fn body(&mut self, head: &Head) -> io::Result<Bytes> {
        if head.has("expect", "100-continue") {
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        if head.has("transfer-encoding", "chunked") {
            return self.chunked().await;
        }
        let length = head.header("content-length").map_or(Ok(0), str::parse).map_err(io::Error::other)?;
        self.exactly(length).await
    }

    async fn chunked(&mut self) -> io::Result<Bytes> {
        let mut body = BytesMut::new();
        loop {
            let line = self.line().await?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
            if size == 0 {
                while !self.line().await?.is_empty() {}
                return Ok(body.freeze());
            }
            if size > MAX_BODY || body.len() + size > MAX_BODY {
                return Err(io::Error::other("the body is too large"));
            }
            body.extend_from_slice(&self.exactly(size).await?);
            self.line().await?;
        }
    }

    async fn exactly(&mut self, length: usize) -> io::Result<Bytes> {
        if length > MAX_BODY {
            return Err(io::Error::other("the body is too large"));
        }
        while self.ahead.len() < length {
            if !self.more().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.ahead.split_to(length).freeze())
    }

    /// A line without its end.
    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(at) = find(&self.ahead, b"\n") {
                let line = self.ahead.split_to(at + 1);
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if self.ahead.len() > MAX_LINE || !self.more().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// One piece of a body, framed as an HTTP chunk where `framed`.
    pub(super) async fn piece(&mut self, data: &[u8], framed: bool) -> io::Result<()> {
        if data.is_empty() {
            return Ok(()); // as a chunk it would be the end
        }
        if !framed {
            return self.write(data).await;
        }
        let mut out = format!("{:x}\r\n", data.len()).into_bytes();
        out.extend_from_slice(data);
        out.extend_from_slice(b"\r\n");
        self.write(&out).await
    }

    /// Ends when the client has left. A client that sends more than a head's worth meanwhile counts as gone.
    pub(super) async fn gone(&mut self) {
        while self.ahead.len() <= MAX_HEAD {
            match self.more().await {
                Ok(true) => {}
                Ok(false) | Err(_) => return,
            }
        }
    }

    /// Waits; `false` when the client left meanwhile.
    pub(super) async fn still_there_after(&mut self, wait: Duration) -> bool {
        tokio::time::timeout(wait, self.gone()).await.is_err()
    }

    /// Ends the connection with a TCP reset.
    pub(super) fn reset(self) -> io::Result<()> {
        self.stream.set_zero_linger()
    }
}

/// The head of a reply: the step's headers over the defaults.
pub(super) fn reply_head(step: &Step, defaults: &[(&str, String)]) -> Vec<u8> {
    let mut headers: BTreeMap<String, HeaderValues> = BTreeMap::new();
    for (name, value) in defaults {
        headers.insert((*name).to_owned(), value.clone().into());
    }
    for (name, values) in &step.headers {
        headers.insert(name.to_ascii_lowercase(), values.clone());
    }
    let status = http::StatusCode::from_u16(step.status).ok();
    let reason = status.and_then(|status| status.canonical_reason()).unwrap_or("Status");
    let mut out = format!("HTTP/1.1 {} {reason}\r\n", step.status);
    for (name, values) in &headers {
        for value in values.iter() {
            out.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    out.push_str("\r\n");
    latin1(&out)
}

/// Each character as one byte; what is beyond Latin-1 becomes `?`.
pub(crate) fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

fn parse_head(bytes: &[u8]) -> Option<Head> {
    let text: String = bytes.iter().copied().map(char::from).collect();
    let mut lines = text.split("\r\n");
    let mut start = lines.next()?.splitn(3, ' ');
    let (method, path) = (start.next()?.to_owned(), start.next()?.to_owned());
    start.next()?;
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    Some(Head { method, path, headers })
}
