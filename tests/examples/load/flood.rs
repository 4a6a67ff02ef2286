//! A provider that sends without end: to a caller that takes all of it, and to one that takes a byte a second.
//!
//! The memory of what stands between is to be flat in both, and the provider is to be held back by the caller.

use super::{
    Asked,
    drive::{Caller, flood},
    process::{Target, Targets},
};
use http_body_util::BodyExt;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::{Instant, interval, sleep},
};

pub(crate) async fn run(asked: &Asked, targets: &Targets) {
    println!(
        "\nflood, taken whole        MiB      s    MiB/s   CPU s   ratio   MiB before   at most   growth"
    );
    let mut first = None;
    for target in targets.between() {
        let (before, cpu, start) = (target.memory(), target.cpu(), Instant::now());
        let (bytes, most) = take_all(target, asked.mebibytes << 20).await;
        let (took, cpu) = (start.elapsed().as_secs_f64(), (target.cpu() - cpu).as_secs_f64());
        let mib = bytes as f64 / f64::from(1 << 20);
        println!(
            "{:12} {mib:>16.0} {took:>6.1} {:>8.0} {cpu:>7.2} {:>7.2} {:>12.1} {:>9.1} {:>8.1}",
            target.name,
            mib / took,
            cpu / *first.get_or_insert(cpu),
            before as f64 / 1024.0,
            most as f64 / 1024.0,
            most.saturating_sub(before) as f64 / 1024.0,
        );
    }
    println!(
        "\nflood, a byte a second      s   taken   MiB from the provider: at a third   at the end   MiB before   at most   growth"
    );
    for target in targets.between() {
        let before = target.memory();
        let slow = byte_by_byte(target, &targets.provider, asked.seconds).await;
        println!(
            "{:12} {:>16} {:>7} {:>35.1} {:>12.1} {:>12.1} {:>9.1} {:>8.1}",
            target.name,
            asked.seconds,
            slow.taken,
            slow.sent[0] as f64 / f64::from(1 << 20),
            slow.sent[1] as f64 / f64::from(1 << 20),
            before as f64 / 1024.0,
            slow.most as f64 / 1024.0,
            slow.most.saturating_sub(before) as f64 / 1024.0,
        );
    }
}

/// Takes a flood as fast as it comes: how many bytes there were, and the most memory that was seen, in KiB.
async fn take_all(target: &Target, bytes: u64) -> (u64, u64) {
    let mut caller = Caller::connect(target.address).await;
    let mut body = caller.send(flood(bytes)).await.into_body();
    let (mut taken, mut most, mut look_at) = (0, 0, 0);
    while let Some(frame) = body.frame().await {
        taken += frame.expect("a frame").into_data().map_or(0, |data| data.len() as u64);
        if taken >= look_at {
            most = most.max(target.memory());
            look_at += 16 << 20;
        }
    }
    assert!(taken >= bytes, "{}: {taken} of {bytes} bytes", target.name);
    (taken, most)
}

struct Slow {
    taken: usize,
    /// What the provider was let send, after a third of the time and at its end.
    sent: [u64; 2],
    /// The most memory that was seen, in KiB.
    most: u64,
}

/// Takes a byte a second of a flood that has no end.
async fn byte_by_byte(target: &Target, provider: &Target, seconds: u64) -> Slow {
    let before = sent(provider).await;
    let socket = TcpSocket::new_v4().expect("a socket");
    // As small as the system lets it be: what is held is then held by what stands between.
    socket.set_recv_buffer_size(4096).expect("a buffer");
    let mut socket = socket.connect(target.address).await.expect("a connection");
    let body = flood(u64::MAX);
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        target.address,
        body.len()
    );
    socket.write_all(head.as_bytes()).await.expect("it takes the head");
    socket.write_all(&body).await.expect("it takes the body");
    let mut slow = Slow { taken: 0, sent: [0; 2], most: 0 };
    let mut second = interval(Duration::from_secs(1));
    for at in 0..seconds {
        second.tick().await;
        slow.taken += socket.read(&mut [0]).await.expect("it goes on");
        slow.most = slow.most.max(target.memory());
        if at == seconds / 3 {
            slow.sent[0] = sent(provider).await - before;
        }
    }
    slow.sent[1] = sent(provider).await - before;
    drop(socket);
    sleep(Duration::from_millis(200)).await;
    slow
}

/// How many bytes of floods the provider was let send so far.
async fn sent(provider: &Target) -> u64 {
    let mut socket = TcpStream::connect(provider.address).await.expect("a connection");
    socket
        .write_all(b"GET /sent HTTP/1.1\r\nhost: provider\r\nconnection: close\r\n\r\n")
        .await
        .expect("it listens");
    let mut reply = String::new();
    socket.read_to_string(&mut reply).await.expect("a reply");
    reply.rsplit_once("\r\n\r\n").and_then(|(_, body)| body.parse().ok()).expect("a number")
}
