//! The drill, held to its word.

use example_fault_drill::{BURST, FAILURES, PROBES, drill};

#[tokio::test(start_paused = true)]
async fn callers_see_next_to_nothing_of_failures_and_of_an_outage() {
    let report = drill(1, 10_000).await.unwrap();
    assert_eq!(report.random.calls, 10_000);
    let tries = report.injected + report.random.primary;
    let share = report.injected as f64 / tries as f64;
    assert!((0.28..0.32).contains(&share), "three in ten tries fail: {share}");
    assert!(report.random.success_rate() >= 99.9, "{report:?}");

    assert_eq!(report.until_open, FAILURES as usize);
    assert!(report.outage.calls > 100 * BURST);
    assert_eq!(report.outage.failed, 0, "{report:?}");
    assert!(report.most_probes > 0 && report.most_probes <= PROBES as usize, "{report:?}");
    assert_eq!(report.first_after, "primary");
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_is_the_same_drill() {
    let (one, two) = (drill(3, 500).await.unwrap(), drill(3, 500).await.unwrap());
    assert_eq!(one, two);
    assert_ne!(one, drill(4, 500).await.unwrap());
}
