//! The price list: what each layer, and the whole stack, costs a call and a frame of a stream.
//!
//! ```text
//! cargo bench -p mainstay --all-features --bench stack_cost                     allocations, bytes, time
//! cargo bench -p mainstay --all-features --bench stack_cost -- --instructions   and instructions: needs valgrind
//! cargo bench -p mainstay --all-features --bench stack_cost -- --only retry     cases whose names hold this
//! cargo bench -p mainstay --all-features --bench stack_cost -- --list           the names
//! ```
//!
//! Where the instructions of one case go is a question for callgrind, on the same program:
//!
//! ```text
//! valgrind --tool=callgrind target/release/deps/stack_cost-HASH --case "call: a target's stack" --rounds 2000
//! callgrind_annotate callgrind.out.PID
//! ```
//!
//! - *Calls* go to a service that reads the request's body and replies at once, from memory; all that a case costs more
//!   than the bare service is its layers' price. *Loopback* calls go through the hyper client to a scripted provider, which is
//!   a process of its own, so that only the client's side is counted.
//! - *Retry*, *breaker* and *concurrency* have ours beside tower's and tower-resilience's, over the same service. reqwest's
//!   retry is a part of its client: *loopback retry* has that client without and with it, beside ours without and with
//!   `RetryLayer`; compare what a retry adds, as the clients differ. All calls succeed at once, or are rejected at once.
//! - *A guard in the body, alone* is a layer that wraps the reply's body so as to learn of its end, and does nothing else: what a
//!   breaker or a limit costs more than that is its own.
//! - *Frames* are those of a stream of 1,000 events, at hand at once, or (`late`) each pending once, as on a socket. The
//!   figures are those of the whole call divided by the events.
//! - `held` is what the heap keeps for a stream that is open and waits, after its first event.
//! - `future` is the size of the call's future in bytes, which whoever runs it must keep somewhere.
//! - Allocations are counted by an allocator that counts for each thread, and calls run on one; it costs every case a few
//!   instructions for each of them. Time is the best of several rounds. Instructions are the difference between two runs of
//!   different length, so that what a start costs is in neither.
//!
//! For reading, and for a gate by instructions and allocations; never by time. `cargo test` does not run it.

// A bench may say loudly that it cannot go on.
#![allow(clippy::expect_used, clippy::panic)]

mod calls;
mod frames;
mod guarded;
mod loopback;
mod measure;
mod memory;
mod theirs;

use measure::Case;
use std::process::ExitCode;

/// What was asked for.
#[derive(Debug, Default)]
struct Asked {
    bench: bool,
    list: bool,
    instructions: bool,
    provider: bool,
    only: Option<String>,
    case: Option<String>,
    rounds: u32,
}

impl Asked {
    fn read() -> Self {
        let mut asked = Self { rounds: 1000, ..Self::default() };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_else(|| panic!("{word} needs a value"));
            match word.as_str() {
                // cargo bench says so.
                "--bench" => asked.bench = true,
                "--list" => asked.list = true,
                "--instructions" => asked.instructions = true,
                "--provider" => asked.provider = true,
                "--only" => asked.only = Some(value()),
                "--case" => asked.case = Some(value()),
                "--rounds" => asked.rounds = value().parse().expect("--rounds needs a number"),
                other => panic!("{other} is no option of this bench"),
            }
        }
        asked
    }
}

fn main() -> ExitCode {
    let asked = Asked::read();
    if asked.provider {
        return loopback::serve();
    }
    if let Some(name) = &asked.case {
        // One case and nothing else: for an instrument around this process.
        let mut case = cases().into_iter().find(|case| case.name == *name).expect("--list has the names");
        (case.run)(asked.rounds);
        return ExitCode::SUCCESS;
    }
    if !asked.bench && !asked.list && !asked.instructions && asked.only.is_none() {
        println!("a bench: run it with cargo bench");
        return ExitCode::SUCCESS;
    }
    let chosen =
        cases().into_iter().filter(|case| asked.only.as_deref().is_none_or(|only| case.name.contains(only)));
    if asked.list {
        chosen.for_each(|case| println!("{}", case.name));
        return ExitCode::SUCCESS;
    }
    measure::table(chosen, asked.instructions);
    ExitCode::SUCCESS
}

fn cases() -> Vec<Case> {
    let mut all = calls::cases();
    all.extend(theirs::whole());
    all.extend(loopback::cases());
    all.extend(frames::cases());
    all.extend(theirs::frames());
    all
}
