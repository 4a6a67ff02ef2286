//! Many streams that are open and silent: what each holds, and whether all of it comes back.

use super::{
    Asked,
    drive::{Caller, streaming},
    process::{Target, Targets},
};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::{fs, time::Duration};
use tokio::time::{sleep, timeout};

pub(crate) async fn run(asked: &Asked, targets: &Targets) {
    println!(
        "\nidle streams       open   MiB before   MiB open   KiB each   ratio   MiB after   files before   after"
    );
    let most = asked.streams.min(allowed());
    for open in [1000.min(most), most] {
        let mut first = None;
        for target in targets.between() {
            let (before, files) = (target.memory(), target.files());
            let held = open_streams(target, open).await;
            sleep(Duration::from_millis(500)).await;
            let during = target.memory();
            drop(held);
            // Until the last connection is closed, at both sides.
            let gone = async {
                while target.files() > files + 8 {
                    sleep(Duration::from_millis(50)).await;
                }
            };
            // What stays open is in the table.
            drop(timeout(Duration::from_secs(20), gone).await);
            sleep(Duration::from_secs(1)).await;
            let each = during.saturating_sub(before) as f64 / open as f64;
            let ratio = each / *first.get_or_insert(each);
            let mib = |kib: u64| kib as f64 / 1024.0;
            println!(
                "{:12} {open:>10} {:>12.1} {:>10.1} {each:>10.2} {ratio:>7.2} {:>11.1} {files:>14} {:>7}",
                target.name,
                mib(before),
                mib(during),
                mib(target.memory()),
                target.files(),
            );
        }
    }
}

/// Streams whose first event has come.
async fn open_streams(target: &Target, open: usize) -> Vec<(Caller, Incoming)> {
    let mut held = Vec::with_capacity(open);
    while held.len() < open {
        // As many at once as a listener's queue takes.
        let some = (open - held.len()).min(100);
        let opening = (0..some).map(|_| {
            let address = target.address;
            tokio::spawn(async move {
                let mut caller = Caller::connect(address).await;
                let mut body = caller.send(streaming(2, 0)).await.into_body();
                body.frame().await.expect("an event").expect("an event");
                (caller, body)
            })
        });
        let opening: Vec<_> = opening.collect();
        for stream in opening {
            held.push(stream.await.expect("a stream"));
        }
    }
    held
}

/// How many streams the limit of open files lets a proxy hold: two files each.
fn allowed() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    soft.map_or(400, |soft| soft.saturating_sub(200) / 2)
}
