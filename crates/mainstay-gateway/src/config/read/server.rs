//! `[server]`

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZero;

use super::super::doc::{Table, Value};
use super::super::settings::Server;

pub(in super::super) fn server(mut t: Table<'_>) -> Server {
    let mut s = Server::default();
    t.set("listen", &mut s.listen, listen);
    t.set("workers", &mut s.workers, |v| {
        v.count(0..=1024, "threads; 0 is one for each core").map(NonZero::new)
    });
    t.set("max_request_body", &mut s.max_request_body, Value::size_set);
    t.set("drain", &mut s.drain, Value::duration);
    t.set("deadline", &mut s.deadline, Value::duration_or_off);
    t.set("upload_idle", &mut s.upload_idle, Value::duration_set);
    t.set("write_idle", &mut s.write_idle, Value::duration_set);
    t.set("keepalive", &mut s.keepalive, Value::duration_or_off);
    t.set("header_timeout", &mut s.header_timeout, Value::duration_set);
    t.set("max_connections", &mut s.max_connections, |v| v.count(1..=1_000_000, "connections at one time"));
    t.set("max_headers", &mut s.max_headers, |v| v.count(8..=10_000, "header fields in a request"));
    t.finish(|_| None);
    s
}

const LISTEN: &str = "an IP address and a port, such as \"127.0.0.1:8080\" or \"0.0.0.0:8080\"";

fn listen(v: &Value<'_>) -> Option<SocketAddr> {
    let text = v.text(LISTEN)?;
    listen_address(text).ok().or_else(|| v.wrong(LISTEN))
}

/// `ADDRESS:PORT`. `localhost` is 127.0.0.1; other names are not looked up, so that no answer of a name server
/// decides who can connect.
pub(in super::super) fn listen_address(text: &str) -> Result<SocketAddr, &'static str> {
    if let Some(port) = text.strip_prefix("localhost:") {
        return port.parse().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).map_err(|_| LISTEN);
    }
    text.parse().map_err(|_| LISTEN)
}
