//! The bare proxy: a hyper server over hyper-util's client, and nothing between them.

use http::{Request, Response, Uri, header, uri::Authority};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, Error, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use tokio::net::TcpListener;

/// Passes everything on to the address in `LOAD_UPSTREAM`.
pub(crate) async fn serve(listener: TcpListener) {
    let upstream: Authority =
        std::env::var("LOAD_UPSTREAM").expect("LOAD_UPSTREAM").parse().expect("an address");
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Incoming> = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_max_idle_per_host(1024)
        .build(connector);
    super::process::accept(listener, move |request| pass(client.clone(), upstream.clone(), request)).await;
}

async fn pass(
    client: Client<HttpConnector, Incoming>,
    upstream: Authority,
    mut request: Request<Incoming>,
) -> Result<Response<Incoming>, Error> {
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    parts.scheme = Some(http::uri::Scheme::HTTP);
    parts.authority = Some(upstream);
    *request.uri_mut() = Uri::from_parts(parts).expect("a path and a host are a URL");
    request.headers_mut().remove(header::CONNECTION);
    request.headers_mut().remove(header::HOST);
    let mut response = client.request(request).await?;
    response.headers_mut().remove(header::CONNECTION);
    Ok(response)
}
