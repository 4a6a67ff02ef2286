//! Chooses a route by the model's name.

use super::{
    attempt::{Observe, TargetName},
    fallback::{Fallback, FallbackFuture},
    pattern::{Pattern, Table},
    target::{ReplyBody, Target},
};
use crate::{body::RequestBody, peek::Call};
use http::{Request, Response};
use mainstay_layers::BoxError;
use std::{
    collections::HashMap,
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tower_service::Service;

/// A service that takes the route of the model that a request names: its exact name, else the longest pattern, else
/// `provider/model`, of which exactly the first segment is the provider.
///
/// Reads the [`Call`] in the request's extensions. Always ready.
///
/// # Errors
/// [`ModelNotFound`] if no route knows the model, else those of [`Fallback`].
#[derive(Clone)]
pub struct Router(Arc<Inner>);

struct Inner {
    table: Table<Route>,
    providers: HashMap<Arc<str>, Target>,
    observer: Arc<dyn Observe>,
}

/// One route.
#[derive(Clone, Debug)]
pub struct Route {
    /// The pattern by which it is known, for logs and metrics: a name of the configuration, never a caller's.
    pub name: Arc<str>,
    /// The targets.
    pub fallback: Fallback,
}

/// Builds a [`Router`].
#[derive(Default)]
pub struct RouterBuilder {
    table: Table<Route>,
    providers: HashMap<Arc<str>, Target>,
    observer: Option<Arc<dyn Observe>>,
}

impl RouterBuilder {
    /// Adds a route: `pattern` is a name, or a glob in which `*` stands for any characters.
    #[must_use]
    pub fn route(mut self, pattern: &str, fallback: Fallback) -> Self {
        let name: Arc<str> = pattern.into();
        self.table.insert(Pattern::new(name.clone()), Route { name, fallback });
        self
    }

    /// Lets callers ask for `provider/model` of `target`.
    #[must_use]
    pub fn provider(mut self, provider: &str, target: Target) -> Self {
        self.providers.insert(provider.into(), target);
        self
    }

    /// Who is told of fallbacks on `provider/model` calls.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observe>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The router.
    #[must_use]
    pub fn build(self) -> Router {
        Router(Arc::new(Inner {
            table: self.table,
            providers: self.providers,
            observer: self.observer.unwrap_or_else(|| Arc::new(())),
        }))
    }
}

impl fmt::Debug for RouterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterBuilder").field("table", &self.table).finish_non_exhaustive()
    }
}

impl Router {
    /// A router without routes, to add to.
    pub fn builder() -> RouterBuilder {
        RouterBuilder::default()
    }

    /// The route of `model`, or what to tell the caller.
    ///
    /// # Errors
    /// [`ModelNotFound`], which lists what there is.
    pub fn find(&self, model: &str) -> Result<Route, ModelNotFound> {
        if let Some(route) = self.0.table.get(model) {
            return Ok(route.clone());
        }
        if let Some((provider, rest)) = model.split_once('/') {
            if let (Some((name, target)), false) = (self.0.providers.get_key_value(provider), rest.is_empty())
            {
                let fallback = Fallback::new([target.for_model(rest)]).with_observer(self.0.observer.clone());
                return Ok(Route { name: name.clone(), fallback });
            }
        }
        Err(ModelNotFound { model: model.to_owned(), known: self.known() })
    }

    /// The exact names that routes list, sorted.
    pub fn names(&self) -> Vec<&str> {
        self.0.table.names()
    }

    fn known(&self) -> Vec<String> {
        let mut known: Vec<String> = self.0.table.names().into_iter().map(str::to_owned).collect();
        known.extend(self.0.table.patterns().map(str::to_owned));
        let mut direct: Vec<String> = self.0.providers.keys().map(|name| format!("{name}/<model>")).collect();
        direct.sort_unstable();
        known.extend(direct);
        known
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").field("table", &self.0.table).finish_non_exhaustive()
    }
}

/// No route knows the model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelNotFound {
    /// The model that was asked for.
    pub model: String,
    /// What could have been asked for: names, patterns, `provider/<model>`.
    pub known: Vec<String>,
}

impl fmt::Display for ModelNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Enough to find a misspelling, not enough to fill a log.
        const MOST: usize = 20;
        let model: String = self.model.chars().take(200).collect();
        write!(f, "no route for the model {model:?}; there is: ")?;
        for (at, known) in self.known.iter().take(MOST).enumerate() {
            write!(f, "{}{known}", if at == 0 { "" } else { ", " })?;
        }
        match self.known.len().checked_sub(MOST) {
            Some(more @ 1..) => write!(f, " and {more} more"),
            _ if self.known.is_empty() => f.write_str("none"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for ModelNotFound {}

impl Service<Request<RequestBody>> for Router {
    type Response = Response<ReplyBody>;
    type Error = BoxError;
    type Future = RouterFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> RouterFuture {
        let model = request.extensions().get::<Call>().map(|call| call.model.clone()).unwrap_or_default();
        RouterFuture(match self.find(&model) {
            Ok(mut route) => State::Routed { future: route.fallback.call(request) },
            Err(error) => State::Refused { error: Some(error.into()) },
        })
    }
}

/// The future of [`Router`].
#[derive(Debug)]
pub struct RouterFuture(State);

#[derive(Debug)]
enum State {
    Routed { future: FallbackFuture },
    Refused { error: Option<BoxError> },
}

impl Future for RouterFuture {
    type Output = Result<Response<ReplyBody>, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Routed { future } => Pin::new(future).poll(cx),
            State::Refused { error } => match error.take() {
                Some(error) => Poll::Ready(Err(error)),
                None => Poll::Pending,
            },
        }
    }
}

/// The names of what a router can be asked for, as `provider` or `provider/model`.
impl From<&str> for TargetName {
    fn from(text: &str) -> Self {
        Self::parse(text)
    }
}
