//! The layers around a tonic channel, against a real tonic server on loopback that fails on purpose.
//!
//! Shows that UNAVAILABLE is tried again and what each try tells the server, that a server's pushback is obeyed, that a
//! stream is not repeated once its first message is there, that an own timeout is DEADLINE_EXCEEDED to the caller, and
//! that the circuit opens by the status in the trailers. The stack is in `stack.rs`.
//!
//! `cargo run -p example-tonic-client` prints
//!
//! ```text
//! flaky: "found" after 3 calls, told of [None, Some("1"), Some("2")] tries before
//! pushed back: ResourceExhausted after 1 call
//! a stream that breaks: one two, then Unavailable, after 1 call
//! silent: DeadlineExceeded after 3 calls
//! down: Unavailable, Unavailable; the circuit is open, and no more than 5 calls got through
//! ```

use example_tonic_client::{
    search::Question,
    server::{Act, Scripted},
    stack::{Client, Options, client},
};
use mainstay_layers::{BoxError, breaker::CircuitBreaker};
use std::time::Duration;
use tonic::{Status, metadata::MetadataMap, transport::Endpoint};

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let busy = || Act::Fail(Status::unavailable("busy"));
    let question = || Question { text: "where?".into() };

    let server = Scripted::new([busy(), busy(), Act::Answer("found", None)]);
    let (mut flaky, _) = connect(&server).await?;
    let answer = flaky.ask(question()).await?.into_inner().text;
    let before = server.header("grpc-previous-rpc-attempts");
    println!("flaky: {answer:?} after {} calls, told of {before:?} tries before", server.calls());

    let mut stop = MetadataMap::new();
    stop.insert("grpc-retry-pushback-ms", "-1".parse()?);
    let refusal = Status::with_metadata(tonic::Code::ResourceExhausted, "not today", stop);
    let server = Scripted::new([Act::Fail(refusal)]);
    let (mut refused, _) = connect(&server).await?;
    let status = refused.ask(question()).await.err().map(|status| status.code());
    println!("pushed back: {} after {} call", shown(status), server.calls());

    let server = Scripted::new([Act::Answer("one two", Some(Status::unavailable("gone")))]);
    let (mut breaking, _) = connect(&server).await?;
    let mut stream = breaking.stream(question()).await?.into_inner();
    let mut words = Vec::new();
    let status = loop {
        match stream.message().await {
            Ok(Some(answer)) => words.push(answer.text),
            Ok(None) => break None,
            Err(status) => break Some(status.code()),
        }
    };
    println!(
        "a stream that breaks: {}, then {}, after {} call",
        words.join(" "),
        shown(status),
        server.calls()
    );

    let server = Scripted::new([Act::Hang("")]);
    let (mut silent, _) = connect(&server).await?;
    let status = silent.ask(question()).await.err().map(|status| status.code());
    println!("silent: {} after {} calls", shown(status), server.calls());

    let server = Scripted::new([busy()]);
    let (mut down, breaker) = connect(&server).await?;
    let first = down.ask(question()).await.err().map(|status| status.code());
    let second = down.ask(question()).await.err().map(|status| status.code());
    println!(
        "down: {}, {}; the circuit is {}, and no more than {} calls got through",
        shown(first),
        shown(second),
        breaker.state().as_str(),
        server.calls()
    );
    Ok(())
}

/// A client of a server on loopback, and its circuit.
async fn connect(server: &Scripted) -> Result<(Client, CircuitBreaker), BoxError> {
    let channel = Endpoint::from_shared(server.listen().await?)?.connect().await?;
    let breaker = CircuitBreaker::new("search");
    let options = Options { idle: Duration::from_millis(200), ..Options::default() };
    Ok((client(channel, breaker.clone(), &options), breaker))
}

fn shown(code: Option<tonic::Code>) -> String {
    code.map_or("no error".into(), |code| format!("{code:?}"))
}
