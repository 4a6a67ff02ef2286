//! A long load, and what is left of it: memory, files, calls that still count as running.

use super::{
    Asked,
    drive::{Caller, plain, streaming},
    process::{Target, Targets},
};
use http_body_util::BodyExt;
use std::{net::SocketAddr, time::Duration};
use tokio::time::{sleep, timeout};

/// How many calls and streams run at once.
const CONNECTIONS: usize = 64;

pub(crate) async fn run(asked: &Asked, targets: &Targets) {
    let (calls, streams) = (asked.soak, asked.soak / 10);
    println!(
        "\nsoak, {calls} calls and {streams} streams, every fourth of which its caller leaves in the middle\n             \
         MiB idle   MiB plateau   MiB after   ratio   files idle   after   in flight"
    );
    for target in [&targets.proxy, &targets.gateway] {
        let (idle, files) = (target.memory(), target.files());
        // A tenth of it first: what is held after that is what a busy server holds.
        load(target, calls / 10, streams / 10).await;
        settled(target, files).await;
        let plateau = target.memory();
        load(target, calls, streams).await;
        settled(target, files).await;
        let after = target.memory();
        let mib = |kib: u64| kib as f64 / 1024.0;
        println!(
            "{:12} {:>8.1} {:>13.1} {:>11.1} {:>7.2} {files:>12} {:>7} {:>11}",
            target.name,
            mib(idle),
            mib(plateau),
            mib(after),
            after as f64 / plateau as f64,
            target.files(),
            in_flight(target).await.map_or("-".to_owned(), |calls| calls.to_string()),
        );
    }
}

async fn load(target: &Target, calls: usize, streams: usize) {
    let address = target.address;
    let callers = (0..CONNECTIONS).map(|_| {
        tokio::spawn(async move {
            let mut caller = Caller::connect(address).await;
            for _ in 0..calls / CONNECTIONS {
                caller.call(plain()).await;
            }
            for at in 0..streams / CONNECTIONS {
                if at % 4 == 0 {
                    leave(address).await;
                } else {
                    caller.stream(streaming(10, 1)).await;
                }
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.expect("a caller");
    }
}

/// Reads the first event of a stream that goes on, and closes the connection.
async fn leave(address: SocketAddr) {
    let mut caller = Caller::connect(address).await;
    let mut body = caller.send(streaming(2, 0)).await.into_body();
    body.frame().await.expect("an event").expect("an event");
}

/// Waits until the connections of callers are gone; those to the provider may stay, to be used again.
async fn settled(target: &Target, files: usize) {
    let gone = async {
        while target.files() > files + CONNECTIONS + 8 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    // What stays open is in the table.
    drop(timeout(Duration::from_secs(20), gone).await);
    sleep(Duration::from_secs(2)).await;
}

/// What the gateway itself says; nothing for the others.
async fn in_flight(target: &Target) -> Option<u64> {
    if target.name != "gateway" {
        return None;
    }
    let status = Caller::connect(target.address).await.get("/status.json").await;
    let status: serde_json::Value = serde_json::from_slice(&status).ok()?;
    let targets = status.get("targets")?.as_array()?;
    Some(targets.iter().filter_map(|target| target.get("in_flight")?.as_u64()).sum())
}
