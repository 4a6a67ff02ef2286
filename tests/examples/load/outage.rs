//! What an outage costs the callers of a route that has a fallback.

use super::{
    Asked, calls,
    drive::{Caller, median, micros, plain, quantile},
    process::{Target, Targets, free},
};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::net::SocketAddr;
use tokio::net::TcpStream;

pub(crate) async fn run(asked: &Asked, targets: &Targets) {
    let well = format!(
        "[providers.well]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\nproxy = \"off\"\n",
        targets.provider.address
    );
    // Nobody listens there.
    let dead = format!(
        "[providers.dead]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\nproxy = \"off\"\n\
         retry.attempts = 1\nbreaker.open_for = \"1h\"\n",
        free()
    );
    let route = |list: &str| format!("[[routes]]\nmodels = [\"gpt-*\"]\ntargets = [{list}]\n");
    let alone = Target::gateway_of("alone", &[&*well, &*route("\"well\"")].concat()).await;
    let behind =
        Target::gateway_of("outage", &[&*dead, &*well, &*route("\"dead\", \"well\"")].concat()).await;
    // Callers see none of it: each of these calls is answered.
    let mut caller = Caller::connect(behind.address).await;
    for _ in 0..5 {
        caller.call(plain()).await;
    }
    assert_eq!(circuit(behind.address).await, "open");

    println!("\noutage         connections     p50 us   p99 us   ratio of p50");
    for connections in [1, 8, 64] {
        let both = [&alone, &behind];
        for target in both {
            calls::load(target, connections, asked.requests / 4).await;
        }
        let mut rounds: [Vec<(f64, f64)>; 2] = Default::default();
        for _ in 0..asked.rounds {
            for (target, rounds) in both.iter().zip(&mut rounds) {
                let mut times = calls::load(target, connections, asked.requests).await;
                times.sort_unstable();
                rounds.push((micros(quantile(&times, 0.5)), micros(quantile(&times, 0.99))));
            }
        }
        let p50s = rounds.each_ref().map(|rounds| median(rounds.iter().map(|round| round.0).collect()));
        for ((target, rounds), p50) in both.iter().zip(&rounds).zip(p50s) {
            let p99 = median(rounds.iter().map(|round| round.1).collect());
            println!("{:12} {connections:>13} {p50:>10.0} {p99:>8.0} {:>14.3}", target.name, p50 / p50s[0]);
        }
    }
    assert_eq!(circuit(behind.address).await, "open", "all of it was measured while the circuit was open");
}

/// The circuit of the first target, as the gateway's status tells it.
async fn circuit(gateway: SocketAddr) -> String {
    let socket = TcpStream::connect(gateway).await.expect("a connection");
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(socket)).await.expect("a connection");
    let connection = tokio::spawn(async move { drop(connection.await) });
    let request = Request::get("/status.json").header("host", "x").body(Empty::<Bytes>::new());
    let reply = sender.send_request(request.expect("a request")).await.expect("a reply");
    let body = reply.into_body().collect().await.expect("a body").to_bytes();
    connection.abort();
    let seen: Value = serde_json::from_slice(&body).expect("JSON");
    seen["targets"][0]["circuit"]["state"].as_str().unwrap_or_default().to_owned()
}
