//! A port where nothing listens.

use std::{io, net::Ipv4Addr};
use tokio::net::TcpSocket;

/// A port of loopback that refuses every connection for as long as this lives.
///
/// The port is bound but not listened on: unlike a port that was free a moment ago, nobody else can take it meanwhile.
///
/// ```
/// # async fn example() -> std::io::Result<()> {
/// let closed = mainstay_testkit::provider::ClosedPort::reserve()?;
/// let refused = tokio::net::TcpStream::connect(("127.0.0.1", closed.port())).await;
/// assert!(refused.is_err());
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Debug)]
pub struct ClosedPort {
    port: u16,
    _bound: TcpSocket,
}

impl ClosedPort {
    /// Binds a free port and does not listen on it.
    ///
    /// # Errors
    /// The system's, when no port is left.
    pub fn reserve() -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(Self { port: socket.local_addr()?.port(), _bound: socket })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}
