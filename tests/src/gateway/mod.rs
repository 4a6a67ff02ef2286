//! The gateway as a process: found, built, started on a free port, stopped.

mod binary;
mod process;

pub use binary::binary;
pub use process::{Gateway, Refused};

use std::{
    io,
    net::Ipv4Addr,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};
use tokio::net::TcpListener;

/// Below the ports that systems give to those who ask for any: there, another socket of the same test would take a
/// port between the moment it was found free and the moment the gateway listens on it.
const FIRST: u32 = 10_000;
const COUNT: u32 = 22_000;

/// A port that is free, and that no other call in this process is given before all others were.
///
/// # Errors
/// When none is free.
pub async fn free_port() -> io::Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Processes that run at the same time begin far from each other.
    let start = std::process::id().wrapping_mul(2_654_435_761);
    for _ in 0..COUNT {
        let offset = start.wrapping_add(NEXT.fetch_add(1, Relaxed)) % COUNT;
        let port = u16::try_from(FIRST + offset).map_err(io::Error::other)?;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.is_ok() {
            return Ok(port);
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn ports_are_free_and_given_once() {
        let mut ports = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let port = super::free_port().await.unwrap();
            assert!(ports.insert(port), "{port} was given twice");
            assert!(tokio::net::TcpListener::bind(("127.0.0.1", port)).await.is_ok());
        }
    }
}
