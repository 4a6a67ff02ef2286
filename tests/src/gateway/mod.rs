//! The gateway as a process: found, built, started on a free port, stopped.

mod binary;
mod process;

pub use binary::binary;
pub use process::{Gateway, Refused};

use std::{io, net::Ipv4Addr};
use tokio::net::TcpListener;

/// A port that was free a moment ago. Somebody may take it before the gateway does; then the gateway does not start,
/// and says so.
///
/// # Errors
/// The system's, when no port is left.
pub async fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?.local_addr()?.port())
}
