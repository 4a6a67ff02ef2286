//! A load on the gateway, beside a bare hyper proxy and nginx, against the same provider, on loopback.
//!
//! ```text
//! cargo build --release -p mainstay-gateway
//! cargo run --release -p mainstay-tests --example load                   everything, some minutes
//! cargo run --release -p mainstay-tests --example load -- calls streams  some of it
//! cargo run --release -p mainstay-tests --example load -- calls --requests 20000 --rounds 9
//! cargo run --release -p mainstay-tests --example load -- soak --soak 100000
//! ```
//!
//! What can be asked for: `start` (until `/readyz`, memory when idle), `calls` (CPU per request, latencies at 1, 8 and 64
//! connections), `streams` (time to first event, gap between events, CPU per event of streams of `--events`, the call itself
//! included), `first` (time to first event alone, from a provider that has it at once, after 20 ms and after 200 ms), `idle`
//! (memory of 1,000 and of up to 10,000 open streams, as many as the limit of open files lets: a proxy needs two for each;
//! then memory and files when they are gone), `flood` (a stream of `--mebibytes` that a caller takes as fast as it comes, and
//! one without end of which a caller takes a byte a second for `--seconds`: memory, and what the provider was let send),
//! `outage` (latencies of a route whose first target is dead and its circuit open, beside the gateway with the second one
//! alone: an outage is to cost callers nothing, which is a ratio of the p50 of at most 1.1), `soak` (100,000 calls and a
//! tenth as many streams, some of them left in the middle; then memory beside that of a busy server, files, calls that
//! count as running).
//!
//! Every server is a process of its own: the provider, the proxy (a hyper server over hyper-util's client, no layers, on
//! tokio's usual runtime with a thread a core), the gateway (`MAINSTAY_BIN`, else the binary in the same target folder, with its defaults and one route),
//! and nginx where it is installed. They take turns, round by round, so that a machine that is busy with other things is so
//! for all of them; of CPU time and latencies the round with the median stands. CPU time is that of `/proc/PID/stat`, whose
//! ticks of 10 ms bound its precision. Ratios are to the bare proxy of the same run.
//!
//! For reading: nothing fails because of a figure. Linux only. `cargo test` builds it and does not run it.

// A tool may say loudly that it cannot go on.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod calls;
mod drive;
mod first;
mod flood;
mod idle;
mod outage;
mod process;
mod provider;
mod proxy;
mod soak;
mod start;
mod streams;

use process::Targets;

/// What was asked for.
#[derive(Clone, Debug)]
struct Asked {
    what: Vec<String>,
    requests: usize,
    rounds: usize,
    events: usize,
    streams: usize,
    mebibytes: u64,
    seconds: u64,
    soak: usize,
}

impl Asked {
    fn read() -> Self {
        let mut asked = Self {
            what: Vec::new(),
            requests: 4000,
            rounds: 7,
            events: 100,
            streams: 10_000,
            mebibytes: 2048,
            seconds: 30,
            soak: 100_000,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut number = || words.next().and_then(|word| word.parse().ok()).expect("a number");
            match word.as_str() {
                "--requests" => asked.requests = number(),
                "--rounds" => asked.rounds = number(),
                "--events" => asked.events = number(),
                "--streams" => asked.streams = number(),
                "--mebibytes" => asked.mebibytes = number() as u64,
                "--seconds" => asked.seconds = number() as u64,
                "--soak" => asked.soak = number(),
                "start" | "calls" | "streams" | "first" | "idle" | "flood" | "outage" | "soak" => {
                    asked.what.push(word);
                }
                other => panic!(
                    "{other}? There is start, calls, streams, first, idle, flood, outage, soak, --requests, --rounds, --events, --streams, --mebibytes, --seconds, --soak"
                ),
            }
        }
        asked
    }

    fn wants(&self, what: &str) -> bool {
        self.what.is_empty() || self.what.iter().any(|wanted| wanted == what)
    }
}

fn main() {
    // A role of this program's own children.
    match std::env::args().nth(1).as_deref() {
        Some("--provider") => return process::serve(provider::serve),
        Some("--proxy") => return process::serve(proxy::serve),
        _ => {}
    }
    let asked = Asked::read();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        if asked.wants("start") {
            start::run().await;
        }
        let targets = Targets::start().await;
        if asked.wants("calls") {
            calls::run(&asked, &targets).await;
        }
        if asked.wants("streams") {
            streams::run(&asked, &targets).await;
        }
        if asked.wants("first") {
            first::run(&asked, &targets).await;
        }
        if asked.wants("idle") {
            idle::run(&asked, &targets).await;
        }
        if asked.wants("outage") {
            outage::run(&asked, &targets).await;
        }
        if asked.wants("flood") {
            flood::run(&asked, &targets).await;
        }
        if asked.wants("soak") {
            soak::run(&asked, &targets).await;
        }
    });
}
