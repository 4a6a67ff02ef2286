//! Calls that are no streams.

use super::{
    Asked,
    drive::{Caller, median, micros, plain, quantile},
    process::{Target, Targets},
};
use std::time::Duration;

/// One target in one round.
struct Round {
    cpu: f64,
    p50: f64,
    p99: f64,
}

pub(crate) async fn run(asked: &Asked, targets: &Targets) {
    println!("\nrequests       connections   CPU us   ratio      p50 us   p99 us   added p50   added p99");
    for connections in [1, 8, 64] {
        let all: Vec<&Target> = std::iter::once(&targets.provider).chain(targets.between()).collect();
        let mut rounds: Vec<Vec<Round>> = all.iter().map(|_| Vec::new()).collect();
        for target in &all {
            load(target, connections, asked.requests / 4).await;
        }
        for _ in 0..asked.rounds {
            for (target, rounds) in all.iter().zip(&mut rounds) {
                let cpu = target.cpu();
                let mut times = load(target, connections, asked.requests).await;
                let cpu = micros(target.cpu() - cpu) / times.len() as f64;
                times.sort_unstable();
                let at = |part| micros(quantile(&times, part));
                rounds.push(Round { cpu, p50: at(0.5), p99: at(0.99) });
            }
        }
        let of = |at: usize, what: fn(&Round) -> f64| median(rounds[at].iter().map(what).collect());
        // CPU time comes in ticks: over all rounds it is finer than a median of few.
        let cpu = |at: usize| rounds[at].iter().map(|round| round.cpu).sum::<f64>() / rounds[at].len() as f64;
        for (at, target) in all.iter().enumerate() {
            let (p50, p99) = (of(at, |round| round.p50), of(at, |round| round.p99));
            println!(
                "{:12} {connections:>13} {:>8.1} {:>7.2} {p50:>11.0} {p99:>8.0} {:>11.0} {:>11.0}",
                target.name,
                cpu(at),
                cpu(at) / cpu(1),
                p50 - of(0, |round| round.p50),
                p99 - of(0, |round| round.p99),
            );
        }
    }
    for target in targets.between() {
        println!(
            "{:12} afterwards: {:.1} MiB, {} files",
            target.name,
            target.memory() as f64 / 1024.0,
            target.files()
        );
    }
}

/// So many requests over so many connections; how long each took.
pub(crate) async fn load(target: &Target, connections: usize, requests: usize) -> Vec<Duration> {
    let callers = (0..connections).map(|_| {
        let address = target.address;
        tokio::spawn(async move {
            let mut caller = Caller::connect(address).await;
            let mut times = Vec::with_capacity(requests / connections);
            for _ in 0..requests / connections {
                times.push(caller.call(plain()).await);
            }
            times
        })
    });
    let callers: Vec<_> = callers.collect();
    let mut all = Vec::with_capacity(requests);
    for caller in callers {
        all.extend(caller.await.expect("a caller"));
    }
    all
}
