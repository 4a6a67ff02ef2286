//! One running gateway.

use crate::client::{Kept, Reply, Request, play};
use std::{
    collections::BTreeMap,
    fs::File,
    io,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep, timeout},
};

/// How long it may take until `GET /readyz` answers 200: a busy machine starts processes slowly.
const START: Duration = Duration::from_secs(20);

/// A gateway that runs. It is killed when this goes.
#[derive(Debug)]
pub struct Gateway {
    child: Child,
    folder: TempDir,
    port: u16,
}

/// A gateway that did not start.
#[derive(Debug)]
pub struct Refused {
    /// How it ended; `None` when it had to be killed.
    pub status: Option<ExitStatus>,
    /// What it printed.
    pub log: String,
}

impl Gateway {
    /// Starts `mainstay serve --config FILE` and waits until it is ready.
    ///
    /// `config` is the file's text and must make it listen on `port` of loopback.
    ///
    /// # Errors
    /// The outer one is the system's. The inner one is the gateway's, when it ended or was not ready in time.
    pub async fn start(
        config: &str,
        port: u16,
        env: &BTreeMap<String, String>,
    ) -> io::Result<Result<Self, Refused>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("mainstay.toml");
        std::fs::write(&path, config)?;
        let log = File::create(folder.path().join("log"))?;
        let child = Command::new(super::binary())
            .arg("serve")
            .arg("--config")
            .arg(&path)
            .envs(env)
            // A proxy of the machine is not the test's.
            .env_remove("HTTP_PROXY")
            .env_remove("http_proxy")
            .env_remove("HTTPS_PROXY")
            .env_remove("https_proxy")
            .env_remove("ALL_PROXY")
            .env_remove("all_proxy")
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let mut gateway = Self { child, folder, port };
        let ready = gateway.ready().await?;
        if ready {
            return Ok(Ok(gateway));
        }
        let status = gateway.child.try_wait()?;
        let log = gateway.stop().await;
        Ok(Err(Refused { status, log }))
    }

    async fn ready(&mut self) -> io::Result<bool> {
        let until = Instant::now() + START;
        while Instant::now() < until && self.child.try_wait()?.is_none() {
            let reply = timeout(Duration::from_secs(2), self.get("/readyz")).await;
            if reply.is_ok_and(|reply| reply.status == Some(200)) {
                return Ok(true);
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(false)
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A reply to a GET.
    pub async fn get(&self, path: &str) -> Reply {
        play(self.port, &Request::get(path), &Kept::default()).await
    }

    /// Sends it a signal by its number.
    ///
    /// # Errors
    /// When it has ended, or `kill` cannot be started.
    pub async fn signal(&self, number: i32) -> io::Result<()> {
        let id = self.child.id().ok_or_else(|| io::Error::other("the gateway has ended"))?;
        let status = Command::new("kill").arg(format!("-{number}")).arg(id.to_string()).status().await?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("kill: {status}"))) }
    }

    /// How it ended by itself; `None` when it did not within that time.
    pub async fn ended_within(&mut self, time: Duration) -> Option<ExitStatus> {
        timeout(time, self.child.wait()).await.ok()?.ok()
    }

    /// The most memory that it ever held, in MiB; Linux only.
    pub fn peak_mib(&self) -> Option<f64> {
        self.status_mib("VmHWM:")
    }

    /// The memory that it holds, in MiB; Linux only.
    pub fn resident_mib(&self) -> Option<f64> {
        self.status_mib("VmRSS:")
    }

    fn status_mib(&self, field: &str) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
    }

    /// How many files it has open, sockets among them; Linux only.
    pub fn open_files(&self) -> Option<usize> {
        Some(std::fs::read_dir(format!("/proc/{}/fd", self.child.id()?)).ok()?.count())
    }

    /// Kills it where it still runs; what it printed.
    pub async fn stop(mut self) -> String {
        // It may have ended already.
        let _ = self.child.kill().await;
        let log: PathBuf = self.folder.path().join("log");
        let bytes = std::fs::read(log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
