//! One accepted connection, from its first byte to its last.

use super::{
    LingeringIo, ServerConfig,
    compress::{Accepts, compressed},
    spoke::Spoke,
    taken::{Taken, TakenBody},
    woken::Woken,
};
use crate::app::App;
use http::{Request, Version};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use mainstay::layers::timeout::WriteIdle;
use std::{convert::Infallible, io, net, pin::pin, time::Duration};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep_until, timeout_at},
};
use tokio_util::sync::CancellationToken;

/// The largest head of a request: more is answered with 431.
const MAX_HEAD: usize = 64 << 10;

/// How long a connection that has said nothing is waited for once the drain has begun: whoever connected just to ask for
/// readiness is to hear "no".
const GRACE: Duration = Duration::from_secs(1);

/// What one connection needs.
pub(super) struct Connection {
    pub(super) app: App,
    pub(super) config: ServerConfig,
    pub(super) draining: CancellationToken,
    pub(super) aborted: CancellationToken,
}

/// What the connection's calls say of the caller.
#[derive(Debug, Default)]
struct Caller {
    spoke: Spoke,
    taken: Taken,
}

/// What a connection is told to do.
enum Order {
    /// To end at once.
    End { why: &'static str },
    /// To end when its calls have.
    Drain,
}

impl Connection {
    /// Serves on the runtime that this is called on.
    pub(super) async fn serve(self, socket: net::TcpStream) {
        match accepted(socket) {
            Ok(socket) => self.serve_socket(socket).await,
            Err(error) => tracing::warn!(%error, "an accepted connection cannot be served"),
        }
    }

    async fn serve_socket(self, socket: TcpStream) {
        let caller = Caller::default();
        let service = service_fn(|request: Request<Incoming>| {
            caller.spoke.set();
            let accepts = Accepts::of(request.headers());
            let taken = (request.version() == Version::HTTP_2).then(|| caller.taken.clone());
            let app = self.app.clone();
            // In a box of its own: hyper keeps room for it as long as the connection lives, and an open stream has no use for
            // five KiB of a call that was answered.
            Box::pin(async move {
                let reply = compressed(app.answer(request).await, accepts).await;
                Ok::<_, Infallible>(reply.map(|body| TakenBody::new(body, taken)))
            })
        });
        let builder = self.builder();
        let io = TokioIo::new(LingeringIo::new(WriteIdle::new(socket, self.config.write_idle)));
        let mut connection = pin!(builder.serve_connection(io, service));
        let mut orders = Woken::new(self.order(&caller, false));
        loop {
            tokio::select! {
                biased;
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(error = &*error, "connection ended");
                    }
                    return;
                }
                order = &mut orders => match order {
                    Order::End { why } => {
                        tracing::debug!(why, "closed a connection");
                        return;
                    }
                    Order::Drain => {
                        connection.as_mut().graceful_shutdown();
                        orders.set(self.order(&caller, true));
                    }
                }
            }
        }
    }

    /// The next thing that the connection is told; hardly any ever is told a second one.
    async fn order(&self, caller: &Caller, drains: bool) -> Order {
        tokio::select! {
            biased;
            () = self.aborted.cancelled() => Order::End { why: "the drain is over" },
            order = self.drain(caller), if !drains => order,
            () = caller.taken.stuck(self.config.write_idle) => Order::End { why: "its caller takes nothing" },
        }
    }

    /// Waits for the drain, and for a first request before its end.
    async fn drain(&self, caller: &Caller) -> Order {
        const SILENT: Order = Order::End { why: "it sent no request" };
        // hyper's own timer begins when the version of HTTP is known: until then it is ours.
        let first_head = Instant::now() + self.config.header_timeout;
        tokio::select! {
            biased;
            () = self.draining.cancelled() => {}
            () = sleep_until(first_head) => {
                if !caller.spoke.is_set() {
                    return SILENT;
                }
                self.draining.cancelled().await;
            }
        }
        // One that has not spoken yet gets its answer first.
        let grace = first_head.min(Instant::now() + GRACE);
        match timeout_at(grace, caller.spoke.wait()).await {
            Ok(()) => Order::Drain,
            Err(_) => SILENT,
        }
    }

    fn builder(&self) -> auto::Builder<TokioExecutor> {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(self.config.header_timeout)
            .max_headers(self.config.max_headers)
            .max_buf_size(MAX_HEAD)
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

/// The socket as this runtime's.
fn accepted(socket: net::TcpStream) -> io::Result<TcpStream> {
    let socket = TcpStream::from_std(socket)?;
    // Without it a small last event waits for the acknowledgement of the one before.
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY");
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pitfall_42_accepted_sockets_have_nodelay() {
        let listener = net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let _caller = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        socket.set_nonblocking(true).unwrap();
        assert!(!socket.nodelay().unwrap(), "the system's default, so that this test can fail");
        assert!(accepted(socket).unwrap().nodelay().unwrap());
    }
}
