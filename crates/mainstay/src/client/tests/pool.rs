//! Connections are kept.

use super::{server::*, *};
use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};
use tokio::{io::AsyncWriteExt, sync::Barrier};

#[tokio::test]
async fn calls_in_parallel_do_not_reconnect_the_second_time() {
    const CALLS: usize = 20;
    let accepted = Arc::new(AtomicUsize::new(0));
    // No reply until all calls are there: each needs a connection of its own.
    let all = Arc::new(Barrier::new(CALLS));
    let addr = listen({
        let accepted = Arc::clone(&accepted);
        move |_, mut socket| {
            accepted.fetch_add(1, SeqCst);
            let all = Arc::clone(&all);
            async move {
                while read_request(&mut socket).await.is_some() {
                    all.wait().await;
                    socket.write_all(OK.as_bytes()).await.unwrap();
                }
            }
        }
    })
    .await;

    let client = client();
    let mut used = Vec::new();
    for _ in 0..3 {
        let calls: Vec<_> =
            (0..CALLS).map(|_| tokio::spawn(client.request(post(format!("http://{addr}/"), "x")))).collect();
        let mut connections = HashSet::new();
        for call in calls {
            let response = soon(call).await.unwrap().unwrap();
            connections.insert(connection(&response).id());
            assert_eq!(text(response).await, "ok");
        }
        settle().await;
        used.push(connections);
    }
    assert_eq!(used[0].len(), CALLS);
    assert_eq!((&used[1], &used[2]), (&used[0], &used[0]));
    assert_eq!(accepted.load(SeqCst), CALLS);
}

#[tokio::test]
async fn a_pool_of_none_keeps_none() {
    let addr = listen(|_, socket| answer_all(socket, OK)).await;
    let client = builder().pool_max_idle_per_host(0).build().unwrap();
    let mut seen = HashSet::new();
    for _ in 0..3 {
        let response = client.request(get(format!("http://{addr}/"))).await.unwrap();
        seen.insert(connection(&response).id());
        text(response).await;
        settle().await;
    }
    assert_eq!(seen.len(), 3);
}

#[tokio::test]
async fn what_was_idle_for_too_long_is_not_used_again() {
    let addr = listen(|_, socket| answer_all(socket, OK)).await;
    let client = client();
    let call = async || {
        let response = soon(client.request(get(format!("http://{addr}/")))).await.unwrap();
        let id = connection(&response).id();
        assert_eq!(text(response).await, "ok");
        settle().await;
        id
    };
    let first = call().await;
    assert_eq!(call().await, first);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(91)).await;
    tokio::time::resume();
    assert_ne!(call().await, first);
}

#[test]
fn each_runtime_has_its_own_connections_and_one_that_ends_takes_no_others_along() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (server, one, other) = (runtime(), runtime(), runtime());
    let addr = server.block_on(listen(|_, socket| answer_all(socket, OK)));
    let serving = std::thread::spawn(move || server.block_on(std::future::pending::<()>()));
    let client = client();
    let call = async || {
        let response = soon(client.request(get(format!("http://{addr}/")))).await.unwrap();
        let id = connection(&response).id();
        assert_eq!(text(response).await, "ok");
        settle().await;
        id
    };
    let first = one.block_on(call());
    let second = other.block_on(call());
    assert_ne!(first, second);
    assert_eq!((one.block_on(call()), other.block_on(call())), (first, second));
    drop(one);
    assert_eq!(other.block_on(call()), second);
    drop(serving);
}
