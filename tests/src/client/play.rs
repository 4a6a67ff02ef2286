//! One exchange.

use super::{Action, Reply, Request, connection::Connection};
use parking_lot::Mutex;
use std::{collections::HashMap, future::Future, io, pin::pin, time::Duration};
use tokio::{
    io::AsyncWriteExt,
    time::{Instant, sleep},
};

const MAX_BODY: usize = 64 << 20;

/// The connections that are kept, by name.
#[derive(Default)]
pub struct Kept(Mutex<HashMap<String, Connection>>);

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.lock().keys()).finish()
    }
}

/// Sends the request to that port of loopback and reads the reply, as far as it comes. Never fails: a reply that did
/// not come has no status.
pub async fn play(port: u16, request: &Request, kept: &Kept) -> Reply {
    let (mut reply, start) = (Reply::default(), Instant::now());
    let before = request.via.as_ref().and_then(|name| kept.0.lock().remove(name));
    let connection = match before {
        Some(connection) => connection,
        None => match Connection::open(port).await {
            Ok(connection) => connection,
            Err(_) => return reply,
        },
    };
    let left = exchange(connection, &request.wire(port), &request.action, &mut reply, start).await;
    reply.elapsed_ms = Some(millis(start));
    if let (Some(name), Some(connection), true) = (&request.via, left, reply.complete) {
        if reply.header("connection") != Some("close") {
            kept.0.lock().insert(name.clone(), connection);
        }
    }
    reply.unpack();
    reply
}

fn millis(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}

/// Plays it on the connection; the connection again where the exchange came to its end.
async fn exchange(
    mut connection: Connection,
    bytes: &[u8],
    action: &Action,
    reply: &mut Reply,
    start: Instant,
) -> Option<Connection> {
    if let Some(after) = action.disconnect_after_ms {
        let send = connection.write.write_all(bytes);
        // The send may end first, or never; the moment of leaving is the same.
        beside(send, sleep(Duration::from_millis(after))).await;
        connection.leave(action.fin);
        return None;
    }
    // A server may answer, and close, before it has the whole request: what it said counts, not that sending failed.
    let Connection { read, write } = &mut connection;
    let read = async {
        sleep(Duration::from_millis(action.pause_ms)).await;
        receive(read, action, reply, start).await
    };
    let left = beside(write.write_all(bytes), read).await;
    match left {
        Ok(false) => Some(connection),
        Ok(true) => {
            connection.leave(action.fin);
            None
        }
        Err(_) => None,
    }
}

/// Drives both; ends with the second.
async fn beside<T>(first: impl Future, second: impl Future<Output = T>) -> T {
    let (mut first, mut second) = (pin!(first), pin!(second));
    tokio::select! {
        biased;
        done = &mut second => return done,
        _ = &mut first => {}
    }
    second.await
}

/// Reads head and body; whether the client is to leave now.
async fn receive(
    read: &mut super::connection::Reader,
    action: &Action,
    reply: &mut Reply,
    start: Instant,
) -> io::Result<bool> {
    let mut head;
    loop {
        head = read.until(b"\r\n\r\n").await?;
        let status = head.split(' ').nth(1).and_then(|status| status.get(..3)?.parse().ok());
        reply.status = Some(status.ok_or_else(|| io::Error::other("no status line"))?);
        if status >= Some(200) {
            break;
        }
    }
    let headers = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    reply.headers = headers.map(|(k, v)| (k.trim().to_ascii_lowercase(), v.trim().to_owned())).collect();
    let chunked =
        reply.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"));
    let mut left: Option<usize> = reply.header("content-length").and_then(|length| length.parse().ok());
    loop {
        let data = match left {
            _ if chunked => {
                let size = read.chunk_size().await?;
                let data = read.exactly(size).await?;
                read.line_end(size == 0).await?;
                data
            }
            Some(0) => Default::default(),
            Some(most) => read.some(most.min(1 << 16)).await?,
            None => read.some(1 << 16).await?,
        };
        if data.is_empty() {
            reply.complete = chunked || left.is_none_or(|left| left == 0);
            return if reply.complete { Ok(false) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        left = left.map(|left| left - data.len());
        reply.first_ms.get_or_insert_with(|| millis(start));
        reply.body.extend_from_slice(&data);
        let enough = action.disconnect_after_bytes.is_some_and(|bytes| reply.body.len() >= bytes);
        if enough || reply.body.len() > MAX_BODY {
            return Ok(true);
        }
    }
}
