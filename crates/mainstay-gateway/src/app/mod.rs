//! What the gateway does with a request: read it, route it, and tell the caller what became of it.

mod calls;
mod cut;
mod errors;
mod hops;
mod id;
mod log;
mod models;
mod outcome;
mod paths;
mod prepare;
mod query;
mod reply;
#[cfg(test)]
mod spent_tests;
mod status;
mod stream;
mod upload;

pub(crate) use self::log::REQUEST_LINE;
pub use self::models::ModelList;
pub use self::stream::ReplyBody;

use crate::{
    config::Config,
    cost::Prices,
    metrics::Metrics,
    stack::{self, StackError},
};
use bytes::Bytes;
use cut::Cut;
use errors::Refusal;
use futures_util::{
    FutureExt,
    future::{Either, ready},
};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body::Body;
use mainstay::{
    BoxError,
    dialect::ErrorFamily,
    route::{Router, Target, TargetName},
    secret::Redactor,
};
use std::{
    collections::BTreeSet,
    convert::Infallible,
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tower_service::Service;

/// The gateway as a service: requests in, replies out, never an error. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

pub(crate) struct Inner {
    /// For explanations.
    config: Config,
    router: Router,
    targets: Vec<Target>,
    models: ModelList,
    metrics: Metrics,
    prices: Prices,
    redactor: Redactor,
    lenient: BTreeSet<String>,
    max_request_body: u64,
    upload_idle: Duration,
    deadline: Option<Duration>,
    keepalive: Option<Duration>,
    draining: AtomicBool,
    /// Cancelled when the drain is over: what still runs is told so.
    cut: Cut,
}

impl App {
    /// The gateway of a configuration.
    ///
    /// # Errors
    /// [`StackError`] where a provider cannot be built.
    pub fn new(config: &Config) -> Result<Self, StackError> {
        let names: Vec<TargetName> =
            stack::target_names(config).iter().map(|name| TargetName::parse(name)).collect();
        let routes = config.routes.iter().flat_map(|route| &route.models).map(String::as_str);
        let direct = config.providers.iter().map(|provider| provider.name.as_str());
        let metrics = Metrics::new(&names, routes.chain(direct));
        let stacks = stack::build(config, Arc::new(metrics.clone()))?;
        Ok(Self(Arc::new(Inner {
            config: config.clone(),
            models: ModelList::new(config),
            router: stacks.router,
            targets: stacks.targets,
            metrics,
            prices: Prices::new(&config.prices),
            redactor: stacks.redactor,
            lenient: stacks.lenient,
            max_request_body: config.server.max_request_body,
            upload_idle: config.server.upload_idle,
            deadline: config.server.deadline,
            keepalive: config.server.keepalive,
            draining: AtomicBool::new(false),
            cut: Cut::default(),
        })))
    }

    /// Says "not ready" from now on.
    pub fn begin_drain(&self) {
        self.0.draining.store(true, Ordering::Relaxed);
    }

    /// Ends every call that still runs: a 503 where nothing was said yet, an error event in a stream.
    pub fn cut(&self) {
        self.0.cut.cancel();
    }

    /// The answer to a request; what [`Service::call`] gives, unboxed.
    pub(crate) fn answer<B>(self, request: Request<B>) -> impl Future<Output = Response<ReplyBody>> + Send
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: fmt::Display + Into<BoxError> + Send,
    {
        let id = id::request_id(request.headers());
        let family = ErrorFamily::of_path(request.uri().path());
        let call = request.method() == Method::POST && paths::is_call(request.uri().path());
        let answer = match call {
            true => Either::Left(calls::answer(self.0, request, id.clone())),
            false => Either::Right(ready(self.tell(&request))),
        };
        answer.map(move |mut response| {
            reply::put_id(response.headers_mut(), &id, family);
            response
        })
    }

    /// What the gateway knows by itself.
    fn tell<B>(&self, request: &Request<B>) -> Response<ReplyBody> {
        let path = request.uri().path();
        match (request.method(), path) {
            (&Method::GET | &Method::HEAD, "/healthz") => plain(StatusCode::OK, "text/plain", "ok\n"),
            (&Method::GET | &Method::HEAD, "/readyz") => match self.0.draining.load(Ordering::Relaxed) {
                false => plain(StatusCode::OK, "text/plain", "ready\n"),
                true => plain(StatusCode::SERVICE_UNAVAILABLE, "text/plain", "draining\n"),
            },
            (&Method::GET | &Method::HEAD, "/metrics") => plain(
                StatusCode::OK,
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
                self.0.metrics.render(&self.0.targets),
            ),
            (&Method::GET | &Method::HEAD, "/status") => status::page(&self.0, request.uri().query()),
            (&Method::GET | &Method::HEAD, "/status.json") => status::status(&self.0),
            (&Method::GET | &Method::HEAD, "/explain") => {
                status::explain(&self.0, request.uri().query(), request.headers())
            }
            (&Method::GET | &Method::HEAD, "/v1/models" | "/v1/models/") => {
                json(self.0.models.list(request.headers()))
            }
            (&Method::GET | &Method::HEAD, path) if path.starts_with("/v1/models/") => {
                self.model(path, models::asker(request.headers()))
            }
            (&Method::GET | &Method::HEAD, "/v1beta/models" | "/v1beta/models/") => {
                json(self.0.models.list_for(ErrorFamily::Gemini))
            }
            (&Method::GET | &Method::HEAD, path) if path.starts_with("/v1beta/models/") => {
                self.model(path, ErrorFamily::Gemini)
            }
            (&Method::POST, path) if paths::leads_elsewhere(path) => {
                Refusal::no_such_path(path).into_response(ErrorFamily::of_path(path))
            }
            (_, path) => self.no_such_path(request.method(), path),
        }
    }

    fn model(&self, path: &str, family: ErrorFamily) -> Response<ReplyBody> {
        let name = path.split_once("/models/").map_or("", |(_, name)| name);
        let name = models::decode(name);
        match self.0.router.find(&name) {
            Ok(_) => json(self.0.models.one(&name, family)),
            Err(error) => Refusal::model_not_found(&error).into_response(family),
        }
    }

    fn no_such_path(&self, method: &Method, path: &str) -> Response<ReplyBody> {
        let family = ErrorFamily::of_path(path);
        const KNOWN: [&str; 8] = [
            "/healthz",
            "/readyz",
            "/metrics",
            "/status",
            "/status.json",
            "/explain",
            "/v1/models",
            "/v1beta/models",
        ];
        let known = KNOWN.contains(&path);
        if known || path.starts_with("/v1/") {
            let allow = if known || path.starts_with("/v1/models") { "GET, HEAD" } else { "POST" };
            let mut response = Refusal::method_not_allowed(method, path, allow).into_response(family);
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
            return response;
        }
        Refusal::no_such_path(path).into_response(family)
    }
}

fn plain(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::whole(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn json(value: serde_json::Value) -> Response<ReplyBody> {
    plain(StatusCode::OK, "application/json", value.to_string())
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("router", &self.0.router).finish_non_exhaustive()
    }
}

impl<B> Service<Request<B>> for App
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: fmt::Display + Into<BoxError> + Send,
{
    type Response = Response<ReplyBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let app = self.clone();
        Box::pin(async move { Ok(app.answer(request).await) })
    }
}
