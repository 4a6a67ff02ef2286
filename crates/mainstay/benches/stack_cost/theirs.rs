//! What others ask for the same, where they have it.

use super::{
    measure::{Case, calls, streams},
    memory::{ASKED, ASKED_STREAM, Provider, Reply, plain},
};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Full, Limited};
use mainstay::BoxError;
use std::{
    future::{Ready, ready},
    time::Duration,
};
use tower::{
    Layer,
    limit::ConcurrencyLimitLayer,
    retry::{Policy, RetryLayer},
    timeout::TimeoutLayer,
    util::MapResponseLayer,
};
use tower_http::timeout::ResponseBodyTimeoutLayer;
use tower_resilience_circuitbreaker::CircuitBreakerLayer;

const PATH: &str = "/v1/chat/completions";
const TIME: Duration = Duration::from_secs(30);

pub(crate) fn whole() -> Vec<Case> {
    let provider = Provider::whole();
    let send = plain(PATH, ASKED);
    let limited =
        MapResponseLayer::new(|reply: Response<Reply>| reply.map(|body| Limited::new(body, 16 << 20)));
    let breaker = CircuitBreakerLayer::builder().build().expect("a breaker");
    vec![
        calls("others: the bare service", provider.clone(), send.clone()),
        calls("others: tower's RetryLayer", RetryLayer::new(Thrice(3)).layer(provider.clone()), send.clone()),
        calls("others: tower's TimeoutLayer", TimeoutLayer::new(TIME).layer(provider.clone()), send.clone()),
        calls(
            "others: tower's ConcurrencyLimitLayer",
            ConcurrencyLimitLayer::new(8).layer(provider.clone()),
            send.clone(),
        ),
        calls(
            "others: tower-http's ResponseBodyTimeout",
            ResponseBodyTimeoutLayer::new(TIME).layer(provider.clone()),
            send.clone(),
        ),
        calls("others: http-body-util's Limited", limited.layer(provider.clone()), send.clone()),
        calls("others: tower-resilience's breaker", breaker.layer(provider), send),
    ]
}

pub(crate) fn frames() -> Vec<Case> {
    let send = plain(PATH, ASKED_STREAM);
    let body_timeout = ResponseBodyTimeoutLayer::new(TIME);
    let limited =
        MapResponseLayer::new(|reply: Response<Reply>| reply.map(|body| Limited::new(body, 1 << 30)));
    vec![
        streams("others frame: the bare service", Provider::stream(false), send.clone()),
        streams(
            "others frame: tower-http's TimeoutBody",
            body_timeout.layer(Provider::stream(false)),
            send.clone(),
        ),
        streams(
            "others frame: http-body-util's Limited",
            limited.layer(Provider::stream(false)),
            send.clone(),
        ),
        streams("others late frame: the bare service", Provider::stream(true), send.clone()),
        streams(
            "others late frame: tower-http's TimeoutBody",
            body_timeout.layer(Provider::stream(true)),
            send,
        ),
    ]
}

/// The least that a policy of tower's can be: tries again on a 5xx, at once.
#[derive(Clone)]
struct Thrice(usize);

impl Policy<Request<Full<Bytes>>, Response<Reply>, BoxError> for Thrice {
    type Future = Ready<()>;

    fn retry(
        &mut self,
        _: &mut Request<Full<Bytes>>,
        result: &mut Result<Response<Reply>, BoxError>,
    ) -> Option<Ready<()>> {
        let failed = result.as_ref().map_or(true, |reply| reply.status().is_server_error());
        self.0 = self.0.checked_sub(1)?;
        failed.then(|| ready(()))
    }

    fn clone_request(&mut self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }
}
