//! Real sockets on loopback; the servers are written out byte for byte where the bytes matter.

mod bodies;
mod connecting;
mod h2;
mod pool;
mod proxy;
mod sending;
mod server;
mod tls;

use super::{Client, ClientBuilder, ClientError, ResponseBody};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty, Full};
use std::{error::Error, future::Future, time::Duration};

/// The defaults, but for the environment.
fn builder() -> ClientBuilder {
    Client::builder().no_proxy()
}

fn client() -> Client {
    builder().build().unwrap()
}

fn get(url: impl AsRef<str>) -> Request<Empty<Bytes>> {
    Request::get(url.as_ref()).body(Empty::new()).unwrap()
}

fn post(url: impl AsRef<str>, body: &'static str) -> Request<Full<Bytes>> {
    Request::post(url.as_ref()).body(Full::from(body)).unwrap()
}

async fn text(response: Response<ResponseBody>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

/// A bound on a test that would hang if what it tests did not hold.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("nothing happened for 20 s")
}

/// Lets every task that can go on do so. Enough where no more bytes are awaited, on the tests' one thread.
async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// All that an error says, at every depth.
fn everything(error: &ClientError) -> String {
    let mut said = format!("{error} {error:?}");
    let mut next = error.source();
    while let Some(cause) = next {
        said.push_str(&format!(" / {cause} {cause:?}"));
        next = cause.source();
    }
    said
}
