//! The accept loop: sockets in, requests to an [`App`], and a drain at the end.
//!
//! Its own loop rather than a framework's, because what matters here is settable only this way: `TCP_NODELAY` on accepted
//! sockets (or a stream's last words wait for an acknowledgement), a timer for heads that never end, bounds on
//! connections, and a drain with an end.
//!
//! Connections are accepted on the runtime that [`Server::run`] is called on, and served by [workers](ServerConfig::workers):
//! threads with a runtime each, which no request ever leaves.
//!
//! Replies are compressed for callers who ask for it; streams never are.
//!
//! One `Server` belongs to one listener and one [`App`]; nothing in it is global, so that several can run side by side.

mod compress;
mod connection;
mod io;
mod spoke;
mod taken;
mod woken;
mod workers;

pub use self::io::LingeringIo;

use self::{
    connection::Connection,
    workers::{Seat, Workers},
};
use crate::app::App;
use std::{
    future::Future,
    io::Error,
    net::{self, SocketAddr},
    num::NonZero,
    pin::pin,
    sync::Arc,
    thread,
    time::Duration,
};
use tokio::{
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until, timeout, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The bounds of a server's own side.
#[derive(Clone, Copy, Debug)]
pub struct ServerConfig {
    /// How many threads serve connections. Default: one for each core.
    pub workers: NonZero<usize>,
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
            workers: cores(),
            header_timeout: Duration::from_secs(30),
            max_connections: 4096,
            max_headers: 100,
            write_idle: Duration::from_secs(60),
            drain: Duration::from_secs(30),
        }
    }
}

/// How many cores there are for this process.
pub fn cores() -> NonZero<usize> {
    thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

/// How long calls that the drain's end cut off get to be told so.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A bound listener with what answers on it.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    workers: Workers,
    app: App,
    config: ServerConfig,
}

impl Server {
    /// Listens on `listen`, and starts the workers.
    ///
    /// # Errors
    /// The system's, where the address cannot be had, or no thread.
    pub async fn bind(listen: SocketAddr, app: App, config: ServerConfig) -> Result<Self, Error> {
        let listener = TcpListener::bind(listen).await?;
        Ok(Self { listener, workers: Workers::start(config.workers)?, app, config })
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
        let Self { listener, workers, app, config } = self;
        let places = Arc::new(Semaphore::new(config.max_connections));
        let draining = CancellationToken::new();
        let aborted = CancellationToken::new();
        let tracker = TaskTracker::new();
        let serve = |Accepted { socket, permit }| {
            let Some(seat) = workers.seat() else { return };
            let connection =
                Connection { app: app.clone(), config, draining: draining.clone(), aborted: aborted.clone() };
            let runtime = seat.runtime.clone();
            tracker.spawn_on(
                async move {
                    connection.serve(socket).await;
                    drop::<(Seat, OwnedSemaphorePermit)>((seat, permit));
                },
                &runtime,
            );
        };

        let mut stop = pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = accept(&listener, &places) => accepted.map(&serve),
            };
        }

        tracing::info!(drain = ?config.drain, "draining");
        app.begin_drain();
        draining.cancel();
        tracker.close();
        // New connections are still answered, so that whoever asks for readiness hears "no" and not a refusal.
        let end = Instant::now() + config.drain;
        let mut over = pin!(sleep_until(end));
        let mut drained = loop {
            tokio::select! {
                biased;
                () = tracker.wait() => break true,
                () = &mut over => break false,
                Some(accepted) = accept(&listener, &places) => serve(accepted),
            }
        };
        if drained {
            // Those too that are connected, and were not accepted: closing the listener would reset them.
            backlog(listener, &places).for_each(serve);
            drained = timeout_at(end, tracker.wait()).await.is_ok();
        }
        if !drained {
            tracing::warn!(
                left = tracker.len(),
                "the drain is over; calls that still run are told so and ended"
            );
            app.cut();
            if timeout(LAST_WORDS, tracker.wait()).await.is_err() {
                aborted.cancel();
                tracker.wait().await;
            }
        }
        workers.end().await;
        tracing::info!("stopped");
    }
}

/// A connection that has a place.
struct Accepted {
    socket: net::TcpStream,
    permit: OwnedSemaphorePermit,
}

/// The next connection, once there is a place for it. It belongs to no runtime yet.
async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> Option<Accepted> {
    let permit = places.clone().acquire_owned().await.ok()?;
    match listener.accept().await.and_then(|(socket, _)| socket.into_std()) {
        Ok(socket) => Some(Accepted { socket, permit }),
        Err(error) => {
            // A connection that was gone before it was accepted, or no file descriptor left: neither ends the server.
            tracing::warn!(%error, "accept failed");
            tokio::time::sleep(Duration::from_millis(20)).await;
            None
        }
    }
}

/// The connections that are here already, as far as there are places; then nobody listens any more.
fn backlog(listener: TcpListener, places: &Arc<Semaphore>) -> impl Iterator<Item = Accepted> {
    let listener = listener.into_std().ok();
    std::iter::from_fn(move || {
        let permit = places.clone().try_acquire_owned().ok()?;
        // It does not block.
        let (socket, _) = listener.as_ref()?.accept().ok()?;
        socket.set_nonblocking(true).ok()?;
        Some(Accepted { socket, permit })
    })
}
