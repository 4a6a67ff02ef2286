//! How long the gateway takes to be ready, and what it holds when it has nothing to do.

use super::{
    drive::median,
    process::{Target, free},
};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, sleep},
};

pub(crate) async fn run() {
    let (mut millis, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..11 {
        let start = Instant::now();
        // It is told of a provider that is not there: at start nobody is asked anything.
        let gateway = Target::gateway(free()).await;
        let mut socket = TcpStream::connect(gateway.address).await.expect("a connection");
        socket
            .write_all(b"GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .await
            .expect("sent");
        let mut reply = String::new();
        socket.read_to_string(&mut reply).await.expect("a reply");
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
        millis.push(start.elapsed().as_secs_f64() * 1e3);
        sleep(Duration::from_millis(100)).await;
        memory.push(gateway.memory() as f64);
    }
    let least = millis.iter().copied().fold(f64::INFINITY, f64::min);
    println!("from exec to a 200 of /readyz    {:.1} ms (least {least:.1})", median(millis));
    println!("memory when idle                 {:.1} MiB", median(memory) / 1024.0);
}
