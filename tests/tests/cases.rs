//! Plays `cases/*.jsonl` against the gateway's binary, each case with a gateway of its own.
//!
//! - `MAINSTAY_CASES_FILTER=text`: only cases whose id or title holds the text.
//! - `MAINSTAY_CASES_JOBS=n`: so many at a time; 4 unless set.
//! - `MAINSTAY_CASES_AGAIN=1`: what failed is played once more, alone, and counts as passed then, and is named: many cases
//!   are about time, and a busy machine has other ideas of it.
//! - `MAINSTAY_CASES_WAITING=1`: also those that wait for something.
//! - `MAINSTAY_CASES=files`: these files (separated as in `PATH`) instead of our own.
//! - `MAINSTAY_BIN=path`: this binary instead of the one that is built.

#![allow(clippy::expect_used, clippy::panic)]

use mainstay_tests::{
    cases::{Case, load, run},
    gateway::binary,
};
use std::{env, path::PathBuf, sync::Arc};
use tokio::{sync::Semaphore, task::JoinSet};

fn files() -> Vec<PathBuf> {
    if let Some(given) = env::var_os("MAINSTAY_CASES") {
        return env::split_paths(&given).collect();
    }
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("cases");
    let entries = folder.read_dir().expect("tests/cases is there");
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    files.sort();
    files
}

fn number(name: &str, default: usize) -> usize {
    env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_passes() {
    let filter = env::var("MAINSTAY_CASES_FILTER").unwrap_or_default().to_lowercase();
    let waiting = number("MAINSTAY_CASES_WAITING", 0) > 0;
    let cases = load(files()).unwrap_or_else(|error| panic!("{error}"));
    let chosen = |case: &Case| format!("{} {}", case.id, case.title).to_lowercase().contains(&filter);
    let (skipped, cases): (Vec<_>, Vec<_>) =
        cases.into_iter().filter(chosen).partition(|case| case.waits_for.is_some() && !waiting);
    for case in &skipped {
        println!(
            "skip {} {}: waits for {}",
            case.id,
            case.title,
            case.waits_for.as_deref().unwrap_or_default()
        );
    }
    assert!(!cases.is_empty() || !skipped.is_empty(), "no case holds {filter:?}");

    tokio::task::spawn_blocking(binary).await.expect("the gateway's binary");
    let gate = Arc::new(Semaphore::new(number("MAINSTAY_CASES_JOBS", 4).max(1)));
    let total = cases.len();
    let mut running = JoinSet::new();
    for case in cases {
        let gate = Arc::clone(&gate);
        running.spawn(async move {
            let _turn = gate.acquire_owned().await;
            let failures = run(&case).await;
            (case, failures)
        });
    }
    let again = number("MAINSTAY_CASES_AGAIN", 0) > 0;
    let (mut failed, mut suspects) = (Vec::new(), Vec::new());
    while let Some(done) = running.join_next().await {
        let (case, failures) = done.expect("a case that is wrong itself");
        if !failures.is_empty() {
            println!("FAIL {} {}", case.id, case.title);
            failures.iter().for_each(|line| println!("     {line}"));
            if again { suspects.push(case) } else { failed.push(case.id) }
        }
    }
    for case in suspects {
        let failures = run(&case).await;
        println!("again {}: {}", case.id, if failures.is_empty() { "passed alone" } else { "FAIL" });
        if !failures.is_empty() {
            failures.iter().for_each(|line| println!("     {line}"));
            failed.push(case.id);
        }
    }
    failed.sort();
    println!("{} passed, {} failed, {} skipped", total - failed.len(), failed.len(), skipped.len());
    assert!(failed.is_empty(), "these cases failed: {}", failed.join(" "));
}
