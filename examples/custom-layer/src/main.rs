//! A layer of one's own among the others: a quota for each team, which a retry above understands.
//!
//! `lib.rs` is the layer, and says what makes it a good neighbour. `tests/contract.rs` checks that with the testkit's
//! probe, as the layers of Mainstay are checked; copy it for yours. Time is tokio's, paused.
//!
//! `cargo run -p example-custom-layer` prints
//!
//! ```text
//! alone
//!   search: 200
//!   search: 200
//!   search: the team has used up its 2 calls of this minute; it is a rate_limited, and over in 60 s
//!   ads: 200
//! under a retry
//!   search: 200 after 0 s and 1 try
//!   search: 200 after 0 s and 1 try
//!   search: 200 after 60 s and 2 tries
//! ```

use bytes::Bytes;
use example_custom_layer::TeamQuotaLayer;
use http::{Request, Response};
use http_body_util::Full;
use mainstay_layers::{
    BoxError,
    classify::Failed,
    error::find_cause,
    retry::{Jitter, RetryLayer, RetryOutcome},
};
use tokio::time::Instant;
use tower::{Service, ServiceBuilder, ServiceExt};

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), BoxError> {
    println!("alone");
    let mut alone = ServiceBuilder::new().layer(TeamQuotaLayer::new(2)).service_fn(answer);
    for team in ["search", "search", "search", "ads"] {
        match alone.ready().await?.call(call(team)?).await {
            Ok(reply) => println!("  {team}: {}", reply.status().as_u16()),
            Err(error) => {
                let verdict = find_cause::<Failed>(&*error).map(Failed::verdict).ok_or("no verdict")?;
                let wait = verdict.wait.unwrap_or_default().as_secs();
                println!("  {team}: {error}; it is a {}, and over in {wait} s", verdict.class);
            }
        }
    }

    println!("under a retry");
    let mut retried = ServiceBuilder::new()
        .layer(RetryLayer::new().with_jitter(Jitter::None))
        .layer(TeamQuotaLayer::new(2))
        .service_fn(answer);
    for team in ["search"; 3] {
        let start = Instant::now();
        let reply = retried.ready().await?.call(call(team)?).await?;
        let tries = reply.extensions().get::<RetryOutcome>().map_or(1, |outcome| outcome.attempts);
        let (status, after) = (reply.status().as_u16(), start.elapsed().as_secs());
        println!(
            "  {team}: {status} after {after} s and {tries} {}",
            if tries == 1 { "try" } else { "tries" }
        );
    }
    Ok(())
}

fn call(team: &str) -> Result<Request<Full<Bytes>>, http::Error> {
    Request::post("/v1/chat/completions").header("x-team", team).body(Full::default())
}

async fn answer<B>(_: Request<B>) -> Result<Response<Full<Bytes>>, BoxError> {
    Ok(Response::new(Full::from("fine")))
}
