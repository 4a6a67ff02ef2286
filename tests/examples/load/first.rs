//! The time to the first event: what a proxy adds to it, at once and behind a model that takes its time.

use super::{
    Asked,
    drive::{Caller, delayed, median, micros, quantile},
    process::{Target, Targets},
};
use std::time::Duration;

/// How many milliseconds pass between a stream's head and its first event.
const DELAYS: [usize; 3] = [0, 20, 200];

pub(crate) async fn run(asked: &Asked, targets: &Targets) {
    println!("\nfirst event     delay ms   p50 us   p99 us   added p50 us   over bare us   ratio to bare");
    for delay in DELAYS {
        let all: Vec<&Target> = std::iter::once(&targets.provider).chain(targets.between()).collect();
        let streams = (asked.requests / 4).min(2000 / (delay / 4).max(1)).max(20);
        let mut rounds: Vec<Vec<[f64; 2]>> = all.iter().map(|_| Vec::new()).collect();
        for target in &all {
            firsts(target, delay, 20).await;
        }
        for _ in 0..asked.rounds {
            for (target, rounds) in all.iter().zip(&mut rounds) {
                let mut times = firsts(target, delay, streams).await;
                times.sort_unstable();
                rounds.push([0.5, 0.99].map(|part| micros(quantile(&times, part))));
            }
        }
        let of = |at: usize, what: usize| median(rounds[at].iter().map(|round| round[what]).collect());
        for (at, target) in all.iter().enumerate() {
            println!(
                "{:12} {delay:>11} {:>8.0} {:>8.0} {:>14.0} {:>14.0} {:>15.3}",
                target.name,
                of(at, 0),
                of(at, 1),
                of(at, 0) - of(0, 0),
                of(at, 0) - of(1, 0),
                of(at, 0) / of(1, 0),
            );
        }
    }
}

/// So many streams, one after the other on one connection: how long each took to its first event.
async fn firsts(target: &Target, delay: usize, streams: usize) -> Vec<Duration> {
    let mut caller = Caller::connect(target.address).await;
    let mut times = Vec::with_capacity(streams);
    for _ in 0..streams {
        let (first, _) = caller.stream(delayed(delay)).await;
        times.push(first);
    }
    times
}
