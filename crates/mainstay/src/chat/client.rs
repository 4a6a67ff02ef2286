//! The client.

use super::{
    ChatError, ChatRequest, ChatResponse, ChatStream, EmbedRequest, Embeddings,
    answer::Origin,
    embed, reply,
    request::{Style, Wire},
};
use crate::{
    body::RequestBody,
    peek::{Call, peek},
    provider::Kind,
    route::AttemptLog,
    secret::{ApiKey, Redactor},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, header};
use http_body::Body;
use mainstay_layers::{BoxError, deadline::Deadline};
use serde::Serialize;
use std::{fmt, future::Future, sync::Arc, time::Duration};
use tower::ServiceExt;
use tower_service::Service;

const CHAT: &str = "/v1/chat/completions";
const EMBEDDINGS: &str = "/v1/embeddings";

/// A typed client over any stack, fallback or router. See the [module](super).
///
/// Cheap to clone, if the service is. Each call is made on a clone of the service, whose readiness is driven first. The
/// futures borrow nothing, and so can be spawned.
#[derive(Clone)]
pub struct Chat<S> {
    service: S,
    settings: Arc<Settings>,
}

#[derive(Clone)]
struct Settings {
    headers: HeaderMap,
    style: Style,
    max_reply: usize,
    redactor: Redactor,
}

impl<S> Chat<S> {
    /// A client over `service`. Replies and answers are at most 64 MiB.
    pub fn new(service: S) -> Self {
        let settings = Settings {
            headers: HeaderMap::new(),
            style: Style { completion_tokens: false, stream_usage: true },
            max_reply: 64 << 20,
            redactor: Redactor::default(),
        };
        Self { service, settings: Arc::new(settings) }
    }

    /// Writes requests as this kind of provider wants them, where all calls go to one: under which name it takes the
    /// limit of tokens, and whether it takes the question for the tokens of a stream.
    #[must_use]
    pub fn with_kind(self, kind: Kind) -> Self {
        let new_name =
            matches!(kind, Kind::OpenAi | Kind::AzureOpenAi | Kind::OpenRouter | Kind::Groq | Kind::Xai);
        // Mistral's streams tell their tokens unasked, and its API refuses what it does not know.
        let style = Style { completion_tokens: new_name, stream_usage: kind != Kind::Mistral };
        self.with(|settings| settings.style = style)
    }

    /// Adds a header to each request. What reaches the provider is for the [endpoint](crate::endpoint) to say.
    #[must_use]
    pub fn with_header(self, name: HeaderName, value: HeaderValue) -> Self {
        self.with(|settings| drop(settings.headers.insert(name, value)))
    }

    /// Sends a key along, for stacks that have none of their own, and cuts it out of what providers say.
    #[must_use]
    pub fn with_key(self, key: &ApiKey) -> Self {
        let this = self.with_redactor(Redactor::new([key.expose()]));
        match key.header("Bearer ") {
            Some(value) => this.with_header(header::AUTHORIZATION, value),
            None => this,
        }
    }

    /// What is cut out of the words of providers in errors.
    #[must_use]
    pub fn with_redactor(self, redactor: Redactor) -> Self {
        self.with(|settings| settings.redactor = redactor)
    }

    /// The largest reply, and the largest answer of a stream, in bytes.
    #[must_use]
    pub fn with_max_reply(self, bytes: usize) -> Self {
        self.with(|settings| settings.max_reply = bytes)
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// The service below.
    pub fn service(&self) -> &S {
        &self.service
    }
}

impl<S> Chat<S> {
    /// Asks for an answer and waits until it is whole.
    ///
    /// # Errors
    /// [`ChatError`]: no provider answered, or with an error, or with what is no answer.
    pub fn complete<B>(
        &self,
        request: &ChatRequest,
    ) -> impl Future<Output = Result<ChatResponse, ChatError>> + use<S, B>
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone,
        S::Error: Into<BoxError>,
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let wire = Wire { request, stream: false, style: self.settings.style };
        let call = self.prepare(CHAT, "application/json", &wire, request.within);
        async move {
            let sent = call?.send().await?;
            let (settings, origin) = (sent.settings, sent.origin);
            let (parts, bytes) =
                reply::whole(sent.reply, settings.max_reply, &origin, &settings.redactor).await?;
            reply::answer(&parts, &bytes, origin, &settings.redactor)
        }
    }

    /// Asks for an answer and hands it on as it is given.
    ///
    /// # Errors
    /// [`ChatError`]: no provider answered, or with an error. Over a [`JudgeLayer`](crate::judge::JudgeLayer) this is
    /// every error that comes before the first content; then the stream has them.
    pub fn stream<B>(
        &self,
        request: &ChatRequest,
    ) -> impl Future<Output = Result<ChatStream<B>, ChatError>> + use<S, B>
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone,
        S::Error: Into<BoxError>,
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let wire = Wire { request, stream: true, style: self.settings.style };
        let call = self.prepare(CHAT, "text/event-stream", &wire, request.within);
        async move {
            let sent = call?.send().await?;
            let (settings, origin) = (sent.settings, sent.origin);
            let (parts, body) = sent.reply.into_parts();
            if !parts.status.is_success() {
                return Err(reply::error(&parts, body, &origin, &settings.redactor).await);
            }
            if reply::is_json(&parts) {
                let reply = Response::from_parts(parts, body);
                let (parts, bytes) =
                    reply::whole(reply, settings.max_reply, &origin, &settings.redactor).await?;
                let dialect = crate::dialect::Dialect::ChatCompletions;
                reply::check(dialect, &parts, &bytes, &origin, &settings.redactor)?;
                return Err(reply::malformed("it is no stream, though one was asked for", &origin));
            }
            Ok(ChatStream::new(parts, body, origin, settings.redactor.clone(), settings.max_reply))
        }
    }

    /// Asks for the embeddings of texts.
    ///
    /// # Errors
    /// As [`complete`](Self::complete); a reply with another number of vectors than texts is no answer.
    pub fn embed<B>(
        &self,
        request: &EmbedRequest,
    ) -> impl Future<Output = Result<Embeddings, ChatError>> + use<S, B>
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone,
        S::Error: Into<BoxError>,
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let call = self.prepare(EMBEDDINGS, "application/json", request, request.within);
        let expected = request.len();
        async move {
            let sent = call?.send().await?;
            let (settings, origin) = (sent.settings, sent.origin);
            let (parts, bytes) =
                reply::whole(sent.reply, settings.max_reply, &origin, &settings.redactor).await?;
            embed::read(&parts, &bytes, expected, &origin, &settings.redactor)
        }
    }

    fn prepare(
        &self,
        path: &'static str,
        accept: &'static str,
        body: &impl Serialize,
        within: Option<Duration>,
    ) -> Result<Prepared<S>, ChatError>
    where
        S: Clone,
    {
        let body = Bytes::from(serde_json::to_vec(body).map_err(ChatError::request)?);
        let call = Call::new(path, peek(&body).map_err(ChatError::request)?);
        let mut request = Request::new(());
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = http::Uri::from_static(path);
        let headers = request.headers_mut();
        headers.clone_from(&self.settings.headers);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        let log = AttemptLog::default();
        request.extensions_mut().insert(log.clone());
        if let Some(within) = within {
            request.extensions_mut().insert(Deadline::after(within));
        }
        Ok(Prepared {
            service: self.service.clone(),
            request: call.into_request(request, body),
            log,
            settings: self.settings.clone(),
        })
    }
}

struct Prepared<S> {
    service: S,
    request: Request<RequestBody>,
    log: AttemptLog,
    settings: Arc<Settings>,
}

struct Sent<B> {
    reply: Response<B>,
    origin: Origin,
    settings: Arc<Settings>,
}

impl<S> Prepared<S> {
    async fn send<B>(self) -> Result<Sent<B>, ChatError>
    where
        S: Service<Request<RequestBody>, Response = Response<B>>,
        S::Error: Into<BoxError>,
    {
        let Self { service, request, log, settings } = self;
        match service.oneshot(request).await {
            Ok(reply) => {
                let origin = Origin::new(log, reply.extensions());
                Ok(Sent { reply, origin, settings })
            }
            Err(error) => {
                let origin = Origin::new(log, &http::Extensions::new());
                Err(ChatError::call(error.into(), origin, &settings.redactor))
            }
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for Chat<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chat")
            .field("service", &self.service)
            .field("style", &self.settings.style)
            .finish_non_exhaustive()
    }
}
