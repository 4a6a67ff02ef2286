//! The future of a call.

use super::{
    ClientError, ConnectionInfo, ResponseBody,
    http1::{Failure, Sent},
    load::InFlight,
    request_body::Upload,
};
use http::{HeaderValue, Response, header::CONTENT_ENCODING, uri::Authority};
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
    SentHttp1 {
        inner: Sent,
        peer: Authority,
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

    pub(super) fn sent_http1(inner: Sent, peer: Authority, upload: Option<Upload>) -> Self {
        Self(State::SentHttp1 { inner, peer, upload })
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
                Ok(mut response) => {
                    answered(&mut response);
                    let (in_flight, upload) = (in_flight.take(), upload.take());
                    Poll::Ready(Ok(response.map(|body| ResponseBody::new(body, in_flight, None, upload))))
                }
                Err(error) => {
                    *in_flight = None;
                    let info = info(&error);
                    let connected = error.connect_info().is_some();
                    Poll::Ready(Err(ClientError::before_head(
                        error.into(),
                        connected,
                        info.as_ref(),
                        peer,
                        upload.as_ref(),
                    )))
                }
            },
            State::SentHttp1 { inner, peer, upload } => match ready!(inner.as_mut().poll(cx)) {
                Ok((mut response, lease)) => {
                    answered(&mut response);
                    let upload = upload.take();
                    Poll::Ready(Ok(response.map(|body| ResponseBody::new(body, None, Some(lease), upload))))
                }
                Err(failure) => {
                    let (error, info) = match failure {
                        Failure::Connect(error) => (error.into(), None),
                        Failure::Http { error, info } => (error.into(), info),
                    };
                    let info = info.as_ref();
                    Poll::Ready(Err(ClientError::before_head(
                        error,
                        info.is_some(),
                        info,
                        peer,
                        upload.as_ref(),
                    )))
                }
            },
        }
    }
}

/// Notes a reply at its connection, and calls its coding by the name that decoders know.
fn answered<B>(response: &mut Response<B>) {
    if let Some(connection) = response.extensions().get::<ConnectionInfo>() {
        connection.answered();
    }
    if let Some(coding) = response.headers_mut().get_mut(CONTENT_ENCODING) {
        if let Some(name) = usual_name(coding.as_bytes()) {
            *coding = HeaderValue::from_static(name);
        }
    }
}

/// Names of codings are the same in capitals, and `x-gzip` is an old name of gzip (RFC 9110 §8.4.1). `None` where it is no other.
fn usual_name(coding: &[u8]) -> Option<&'static str> {
    const NAMES: [(&str, &str); 5] =
        [("gzip", "gzip"), ("x-gzip", "gzip"), ("br", "br"), ("zstd", "zstd"), ("deflate", "deflate")];
    let coding = coding.trim_ascii();
    let (_, usual) = NAMES.into_iter().find(|(name, _)| coding.eq_ignore_ascii_case(name.as_bytes()))?;
    (coding != usual.as_bytes()).then_some(usual)
}

/// The connection that an error of hyper-util's came over.
fn info(error: &legacy::Error) -> Option<ConnectionInfo> {
    let mut extensions = http::Extensions::new();
    error.connect_info()?.get_extras(&mut extensions);
    extensions.remove()
}

impl fmt::Debug for ResponseFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::usual_name;

    #[test]
    fn codings_go_by_one_name_each() {
        for (coding, usual) in [("GZIP", "gzip"), ("x-gzip", "gzip"), ("X-GZip ", "gzip"), ("Br", "br")] {
            assert_eq!(usual_name(coding.as_bytes()), Some(usual));
        }
        for coding in ["gzip", "br", "", "gzip, gzip", "identity", "foo"] {
            assert_eq!(usual_name(coding.as_bytes()), None, "{coding}");
        }
    }
}
