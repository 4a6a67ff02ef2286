//! Streams whose events come one by one.

use super::{
    Asked,
    drive::{Caller, median, micros, quantile, streaming},
    process::{Target, Targets},
};
use std::{future::Future, time::Duration};

/// How many milliseconds lie between the events of a stream.
const GAP: usize = 2;
/// How many streams a connection has, one after the other.
const STREAMS: usize = 4;

/// One target in one round.
struct Round {
    cpu: f64,
    first: f64,
    first_p99: f64,
    gap_p50: f64,
    gap_p99: f64,
}

pub(crate) async fn run(asked: &Asked, targets: &Targets) {
    println!(
        "\nstreams        connections   CPU us/event   ratio   first p50 us   p99   ratio of p50   gap p50 us   p99"
    );
    for connections in [1, 8, 64] {
        let all: Vec<&Target> = std::iter::once(&targets.provider).chain(targets.between()).collect();
        let mut rounds: Vec<Vec<Round>> = all.iter().map(|_| Vec::new()).collect();
        for _ in 0..asked.rounds {
            for (target, rounds) in all.iter().zip(&mut rounds) {
                let cpu = target.cpu();
                let mut gaps = gaps(target, connections, asked.events).await;
                let cpu = micros(target.cpu() - cpu) / (connections * STREAMS * asked.events) as f64;
                let mut firsts = firsts(target, connections, asked.requests / 4).await;
                firsts.sort_unstable();
                gaps.sort_unstable();
                let first = |part| micros(quantile(&firsts, part));
                let gap = |part| micros(quantile(&gaps, part));
                rounds.push(Round {
                    cpu,
                    first: first(0.5),
                    first_p99: first(0.99),
                    gap_p50: gap(0.5),
                    gap_p99: gap(0.99),
                });
            }
        }
        let of = |at: usize, what: fn(&Round) -> f64| median(rounds[at].iter().map(what).collect());
        let cpu = |at: usize| rounds[at].iter().map(|round| round.cpu).sum::<f64>() / rounds[at].len() as f64;
        for (at, target) in all.iter().enumerate() {
            println!(
                "{:12} {connections:>13} {:>14.1} {:>7.2} {:>14.0} {:>5.0} {:>14.2} {:>12.0} {:>5.0}",
                target.name,
                cpu(at),
                cpu(at) / cpu(1),
                of(at, |round| round.first),
                of(at, |round| round.first_p99),
                of(at, |round| round.first) / of(1, |round| round.first),
                of(at, |round| round.gap_p50),
                of(at, |round| round.gap_p99),
            );
        }
    }
}

/// The gaps between the events of some streams at once.
async fn gaps(target: &Target, connections: usize, events: usize) -> Vec<Duration> {
    each(target, connections, STREAMS, move |mut caller| async move {
        let (_, gaps) = caller.stream(streaming(events, GAP)).await;
        (caller, gaps)
    })
    .await
}

/// The times to the first event of many short streams: of one word and an end, since one without a word is no answer.
async fn firsts(target: &Target, connections: usize, streams: usize) -> Vec<Duration> {
    each(target, connections, streams.div_ceil(connections), |mut caller| async move {
        let (first, _) = caller.stream(streaming(2, GAP)).await;
        (caller, vec![first])
    })
    .await
}

/// What so many rounds of something measure on so many connections.
async fn each<A, F>(target: &Target, connections: usize, rounds: usize, measure: A) -> Vec<Duration>
where
    A: Fn(Caller) -> F + Copy + Send + 'static,
    F: Future<Output = (Caller, Vec<Duration>)> + Send,
{
    let address = target.address;
    let callers = (0..connections).map(|_| {
        tokio::spawn(async move {
            let mut caller = Caller::connect(address).await;
            let mut all = Vec::new();
            for _ in 0..rounds {
                let (back, times) = measure(caller).await;
                caller = back;
                all.extend(times);
            }
            all
        })
    });
    let callers: Vec<_> = callers.collect();
    let mut all = Vec::new();
    for caller in callers {
        all.extend(caller.await.expect("a caller"));
    }
    all
}
