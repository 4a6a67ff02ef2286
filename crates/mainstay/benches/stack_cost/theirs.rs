//! What others ask for the same, where they have it, and ours beside it.

use super::{
    guarded::guard,
    measure::{Case, calls, rejections, runtime, streams},
    memory::{ASKED, ASKED_STREAM, Provider, Reply, plain},
};
use allocation_counter::measure;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Full, Limited};
use mainstay::layers as ours;
use std::{
    future::{Ready, ready},
    sync::Arc,
    time::Duration,
};
use tower::{
    Layer,
    limit::GlobalConcurrencyLimitLayer,
    retry::{
        Policy, RetryLayer,
        budget::{Budget, TpsBudget},
    },
    service_fn,
    timeout::TimeoutLayer,
    util::MapResponseLayer,
};
use tower_http::timeout::ResponseBodyTimeoutLayer;
use tower_resilience_circuitbreaker::CircuitBreakerLayer;

const PATH: &str = "/v1/chat/completions";
const TIME: Duration = Duration::from_secs(30);
const HOUR: Duration = Duration::from_secs(3600);

/// Ours and theirs, side by side.
pub(crate) fn whole() -> Vec<Case> {
    let provider = Provider::whole();
    let send = plain(PATH, ASKED);
    macro_rules! layer {
        ($name:literal, $layer:expr) => {
            calls($name, $layer.layer(provider.clone()), send.clone())
        };
    }
    let limited =
        MapResponseLayer::new(|reply: Response<Reply>| reply.map(|body| Limited::new(body, 16 << 20)));
    // Some clone it for each call: what a row costs more is to be the layer's own.
    assert_eq!(measure(|| drop(provider.clone())).count_total, 0, "the bottom service's clone allocates");
    let bare = |group: &str| calls(&format!("{group}: the bare service"), provider.clone(), send.clone());
    vec![
        bare("retry"),
        layer!("retry: ours", ours::retry::RetryLayer::new()),
        layer!("retry: ours with a budget", super::calls::retry()),
        layer!("retry: tower's", RetryLayer::new(Thrice(3))),
        layer!("retry: tower's with a budget", RetryLayer::new(Budgeted::new())),
        bare("breaker"),
        // What any layer costs that hears of the end of a body.
        layer!("breaker: a guard in the body, alone", guard()),
        layer!("breaker: ours, closed", ours_closed()),
        layer!("breaker: tower-resilience's, closed", theirs_closed()),
        rejections("breaker: a request, and a ready error", service_fn(rejected), send.clone()),
        rejections("breaker: ours, open", ours_open().layer(provider.clone()), send.clone()),
        rejections("breaker: tower-resilience's, open", theirs_open().layer(provider.clone()), send.clone()),
        bare("concurrency"),
        layer!("concurrency: a guard in the body, alone", guard()),
        layer!("concurrency: ours", ours_limit()),
        // Frees the place at the reply's head: of a stream it limits the start.
        layer!("concurrency: tower's", GlobalConcurrencyLimitLayer::new(8)),
        bare("others"),
        layer!("others: tower's TimeoutLayer", TimeoutLayer::new(TIME)),
        layer!("others: tower-http's ResponseBodyTimeout", ResponseBodyTimeoutLayer::new(TIME)),
        layer!("others: http-body-util's Limited", limited),
    ]
}

/// What a rejection cannot cost less than.
fn rejected(request: Request<Full<Bytes>>) -> Ready<Result<Response<Reply>, std::fmt::Error>> {
    drop(request);
    ready(Err(std::fmt::Error))
}

fn ours_closed() -> ours::breaker::CircuitBreakerLayer {
    ours::breaker::CircuitBreakerLayer::new(ours::breaker::CircuitBreaker::new("cost"))
}

/// Open by a failure, as it happens, and for longer than a bench runs.
fn ours_open() -> ours::breaker::CircuitBreakerLayer {
    let config = ours::breaker::Config::new().with_failures(1).with_open_for(HOUR).with_growth(1.0, HOUR);
    let breaker = config.build("cost").expect("a breaker");
    breaker.try_enter().expect("a closed circuit").failure(None);
    ours::breaker::CircuitBreakerLayer::new(breaker)
}

fn theirs_closed() -> CircuitBreakerLayer {
    CircuitBreakerLayer::builder().build().expect("a breaker")
}

fn theirs_open() -> CircuitBreakerLayer {
    let builder = CircuitBreakerLayer::builder().wait_duration_in_open(HOUR);
    let (layer, handle) = builder.build_with_handle().expect("a breaker");
    runtime().block_on(handle.force_open());
    layer
}

fn ours_limit() -> ours::concurrency::ConcurrencyLayer {
    ours::concurrency::ConcurrencyLayer::new(ours::concurrency::ConcurrencyLimit::new(8))
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
pub(crate) struct Thrice(pub(crate) usize);

impl<B, E> Policy<Request<Full<Bytes>>, Response<B>, E> for Thrice {
    type Future = Ready<()>;

    fn retry(
        &mut self,
        _: &mut Request<Full<Bytes>>,
        result: &mut Result<Response<B>, E>,
    ) -> Option<Ready<()>> {
        if !failed(result) {
            return None;
        }
        self.0 = self.0.checked_sub(1)?;
        Some(ready(()))
    }

    fn clone_request(&mut self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }
}

/// The same with tower's budget.
#[derive(Clone)]
pub(crate) struct Budgeted(Thrice, Arc<TpsBudget>);

impl Budgeted {
    pub(crate) fn new() -> Self {
        Self(Thrice(3), Arc::new(TpsBudget::new(Duration::from_secs(10), 10, 0.2)))
    }
}

impl<B, E> Policy<Request<Full<Bytes>>, Response<B>, E> for Budgeted {
    type Future = Ready<()>;

    fn retry(
        &mut self,
        request: &mut Request<Full<Bytes>>,
        result: &mut Result<Response<B>, E>,
    ) -> Option<Ready<()>> {
        if !failed(result) {
            self.1.deposit();
            return None;
        }
        if !self.1.withdraw() {
            return None;
        }
        self.0.retry(request, result)
    }

    fn clone_request(&mut self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }
}

fn failed<B, E>(result: &Result<Response<B>, E>) -> bool {
    result.as_ref().map_or(true, |reply| reply.status().is_server_error())
}
