//! The future of a call.

use super::{ClientError, ConnectionInfo, ResponseBody, load::InFlight, request_body::Upload};
use http::{Response, uri::Authority};
use hyper_util::client::legacy;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// The future of [`Client`](super::Client): until the head of the reply. Dropping it cancels the call.
#[must_use = "futures do nothing unless polled"]
pub struct ResponseFuture(State);

enum State {
    Rejected(Option<ClientError>),
    Sent {
        inner: legacy::ResponseFuture,
        peer: Authority,
        in_flight: Option<InFlight>,
        upload: Option<Upload>,
    },
}

impl ResponseFuture {
    pub(super) fn rejected(error: ClientError) -> Self {
        Self(State::Rejected(Some(error)))
    }

    pub(super) fn sent(
        inner: legacy::ResponseFuture,
        peer: Authority,
        in_flight: Option<InFlight>,
        upload: Option<Upload>,
    ) -> Self {
        Self(State::Sent { inner, peer, in_flight, upload })
    }
}

impl Future for ResponseFuture {
    type Output = Result<Response<ResponseBody>, ClientError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Rejected(error) => match error.take() {
                Some(error) => Poll::Ready(Err(error)),
                // Polled after it was ready, which no executor does.
                None => Poll::Pending,
            },
            State::Sent { inner, peer, in_flight, upload } => match ready!(Pin::new(inner).poll(cx)) {
                Ok(response) => {
                    if let Some(connection) = response.extensions().get::<ConnectionInfo>() {
                        connection.answered();
                    }
                    let (in_flight, upload) = (in_flight.take(), upload.take());
                    Poll::Ready(Ok(response.map(|body| ResponseBody::new(body, in_flight, upload))))
                }
                Err(error) => {
                    *in_flight = None;
                    Poll::Ready(Err(ClientError::before_head(error, peer, upload.as_ref())))
                }
            },
        }
    }
}

impl fmt::Debug for ResponseFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
