//! The app: its routes, and the stack through which each of its providers is called.

pub mod error;
pub mod log;
pub mod policy;

use self::{
    error::AppError,
    log::{LogLayer, Sink},
    policy::Impatient,
};
use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{Request, Response, StatusCode, Uri, header},
    response::IntoResponse,
    routing::{get, post},
};
use http_body_util::Full;
use mainstay::{
    BoxError,
    client::Client,
    endpoint::EndpointLayer,
    judge::JudgeLayer,
    layers::{
        breaker::{self, CircuitBreaker, CircuitBreakerLayer},
        classify::{Classify, Head},
        limit::BodyLimitLayer,
        retry::RetryLayer,
        timeout::{TimeoutConfig, TimeoutLayer},
    },
    provider::Kind,
};
use serde_json::{Map, Value, json};
use std::{sync::Arc, time::Duration};
use tower::{ServiceBuilder, ServiceExt, util::BoxCloneSyncService};

/// A provider, and how this app calls it.
#[derive(Clone, Debug)]
pub struct Provider {
    name: &'static str,
    breaker: CircuitBreaker,
    stack: BoxCloneSyncService<Request<Full<Bytes>>, Response<Body>, BoxError>,
}

impl Provider {
    /// The stack around `client` for the provider at `base_url`.
    ///
    /// # Errors
    /// Where the URL is none.
    pub fn new(name: &'static str, base_url: &str, client: Client, sink: &Sink) -> Result<Self, BoxError> {
        let endpoint = EndpointLayer::new(Kind::OpenAi, &base_url.parse::<Uri>()?).ok_or("no host")?;
        let breaker = breaker::Config::new().with_failures(5).build(name)?;
        let policy = Impatient::default();
        let log = |what: &str| LogLayer::new(format!("{what} {name}"), policy, sink.clone());
        let stack = ServiceBuilder::new()
            .map_response(with_axum_body)
            .layer(log("call"))
            .layer(RetryLayer::new().with_classifier(policy).with_base_delay(Duration::from_millis(20)))
            .layer(log("  try"))
            .layer(CircuitBreakerLayer::new(breaker.clone()).with_classifier(policy))
            .layer(JudgeLayer::new(Kind::OpenAi))
            .layer(TimeoutLayer::new(TimeoutConfig::new().with_idle(Duration::from_secs(10))))
            .layer(BodyLimitLayer::new().response(1 << 20))
            .layer(endpoint)
            .service(client);
        Ok(Self { name, breaker, stack: BoxCloneSyncService::new(stack) })
    }
}

fn with_axum_body<B>(reply: Response<B>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    reply.map(Body::new)
}

/// The app's routes. Providers are asked in this order.
pub fn app(providers: impl Into<Arc<[Provider]>>) -> Router {
    Router::new().route("/ask", post(ask)).route("/health", get(health)).with_state(providers.into())
}

/// `{"question": "...", "stream": false}`: the answer of the first provider that has one, as it comes.
async fn ask(
    State(providers): State<Arc<[Provider]>>,
    Json(asked): Json<Value>,
) -> Result<Response<Body>, AppError> {
    let question =
        asked.get("question").and_then(Value::as_str).ok_or(AppError::invalid("a question is missing"))?;
    let stream = asked.get("stream").and_then(Value::as_bool).unwrap_or(false);
    let body =
        json!({"model": "demo", "stream": stream, "messages": [{"role": "user", "content": question}]});
    let body = Bytes::from(body.to_string());

    let policy = Impatient::default();
    let mut failed = None;
    for provider in providers.iter() {
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = axum::http::Method::POST;
        *request.uri_mut() = Uri::from_static("/v1/chat/completions");
        request
            .headers_mut()
            .insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        let verdict = match provider.stack.clone().oneshot(request).await {
            Ok(reply) => {
                let verdict = policy.head(Head::of(&reply));
                if verdict.is_success() {
                    return Ok(answer(provider.name, reply));
                }
                let status = verdict.status.unwrap_or(reply.status());
                verdict.with_status(Some(status))
            }
            Err(error) => policy.error(&*error),
        };
        let falls_back = verdict.falls_back();
        failed = Some(AppError(verdict));
        if !falls_back {
            break;
        }
    }
    Err(failed.unwrap_or(AppError::invalid("there is no provider")))
}

/// The provider's answer in a reply of our own: none of its headers but the content type.
fn answer(provider: &'static str, reply: Response<Body>) -> Response<Body> {
    let (head, body) = reply.into_parts();
    let mut reply = Response::new(body);
    if let Some(kind) = head.headers.get(header::CONTENT_TYPE) {
        reply.headers_mut().insert(header::CONTENT_TYPE, kind.clone());
    }
    reply.headers_mut().insert("x-provider", header::HeaderValue::from_static(provider));
    reply
}

/// The state of each circuit; 503 when no provider is left.
async fn health(State(providers): State<Arc<[Provider]>>) -> impl IntoResponse {
    let well = providers.iter().any(|provider| provider.breaker.would_admit());
    let states: Map<String, Value> = providers
        .iter()
        .map(|provider| (provider.name.to_owned(), provider.breaker.state().as_str().into()))
        .collect();
    (if well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, Json(json!({"circuits": states})))
}
