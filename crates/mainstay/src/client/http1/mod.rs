//! Connections that are sure to speak HTTP/1.1: cleartext, or where nothing else is wanted.
//!
//! A pool of their own, since there is nothing to decide: each has one call at a time, is kept while it is idle, and the one
//! that was used last is used first. hyper-util's pool, which the others share, must be ready for a connection that turns
//! out to be HTTP/2, and costs each call three times as much.

mod connection;
mod idle;

pub(super) use idle::Lease;

use super::{
    connect::{ConnectFailure, ConnectionInfo, Connector},
    request_body::RequestBody,
};
use connection::{connect, origin_form};
use http::{Request, Response, header::HOST};
use hyper::body::Incoming;
use idle::Idle;
use std::{future::Future, mem, pin::Pin, sync::Arc, time::Duration};

/// A pool of such connections.
#[derive(Clone)]
pub(super) struct Http1(Arc<Idle>);

/// Why there was no reply.
#[derive(Debug)]
pub(super) enum Failure {
    /// No connection came about.
    Connect(ConnectFailure),
    /// hyper's, before (`None`) or after the request was handed to a connection.
    Http { error: hyper::Error, info: Option<ConnectionInfo> },
}

/// A call until the head of its reply, and the connection that it holds.
pub(super) type Sent = Pin<Box<dyn Future<Output = Result<(Response<Incoming>, Lease), Failure>> + Send>>;

impl Http1 {
    /// A pool that keeps `max` connections for each origin, for at most `timeout`.
    pub(super) fn new(max: usize, timeout: Option<Duration>) -> Self {
        Self(Arc::new(Idle::new(max, timeout)))
    }

    /// Sends a request, whose URI is absolute.
    pub(super) fn send(&self, connector: &Connector, mut request: Request<RequestBody>) -> Sent {
        let (idle, mut connector) = (self.0.clone(), connector.clone());
        // No `async fn`: that would keep a second place for the request.
        Box::pin(async move {
            let uri = mem::take(request.uri_mut());
            loop {
                let mut connection = match idle.take(&uri) {
                    Some(kept) => kept,
                    // In a box of its own: few calls open one, and all would carry the room for it.
                    None => Box::pin(connect(&mut connector, &uri)).await?,
                };
                *request.uri_mut() = if connection.absolute_form { uri.clone() } else { origin_form(&uri) };
                request.headers_mut().entry(HOST).or_insert_with(|| connection.host.clone());
                let mut failed = match connection.sender.try_send_request(request).await {
                    Ok(mut reply) => {
                        if let Some(info) = &connection.info {
                            reply.extensions_mut().insert(info.clone());
                        }
                        return Ok((reply, Lease::new(connection, &idle)));
                    }
                    Err(failed) => failed,
                };
                // Not a byte of it was written, on a connection that had closed meanwhile: free on another one.
                match failed.take_message() {
                    Some(unsent) if connection.used => request = unsent,
                    _ => return Err(Failure::Http { error: failed.into_error(), info: connection.info }),
                }
            }
        })
    }
}
