//! The layers around a tonic channel.

use crate::search::search_client::SearchClient;
use http::{Request, Response};
use mainstay_layers::{
    BoxError,
    breaker::{CircuitBreaker, CircuitBreakerLayer},
    classify::GrpcClassifier,
    grpc::{GrpcCallLayer, GrpcTryLayer},
    limit::BodyLimitLayer,
    retry::{GrpcThrottle, Jitter, RetryLayer},
    timeout::{TimeoutConfig, TimeoutLayer},
};
use std::time::Duration;
use tonic::{body::Body, transport::Channel};
use tower::{ServiceBuilder, ServiceExt, util::BoxCloneSyncService};

/// The whole stack as one type, so that it can be named.
pub type Stack = BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>;

/// The generated client over the stack.
pub type Client = SearchClient<Stack>;

/// What the example and its tests set.
#[derive(Clone, Debug)]
pub struct Options {
    /// For a call with all of its tries, where the caller sets none with `tonic::Request::set_timeout`.
    pub deadline: Duration,
    /// The longest silence of a try.
    pub idle: Duration,
    /// The delay before the second try; it doubles.
    pub base_delay: Duration,
    /// The most bytes of a reply.
    pub reply_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(10),
            idle: Duration::from_secs(1),
            base_delay: Duration::from_millis(10),
            reply_bytes: 1 << 20,
        }
    }
}

/// A client that keeps calls up.
///
/// An `Endpoint::timeout` of tonic's own is better left unset: the layers cannot tell its error from that of a broken
/// connection.
pub fn client(channel: Channel, breaker: CircuitBreaker, options: &Options) -> Client {
    let stack = ServiceBuilder::new()
        // Around all tries: the deadline in, a grpc-status out.
        .layer(GrpcCallLayer::new().with_deadline(options.deadline))
        .layer(
            RetryLayer::new()
                .with_classifier(GrpcClassifier::new())
                .with_budget(GrpcThrottle::new(100, 0.1))
                .with_base_delay(options.base_delay)
                .with_jitter(Jitter::None),
        )
        // Around each try: `grpc-timeout` and `grpc-previous-rpc-attempts` for the server.
        .layer(GrpcTryLayer::new())
        .layer(CircuitBreakerLayer::new(breaker).with_classifier(GrpcClassifier::new()))
        .layer(TimeoutLayer::new(TimeoutConfig::new().with_idle(options.idle)))
        .layer(BodyLimitLayer::new().request(1 << 20).stream(options.reply_bytes))
        // A channel takes tonic's own body only.
        .map_request(to_channel)
        .service(channel);
    SearchClient::new(BoxCloneSyncService::new(stack.map_response(|reply| reply.map(Body::new))))
}

fn to_channel<B>(request: Request<B>) -> Request<Body>
where
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    request.map(Body::new)
}
