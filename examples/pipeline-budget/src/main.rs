//! Three steps, one answer, one minute: a draft, a critique and a rewrite under a `TimeBudget`.
//!
//! Shows how what a quick step leaves over flows on to those that follow, and how a step that takes too long costs the
//! others no more than its share. The steps are calls of a scripted service; the clock is tokio's, paused, so that the
//! minutes pass at once.
//!
//! `cargo run -p example-pipeline-budget` prints
//!
//! ```text
//! a quick draft
//!   draft     has 30.0 s, takes 10.0 s
//!   critique  has 20.0 s, takes 15.0 s
//!   rewrite   has 35.0 s, takes 20.0 s
//!   done after 45.0 s
//! a draft that hangs
//!   draft     has 30.0 s, fails after 30.0 s: the deadline passed before the reply was complete
//!   critique  has 12.0 s, takes 10.0 s
//!   rewrite   has 20.0 s, takes 15.0 s
//!   done after 55.0 s
//! ```

use http::Request;
use mainstay_layers::{
    BoxError,
    deadline::{Deadline, DeadlineLayer, TimeBudget},
};
use mainstay_testkit::memory::{FaultBody, Reply, ScriptedService};
use std::time::Duration;
use tokio::time::Instant;
use tower::{ServiceBuilder, ServiceExt};

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), BoxError> {
    let after = |seconds| Reply::status(200).after(Duration::from_secs(seconds));
    run("a quick draft", [after(10), after(15), after(20)]).await?;
    run("a draft that hangs", [Reply::never(), after(10), after(15)]).await
}

async fn run(name: &str, replies: [Reply; 3]) -> Result<(), BoxError> {
    println!("{name}");
    // The layer enforces the deadline that each request brings along.
    let model = ServiceBuilder::new().layer(DeadlineLayer::new()).service(ScriptedService::new(replies));

    let began = Instant::now();
    let mut budget = TimeBudget::new(Deadline::after(Duration::from_secs(60)), [0.5, 0.2, 0.3]);
    for step in ["draft", "critique", "rewrite"] {
        let deadline = budget.next_step();
        let has = seconds(deadline.remaining());
        let mut request = Request::post("/v1/chat/completions").body(FaultBody::from(step))?;
        request.extensions_mut().insert(deadline);

        let start = Instant::now();
        match model.clone().oneshot(request).await {
            Ok(_) => println!("  {step:9} has {has}, takes {}", seconds(start.elapsed())),
            // A pipeline of one's own knows what to do without this step; this one goes on.
            Err(error) => println!("  {step:9} has {has}, fails after {}: {error}", seconds(start.elapsed())),
        }
    }
    println!("  done after {}", seconds(began.elapsed()));
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
