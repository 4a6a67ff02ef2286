//! The accept loop: sockets in, requests to an [`App`], and a drain at the end.
//!
//! Its own loop rather than a framework's, because what matters here is settable only this way: `TCP_NODELAY` on accepted
//! sockets (or a stream's last words wait for an acknowledgement), a timer for heads that never end, bounds on
//! connections, and a drain with an end.
//!
//! One `Server` belongs to one runtime, one listener and one [`App`]; nothing in it is global, so that several can run
//! side by side.

mod io;

pub use self::io::LingeringIo;

use crate::app::App;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use std::{
    future::Future,
    io::Error,
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::{ServiceExt, service_fn};

/// The bounds of a server's own side.
#[derive(Clone, Copy, Debug)]
pub struct ServerConfig {
    /// How long a connection may take to send the head of a request. Default: 30 s.
    pub header_timeout: Duration,
    /// How many connections at once; more wait to be accepted. Default: 4096.
    pub max_connections: usize,
    /// How many header fields a request may have. Default: 100.
    pub max_headers: usize,
    /// How long running calls go on after the end was asked for. Default: 30 s.
    pub drain: Duration,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(30),
            max_connections: 4096,
            max_headers: 100,
            drain: Duration::from_secs(30),
        }
    }
}

/// The largest head of a request: more is answered with 431.
const MAX_HEAD: usize = 64 << 10;

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

/// What one connection needs.
struct Connection {
    app: App,
    config: ServerConfig,
    draining: CancellationToken,
    aborted: CancellationToken,
}

impl Connection {
    async fn serve(self, socket: TcpStream) {
        // Without it a small last event waits for the acknowledgement of the one before.
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY");
        }
        let spoke = Arc::new(AtomicBool::new(false));
        let service = {
            let (app, spoke) = (self.app.clone(), spoke.clone());
            service_fn(move |request| {
                spoke.store(true, Ordering::Relaxed);
                app.clone().oneshot(request)
            })
        };
        let builder = self.builder();
        let io = TokioIo::new(LingeringIo::new(socket));
        let mut connection = pin!(builder.serve_connection(io, TowerToHyperService::new(service)));
        // hyper's own timer begins when the version of HTTP is known: until then it is ours.
        let mut first_head = pin!(tokio::time::sleep(self.config.header_timeout));
        let mut waiting = true;
        let mut told = false;
        loop {
            tokio::select! {
                biased;
                () = self.aborted.cancelled() => return,
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(error = &*error, "connection ended");
                    }
                    return;
                }
                () = self.draining.cancelled(), if !told => {
                    told = true;
                    // One that was accepted just to hear that we are not ready gets its answer first.
                    if spoke.load(Ordering::Relaxed) {
                        connection.as_mut().graceful_shutdown();
                    }
                }
                () = &mut first_head, if waiting => {
                    waiting = false;
                    if !spoke.load(Ordering::Relaxed) {
                        tracing::debug!("closed a connection that sent no request");
                        return;
                    }
                }
            }
        }
    }

    fn builder(&self) -> auto::Builder<TokioExecutor> {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(self.config.header_timeout)
            .max_headers(self.config.max_headers)
            .max_buf_size(MAX_HEAD.max(8 << 10))
            .keep_alive(!self.draining.is_cancelled());
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_header_list_size(MAX_HEAD as u32)
            .max_concurrent_streams(256)
            .keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(20));
        builder
    }
}
