//! The processes under load, and what the system says of them.

use http::{Request, Response};
use http_body::Body;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    fs,
    future::Future,
    io::{BufRead, BufReader},
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    net::{TcpListener, TcpStream},
    time::sleep,
};

/// Is one of this program's servers: prints its port, serves until its input is closed.
pub(crate) fn serve<F: Future<Output = ()>>(server: impl FnOnce(TcpListener) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        println!("{}", listener.local_addr().expect("an address").port());
        let closed = tokio::task::spawn_blocking(|| std::io::stdin().lines().count());
        tokio::select! {
            () = server(listener) => {}
            _ = closed => {}
        }
        // Connections are not waited for.
        std::process::exit(0);
    });
}

/// Serves HTTP/1.1 with `answer`, as the gateway does: a task a connection, no delay.
pub(crate) async fn accept<A, F, B, E>(listener: TcpListener, answer: A)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body<Data: Send, Error: std::error::Error + Send + Sync> + Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    while let Ok((socket, _)) = listener.accept().await {
        let answer = answer.clone();
        tokio::spawn(async move {
            socket.set_nodelay(true)?;
            let service = service_fn(answer);
            let mut http = hyper::server::conn::http1::Builder::new();
            let served = http.timer(TokioTimer::new()).serve_connection(TokioIo::new(socket), service).await;
            // A client that leaves ends its connection.
            drop(served);
            std::io::Result::Ok(())
        });
    }
}

/// One server.
pub(crate) struct Target {
    /// Its name in the tables.
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    child: Child,
    _folder: Option<TempDir>,
}

impl Drop for Target {
    fn drop(&mut self) {
        // nginx ends its workers on a SIGTERM only; the others end at once.
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        drop(asked);
        drop(self.child.wait());
    }
}

/// All servers of a run.
pub(crate) struct Targets {
    pub(crate) provider: Target,
    pub(crate) proxy: Target,
    pub(crate) gateway: Target,
    pub(crate) nginx: Option<Target>,
}

impl Targets {
    /// Starts them.
    pub(crate) async fn start() -> Self {
        let provider = Target::own("provider", "--provider", None);
        let proxy = Target::own("bare proxy", "--proxy", Some(provider.address));
        let gateway = Target::gateway(provider.address).await;
        let nginx = Target::nginx(provider.address).await;
        if nginx.is_none() {
            println!("(nginx is not installed)");
        }
        Self { provider, proxy, gateway, nginx }
    }

    /// Those that stand between, the bare proxy first.
    pub(crate) fn between(&self) -> impl Iterator<Item = &Target> {
        [&self.proxy, &self.gateway].into_iter().chain(&self.nginx)
    }
}

impl Target {
    fn own(name: &'static str, role: &str, upstream: Option<SocketAddr>) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        if let Some(upstream) = upstream {
            command.env("LOAD_UPSTREAM", upstream.to_string());
        }
        let mut child =
            command.arg(role).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("this program");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("its port");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, line.trim().parse().expect("a port")));
        Self { name, address, child, _folder: None }
    }

    /// The gateway with its defaults, over this provider.
    pub(crate) async fn gateway(provider: SocketAddr) -> Self {
        let config = format!(
            r#"
[providers.one]
kind = "openai"
base_url = "http://{provider}/v1"
proxy = "off"
timeout.idle = "10m"
[[routes]]
models = ["gpt-*"]
targets = ["one"]
"#
        );
        Self::gateway_of("gateway", &config).await
    }

    /// The gateway with these providers and routes.
    pub(crate) async fn gateway_of(name: &'static str, config: &str) -> Self {
        let (folder, address) = (tempfile::tempdir().expect("a folder"), free());
        let file = folder.path().join("mainstay.toml");
        let config = format!("[server]\nlisten = \"{address}\"\nmax_connections = 20000\n{config}");
        fs::write(&file, config).expect("a file");
        let child = Command::new(binary())
            .arg("--config")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            // It writes its line for each request all the same.
            .stderr(Stdio::null())
            .spawn()
            .expect("the gateway");
        let target = Self { name, address, child, _folder: Some(folder) };
        target.listening().await;
        target
    }

    async fn nginx(provider: SocketAddr) -> Option<Self> {
        let (folder, address) = (tempfile::tempdir().ok()?, free());
        let file = folder.path().join("nginx.conf");
        let at = folder.path().display();
        let config = format!(
            r#"
daemon off; pid {at}/pid; error_log /dev/null; worker_processes auto; user root;
events {{ worker_connections 20000; }}
http {{
  access_log {at}/log; client_body_temp_path {at}/body; proxy_temp_path {at}/proxy; tcp_nodelay on;
  fastcgi_temp_path {at}/f; uwsgi_temp_path {at}/u; scgi_temp_path {at}/s; keepalive_requests 1000000;
  upstream provider {{ server {provider}; keepalive 1024; keepalive_requests 1000000; }}
  server {{
    listen {address};
    location / {{
      proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_read_timeout 600s;
    }}
  }}
}}
"#
        );
        fs::write(&file, config).ok()?;
        let child = Command::new("nginx")
            .args(["-e", "/dev/null", "-c"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let target = Self { name: "nginx", address, child, _folder: Some(folder) };
        target.listening().await;
        Some(target)
    }

    async fn listening(&self) {
        for _ in 0..5000 {
            if TcpStream::connect(self.address).await.is_ok() {
                return;
            }
            sleep(Duration::from_millis(2)).await;
        }
        panic!("{} does not listen", self.name);
    }

    /// Its process and, for nginx, those of its workers.
    fn processes(&self) -> Vec<u32> {
        let own = self.child.id();
        let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|id| id.parse().ok());
        std::iter::once(own).chain(children).collect()
    }

    /// CPU time so far, of user and system.
    pub(crate) fn cpu(&self) -> Duration {
        let ticks = |id: u32| -> u64 {
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            // The name, in brackets, may hold anything; utime and stime are the 12th and 13th after it.
            let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
            rest.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
        };
        // 100 a second on every Linux that there is.
        Duration::from_millis(10 * self.processes().into_iter().map(ticks).sum::<u64>())
    }

    /// Resident memory in KiB.
    pub(crate) fn memory(&self) -> u64 {
        let resident = |id: u32| -> Option<u64> {
            let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
            line.split_whitespace().next()?.parse().ok()
        };
        self.processes().into_iter().filter_map(resident).sum()
    }

    /// Open file descriptors.
    pub(crate) fn files(&self) -> usize {
        let open = |id: u32| fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count);
        self.processes().into_iter().map(open).sum()
    }
}

/// A port that is free now.
pub(crate) fn free() -> SocketAddr {
    let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    socket.local_addr().expect("an address")
}

/// The gateway's binary.
fn binary() -> PathBuf {
    std::env::var_os("MAINSTAY_BIN").map_or_else(
        || {
            // target/PROFILE/examples/load
            let this = std::env::current_exe().expect("this program");
            let folder = this.ancestors().nth(2).expect("a target folder");
            let binary = folder.join("mainstay");
            assert!(
                binary.exists(),
                "first: cargo build --release -p mainstay-gateway (or set MAINSTAY_BIN)"
            );
            binary
        },
        PathBuf::from,
    )
}
