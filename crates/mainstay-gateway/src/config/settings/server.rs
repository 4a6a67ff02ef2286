//! `[server]`

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::time::Duration;

use super::MIB;

/// `[server]`: the gateway's own side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Where callers connect. Default `127.0.0.1:8080`; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Threads that serve connections. Default: one for each core.
    pub workers: Option<NonZero<usize>>,
    /// Largest request, in bytes, after decompression. Default 32 MiB.
    pub max_request_body: u64,
    /// How long running calls may go on after SIGTERM. Default 30 s; zero ends them at once.
    pub drain: Duration,
    /// Over everything that one call does. Default off.
    pub deadline: Option<Duration>,
    /// Longest silence while a caller sends its request. Default 30 s.
    pub upload_idle: Duration,
    /// How long a caller may take nothing of its reply. Default 60 s.
    pub write_idle: Duration,
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
            workers: None,
            max_request_body: 32 * MIB,
            drain: Duration::from_secs(30),
            deadline: None,
            upload_idle: Duration::from_secs(30),
            write_idle: Duration::from_secs(60),
            keepalive: None,
            header_timeout: Duration::from_secs(30),
            max_connections: 4096,
            max_headers: 100,
        }
    }
}
