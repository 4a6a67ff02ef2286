//! The connections that are idle, and the way back to them.

use super::connection::Connection;
use http::{Uri, uri};
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    fmt, mem,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{runtime::Handle, time::Instant};

/// The idle connections, by origin.
pub(super) struct Idle {
    kept: Mutex<Kept>,
    /// For each origin.
    max: usize,
    timeout: Option<Duration>,
}

#[derive(Default)]
struct Kept {
    // In order rather than hashed: a provider has one origin, and comparing it is cheaper.
    cleartext: BTreeMap<Box<str>, Vec<Connection>>,
    tls: BTreeMap<Box<str>, Vec<Connection>>,
    /// A task throws away what was idle for too long.
    swept: bool,
}

impl Kept {
    fn of(&mut self, https: bool) -> &mut BTreeMap<Box<str>, Vec<Connection>> {
        if https { &mut self.tls } else { &mut self.cleartext }
    }
}

impl Idle {
    pub(super) fn new(max: usize, timeout: Option<Duration>) -> Self {
        Self { kept: Mutex::default(), max, timeout }
    }

    /// The connection to this origin that was used last and lives.
    pub(super) fn take(&self, uri: &Uri) -> Option<Connection> {
        let https = uri.scheme() == Some(&uri::Scheme::HTTPS);
        let authority = uri.authority()?.as_str();
        // What is thrown away is dropped without the lock.
        let mut dead = Vec::new();
        let mut kept = self.kept.lock();
        let idle = kept.of(https).get_mut(authority)?;
        let found = loop {
            match idle.pop() {
                Some(connection) if connection.sender.is_ready() && !self.is_old(&connection) => {
                    break Some(connection);
                }
                Some(connection) => dead.push(connection),
                None => break None,
            }
        };
        drop(kept);
        found
    }

    fn is_old(&self, connection: &Connection) -> bool {
        self.timeout.is_some_and(|timeout| connection.since.elapsed() >= timeout)
    }

    fn put(self: &Arc<Self>, mut connection: Connection) {
        connection.used = true;
        connection.since = Instant::now();
        let origin = connection.origin.clone();
        let mut kept = self.kept.lock();
        let by_origin = kept.of(origin.https);
        let authority = origin.authority.as_str();
        let idle = match by_origin.get_mut(authority) {
            Some(idle) => idle,
            None => by_origin.entry(authority.into()).or_default(),
        };
        if idle.len() < self.max {
            idle.push(connection);
        }
        if let (Some(timeout), false) = (self.timeout, kept.swept) {
            if let Ok(runtime) = Handle::try_current() {
                kept.swept = true;
                runtime.spawn(sweep(Arc::downgrade(self), timeout));
            }
        }
    }

    /// Throws away what was idle for too long or has closed; whether anything is left.
    fn sweep(&self) -> bool {
        let mut dead = Vec::new();
        let mut kept = self.kept.lock();
        for https in [false, true] {
            kept.of(https).retain(|_, idle| {
                let is_dead = |one: &Connection| one.sender.is_closed() || self.is_old(one);
                let (gone, alive): (Vec<_>, Vec<_>) = mem::take(idle).into_iter().partition(is_dead);
                dead.extend(gone);
                *idle = alive;
                !idle.is_empty()
            });
        }
        kept.swept = !(kept.cleartext.is_empty() && kept.tls.is_empty());
        kept.swept
    }
}

/// Sweeps until nothing is idle, or nobody there to use it.
async fn sweep(idle: Weak<Idle>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let swept = idle.upgrade().is_some_and(|idle| idle.sweep());
        if !swept {
            return;
        }
    }
}

/// The connection of a call. Dropped, it is closed.
pub(in super::super) struct Lease {
    connection: Option<Connection>,
    idle: Weak<Idle>,
}

impl Lease {
    pub(super) fn new(connection: Connection, idle: &Arc<Idle>) -> Self {
        Self { connection: Some(connection), idle: Arc::downgrade(idle) }
    }

    /// The reply has ended: the connection is free for another call, as soon as it says so.
    pub(in super::super) fn give_back(mut self) {
        let (Some(mut connection), Some(idle)) = (self.connection.take(), self.idle.upgrade()) else {
            return;
        };
        if idle.max == 0 || connection.sender.is_closed() {
            return;
        }
        if connection.sender.is_ready() {
            idle.put(connection);
        } else if let Ok(runtime) = Handle::try_current() {
            // It has yet to see the end of the reply itself, or still sends the request.
            runtime.spawn(async move {
                if connection.sender.ready().await.is_ok() {
                    idle.put(connection);
                }
            });
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lease")
    }
}
