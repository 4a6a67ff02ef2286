//! The accept loop: sockets in, requests to an [`App`], and a drain at the end.
//!
//! Its own loop rather than a framework's, because what matters here is settable only this way: `TCP_NODELAY` on accepted
//! sockets (or a stream's last words wait for an acknowledgement), a timer for heads that never end, bounds on
//! connections, and a drain with an end.
//!
//! Replies are compressed for callers who ask for it; streams never are.
//!
//! One `Server` belongs to one runtime, one listener and one [`App`]; nothing in it is global, so that several can run
//! side by side.

mod compress;
mod connection;
mod io;
mod taken;

pub use self::io::LingeringIo;

use self::connection::Connection;
use crate::app::App;
use std::{future::Future, io::Error, net::SocketAddr, pin::pin, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The bounds of a server's own side.
#[derive(Clone, Copy, Debug)]
pub struct ServerConfig {
    /// How long a connection may take to send the head of a request. Default: 30 s.
    pub header_timeout: Duration,
    /// How many connections at once; more wait to be accepted. Default: 4096.
    pub max_connections: usize,
    /// How many header fields a request may have. Default: 100.
    pub max_headers: usize,
    /// How long a caller may take nothing of what there is for it before it is let go; zero is off. Default: 60 s.
    pub write_idle: Duration,
    /// How long running calls go on after the end was asked for. Default: 30 s.
    pub drain: Duration,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(30),
            max_connections: 4096,
            max_headers: 100,
            write_idle: Duration::from_secs(60),
            drain: Duration::from_secs(30),
        }
    }
}

/// How long calls that the drain's end cut off get to be told so.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A bound listener with what answers on it.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    app: App,
    config: ServerConfig,
}

impl Server {
    /// Listens on `listen`.
    ///
    /// # Errors
    /// The system's, where the address cannot be had.
    pub async fn bind(listen: SocketAddr, app: App, config: ServerConfig) -> Result<Self, Error> {
        Ok(Self { listener: TcpListener::bind(listen).await?, app, config })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system's.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        self.listener.local_addr()
    }

    /// Serves until `stop`, then drains: unready at once, kept connections are told to close, running calls go on for at
    /// most [`drain`](ServerConfig::drain), what is left then is told so and cut off.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { listener, app, config } = self;
        let places = Arc::new(Semaphore::new(config.max_connections));
        let draining = CancellationToken::new();
        let aborted = CancellationToken::new();
        let tracker = TaskTracker::new();
        let spawn = |socket: TcpStream, permit| {
            let connection =
                Connection { app: app.clone(), config, draining: draining.clone(), aborted: aborted.clone() };
            tracker.spawn(async move {
                connection.serve(socket).await;
                drop(permit);
            });
        };

        let mut stop = pin!(stop);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = accept(&listener, &places) => accepted,
            };
            if let Some((socket, permit)) = accepted {
                spawn(socket, permit);
            }
        }

        tracing::info!(drain = ?config.drain, "draining");
        app.begin_drain();
        draining.cancel();
        tracker.close();
        // New connections are still answered, so that whoever asks for readiness hears "no" and not a refusal.
        let mut end = pin!(tokio::time::sleep(config.drain));
        let drained = loop {
            tokio::select! {
                biased;
                () = tracker.wait() => break true,
                () = &mut end => break false,
                Some((socket, permit)) = accept(&listener, &places) => spawn(socket, permit),
            }
        };
        if !drained {
            tracing::warn!(
                left = tracker.len(),
                "the drain is over; calls that still run are told so and ended"
            );
            app.cut();
            if tokio::time::timeout(LAST_WORDS, tracker.wait()).await.is_err() {
                aborted.cancel();
                tracker.wait().await;
            }
        }
        tracing::info!("stopped");
    }
}

/// The next connection, once there is a place for it.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = places.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((socket, _)) => Some((socket, permit)),
        Err(error) => {
            // A connection that was gone before it was accepted, or no file descriptor left: neither ends the server.
            tracing::warn!(%error, "accept failed");
            tokio::time::sleep(Duration::from_millis(20)).await;
            None
        }
    }
}
