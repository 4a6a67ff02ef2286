use super::*;
use std::io::ErrorKind;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, duplex},
    time::sleep,
};

#[tokio::test(start_paused = true)]
async fn a_peer_that_reads_nothing_is_let_go() {
    let (server, _client) = duplex(16);
    let mut server = WriteIdle::new(server, secs(3));
    let start = Instant::now();
    let error = server.write_all(&[0; 64]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(crate::error::find_cause::<TimeoutError>(&error).unwrap().kind(), TimeoutKind::WriteIdle);
    assert_elapsed(start, secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_reads_slowly_is_not() {
    let (server, mut client) = duplex(1);
    let mut server = WriteIdle::new(server, secs(3));
    let read = async {
        for _ in 0..20 {
            sleep(secs(2)).await;
            client.read_u8().await.unwrap();
        }
    };
    let (written, ()) = tokio::join!(server.write_all(&[0; 20]), read);
    written.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_connection_with_nothing_to_write_may_be_as_silent_as_it_likes() {
    let (server, mut client) = duplex(1);
    let mut server = WriteIdle::new(server, secs(3));
    let talk = async {
        client.read_exact(&mut [0; 2]).await.unwrap();
        sleep(secs(1000)).await;
        client.write_all(b"x").await.unwrap();
        client.read_exact(&mut [0; 2]).await.unwrap();
    };
    let serve = async {
        server.write_all(b"ab").await.unwrap();
        assert_eq!(server.read_u8().await.unwrap(), b'x');
        server.write_all(b"cd").await.unwrap();
    };
    tokio::join!(serve, talk);
}

#[tokio::test(start_paused = true)]
async fn zero_is_off() {
    let (server, _client) = duplex(1);
    let mut server = WriteIdle::new(server, Duration::ZERO);
    let wait = tokio::time::timeout(secs(1000), server.write_all(&[0; 2])).await;
    assert!(wait.is_err());
}
