//! One accepted connection, from its first byte to its last.

use super::{
    LingeringIo, ServerConfig, compress,
    taken::{Taken, TakenBody},
};
use crate::app::App;
use http::{Request, Version};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use mainstay::layers::timeout::WriteIdle;
use std::{convert::Infallible, pin::pin, time::Duration};
use tokio::{net::TcpStream, time::Instant};
use tokio_util::sync::CancellationToken;
use tower::{ServiceExt, service_fn};

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

impl Connection {
    pub(super) async fn serve(self, socket: TcpStream) {
        // Without it a small last event waits for the acknowledgement of the one before.
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY");
        }
        let spoke = CancellationToken::new();
        let taken = Taken::default();
        let service = {
            let (app, spoke) = (compress::compressed(self.app.clone()), spoke.clone());
            let taken = taken.clone();
            service_fn(move |mut request: Request<Incoming>| {
                spoke.cancel();
                compress::never_refuse(request.headers_mut());
                let taken = (request.version() == Version::HTTP_2).then(|| taken.clone());
                let answering = app.clone().oneshot(request);
                async move { Ok::<_, Infallible>(answering.await?.map(|body| TakenBody::new(body, taken))) }
            })
        };
        let builder = self.builder();
        let io = TokioIo::new(LingeringIo::new(WriteIdle::new(socket, self.config.write_idle)));
        let mut connection = pin!(builder.serve_connection(io, TowerToHyperService::new(service)));
        // hyper's own timer begins when the version of HTTP is known: until then it is ours.
        let mut first_head = pin!(tokio::time::sleep(self.config.header_timeout));
        let mut stuck = pin!(taken.stuck(self.config.write_idle));
        let mut waiting = true;
        let mut draining = false;
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
                () = self.draining.cancelled(), if !draining => {
                    draining = true;
                    let grace = Instant::now() + GRACE;
                    if grace < first_head.deadline() {
                        first_head.as_mut().reset(grace);
                    }
                }
                // One that has not spoken yet gets its answer first.
                () = spoke.cancelled(), if draining && !told => {
                    told = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = &mut stuck => {
                    tracing::debug!("closed a connection whose caller takes nothing");
                    return;
                }
                () = &mut first_head, if waiting => {
                    waiting = false;
                    if !spoke.is_cancelled() {
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
