//! A drill: 10,000 calls of which three in ten fail at the primary provider, then the primary dies, then it comes back.
//!
//! Shows what retries, a circuit and a fallback make of that, in hours that pass in seconds: the clock is tokio's, paused,
//! the failures come from a seed, and two runs are the same. `lib.rs` is the drill; `tests/drill.rs` holds it to what the
//! table says.
//!
//! `cargo run -p example-fault-drill` prints
//!
//! ```text
//! three in ten calls fail, by chance
//!   calls                              10000
//!   failures at the primary             3755
//!   served by the primary               8739
//!   served by the second                1261
//!   not served                             0
//!   success rate                      100.00 %
//!   5 in a row: the circuit opened         22 times
//! the primary is dead, 20 callers at once
//!   calls                               6002
//!   reached it until the circuit opened    5
//!   reached it per 30s, at most 3          3
//!   success rate                      100.00 %
//! it is well again
//!   first call after 30s served by    primary
//! ```

use example_fault_drill::{BURST, FAILURES, OPEN_FOR, PROBES, drill};
use mainstay::BoxError;

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), BoxError> {
    let report = drill(7, 10_000).await?;
    let (random, outage) = (report.random, report.outage);
    println!("three in ten calls fail, by chance");
    println!("  calls                             {:>6}", random.calls);
    println!("  failures at the primary           {:>6}", report.injected);
    println!("  served by the primary             {:>6}", random.primary);
    println!("  served by the second              {:>6}", random.second);
    println!("  not served                        {:>6}", random.failed);
    println!("  success rate                      {:>6.2} %", random.success_rate());
    println!("  {FAILURES} in a row: the circuit opened     {:>6} times", report.opened);
    println!("the primary is dead, {BURST} callers at once");
    println!("  calls                             {:>6}", outage.calls);
    println!("  reached it until the circuit opened {:>4}", report.until_open);
    println!("  reached it per {OPEN_FOR:?}, at most {PROBES}     {:>6}", report.most_probes);
    println!("  success rate                      {:>6.2} %", outage.success_rate());
    println!("it is well again");
    println!("  first call after {OPEN_FOR:?} served by   {:>8}", report.first_after);
    Ok(())
}
