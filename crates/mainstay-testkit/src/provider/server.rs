//! The server: accepts, reads requests, plays steps.

use super::{
    End, Recorded, Step, date,
    shared::{Script, Shared, Track},
    wire::{Wire, latin1, reply_head},
};
use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
    time::Instant,
};

/// A scripted HTTP/1.1 provider on loopback; see [the module](super). Dropping it closes its port and all of its
/// connections.
pub struct ScriptedProvider {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl ScriptedProvider {
    /// Starts on a free port. Request number *i* gets step *i*; the last step serves all later ones.
    ///
    /// # Errors
    /// The system's, when the port cannot be had.
    pub async fn start(steps: impl IntoIterator<Item = Step>) -> io::Result<Self> {
        Self::serve(Script::Steps(Track::new(steps))).await
    }

    /// Starts with a script in the JSON form of [`Step`]: a list of steps.
    ///
    /// # Errors
    /// When the text is no such list, or the port cannot be had.
    pub async fn from_json(script: &str) -> io::Result<Self> {
        Self::start(serde_json::from_str::<Vec<Step>>(script)?).await
    }

    /// Starts with a list of steps for each model; a request is counted on the list that its body's `model` names,
    /// and an unknown model is a 404.
    ///
    /// # Errors
    /// The system's, when the port cannot be had.
    pub async fn by_model<M, S>(scripts: impl IntoIterator<Item = (M, S)>) -> io::Result<Self>
    where
        M: Into<String>,
        S: IntoIterator<Item = Step>,
    {
        let tracks = scripts.into_iter().map(|(model, steps)| (model.into(), Track::new(steps))).collect();
        Self::serve(Script::ByModel(tracks)).await
    }

    /// Starts with a function that gives each request its step. It is called under a lock, in the order of the
    /// requests' numbers, and must not wait.
    ///
    /// # Errors
    /// The system's, when the port cannot be had.
    pub async fn answering(answer: impl Fn(&Recorded) -> Step + Send + Sync + 'static) -> io::Result<Self> {
        Self::serve(Script::Answer(Box::new(answer))).await
    }

    async fn serve(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(script));
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, accepting })
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many requests arrived whole.
    pub fn calls(&self) -> usize {
        self.shared.calls()
    }

    /// The requests that arrived, in order: all of them, or the last [`keep`](Self::keep).
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.requests()
    }

    /// The last request that arrived.
    pub fn last_request(&self) -> Option<Recorded> {
        self.shared.last()
    }

    /// Keeps only the last so many requests from now on; 10,000 unless set. They are counted all the same.
    pub fn keep(&self, requests: usize) {
        self.shared.keep(requests);
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Relaxed)
    }

    /// How many connections are open now.
    pub fn open_connections(&self) -> usize {
        self.shared.open.load(Relaxed)
    }

    /// How many replies the client gave up: it left in the middle of the chunks, of a hang or of a stall.
    pub fn closed_early(&self) -> usize {
        self.shared.closed_early.load(Relaxed)
    }

    /// The most requests that were being answered at one moment.
    pub fn most_parallel(&self) -> usize {
        self.shared.most.load(Relaxed)
    }

    /// Begins the script anew; what was recorded stays.
    pub fn restart(&self) {
        self.shared.script.restart();
    }

    /// Closes the port and all connections, and waits until they are closed.
    pub async fn shutdown(mut self) {
        self.accepting.abort();
        // The error is the cancellation that was just asked for.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for ScriptedProvider {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl fmt::Debug for ScriptedProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedProvider")
            .field("address", &self.address)
            .field("calls", &self.calls())
            .field("connections", &self.connections())
            .finish_non_exhaustive()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // The set goes with this task, and the connections with the set.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(converse(stream, Arc::clone(&shared)));
                }
                // Out of descriptors, or a client that left at once: others may still come.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn converse(stream: TcpStream, shared: Arc<Shared>) {
    let (connection, _open) = shared.opened();
    let mut wire = Wire::new(stream);
    if wire.prepare().is_err() {
        return;
    }
    while let Ok(Some(next)) = exchange(wire, connection, &shared).await {
        wire = next;
    }
}

/// One request and its reply; the connection again where it can be used again.
async fn exchange(mut wire: Wire, connection: usize, shared: &Shared) -> io::Result<Option<Wire>> {
    let Some(head) = wire.head().await? else { return Ok(None) };
    let body = wire.body(&head).await?;
    let closes = head.closes();
    let request = Recorded {
        number: 0,
        connection,
        method: head.method,
        path: head.path,
        headers: head.headers,
        body,
        at: Instant::now(),
    };
    let _answering = shared.answering();
    let step = shared.take(request);
    let wire = reply(&step, wire, shared).await?;
    Ok(wire.filter(|_| !closes))
}

async fn reply(step: &Step, mut wire: Wire, shared: &Shared) -> io::Result<Option<Wire>> {
    if step.after_ms > 0 {
        tokio::time::sleep(Duration::from_millis(step.after_ms)).await;
    }
    if step.drop {
        return Ok(None);
    }
    if step.reset {
        wire.reset()?;
        return Ok(None);
    }
    if step.stall {
        return Ok(until_gone(wire, shared).await);
    }
    if let Some(raw) = &step.raw {
        wire.write(&latin1(raw)).await?;
        return Ok(None);
    }
    let mut defaults = vec![("content-type", "application/json".to_owned())];
    if let Some(seconds) = step.date_in_s {
        defaults.push(("retry-after", date::in_seconds(seconds)));
    }
    if step.chunks.is_some() {
        return chunks(step, defaults, wire, shared).await;
    }
    let body = step.text_of_body().into_bytes().repeat(step.times);
    defaults.push(("content-length", body.len().to_string()));
    let mut out = reply_head(step, &defaults);
    out.extend_from_slice(&body);
    wire.write(&out).await?;
    Ok(Some(wire).filter(|_| !step.closes()))
}

async fn chunks(
    step: &Step,
    mut defaults: Vec<(&str, String)>,
    mut wire: Wire,
    shared: &Shared,
) -> io::Result<Option<Wire>> {
    defaults.push(("transfer-encoding", "chunked".to_owned()));
    wire.write(&reply_head(step, &defaults)).await?;
    let framed = step.framed();
    for _ in 0..step.loops {
        for chunk in step.chunks.iter().flatten() {
            let wait = Duration::from_millis(chunk.after_ms);
            let mut there = wait.is_zero() || wire.still_there_after(wait).await;
            if let (true, Some(data)) = (there, chunk.bytes()) {
                there = wire.piece(&data, framed).await.is_ok();
            }
            if !there {
                shared.closed_early.fetch_add(1, Relaxed);
                return Ok(None);
            }
        }
    }
    match step.end {
        End::End if framed => {
            wire.write(b"0\r\n\r\n").await?;
            Ok(Some(wire).filter(|_| !step.closes()))
        }
        End::End | End::Close => Ok(None),
        End::Reset => wire.reset().map(|()| None),
        End::Hang => Ok(until_gone(wire, shared).await),
    }
}

async fn until_gone(mut wire: Wire, shared: &Shared) -> Option<Wire> {
    wire.gone().await;
    shared.closed_early.fetch_add(1, Relaxed);
    None
}
