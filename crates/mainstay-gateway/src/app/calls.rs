//! A call to a model: read, route, answer.

use super::{
    Inner, ReplyBody,
    errors::{self, Refusal},
    hops,
    id::X_REQUEST_ID,
    log::Record,
    query, reply,
    stream::Teller,
    upload::{self, UploadError},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header, request::Parts};
use http_body::Body;
use http_body_util::{BodyExt, Empty};
use mainstay::{
    BoxError,
    dialect::{Dialect, ErrorFamily},
    endpoint::caller_key,
    layers::deadline::{Deadline, DeadlineBody, DeadlineExceeded},
    peek::{Call, PeekError, check_object, peek},
    route::{AttemptLog, Cached, CallFailed, Served},
    secret::Redactor,
    translate::Lenient,
};
use parking_lot::Mutex;
use std::{
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};
use tower::{ServiceExt, service_fn};
use tower_http::decompression::{DecompressionBody, RequestDecompression};

/// Answers a `POST` below `/v1/`.
pub(super) fn answer<B>(
    app: Arc<Inner>,
    request: Request<B>,
    id: HeaderValue,
) -> impl Future<Output = Response<ReplyBody>> + Send
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display + Into<BoxError> + Send,
{
    let family = ErrorFamily::of_path(request.uri().path());
    let mut record = Record::new(app.clone(), id, request.uri().path());
    let deadline = app.deadline.map(Deadline::after);
    async move {
        let mut cut = pin!(app.cut.cancelled());
        let ready = tokio::select! {
            biased;
            ready = prepare(&app, request, deadline, &mut record) => ready,
            // The drain is over before there was a call to make.
            () = cut.as_mut() => Err(Failure::Refused(Refusal::shutting_down())),
        };
        let (teller, mut pending) = match ready {
            Ok(Ready { teller, pending }) => (teller, pending),
            Err(failure) => return refuse(failure, family, &app.redactor, record),
        };
        let waits = record.stream && teller.can_wait();
        let begin = app.keepalive.filter(|_| waits).map(tokio::time::sleep);
        let outcome = tokio::select! {
            biased;
            outcome = &mut pending => outcome,
            () = cut.as_mut() => Err(Failure::Refused(Refusal::shutting_down())),
            () = sleep_if(begin) => return wait(&app, teller, pending, record),
        };
        match outcome {
            Ok(response) => hand_on(&app, response, teller, record),
            Err(failure) => refuse(failure, family, &teller.redactor, record),
        }
    }
}

/// For ever where there is no timer.
async fn sleep_if(timer: Option<tokio::time::Sleep>) {
    match timer {
        Some(timer) => timer.await,
        None => std::future::pending().await,
    }
}

fn refuse(
    failure: Failure,
    family: ErrorFamily,
    redactor: &Redactor,
    mut record: Record,
) -> Response<ReplyBody> {
    record.failed(&failure, redactor);
    let response = match failure {
        Failure::Refused(refusal) => refusal.into_response(family),
        Failure::Failed(failed) => errors::failed(&failed, family, redactor),
    };
    record.head(response.status());
    response
}

/// The caller has waited long enough for a sign of life: the head of a stream goes out before there is one.
fn wait(app: &Inner, teller: Teller, pending: Pending, mut record: Record) -> Response<ReplyBody> {
    record.head(StatusCode::OK);
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    let headers = reply::answer(&headers, None, None, true, &teller.redactor);
    let mut response = Response::new(ReplyBody::waiting(pending, teller, app.cut.clone(), record));
    *response.headers_mut() = headers;
    response
}

/// Why there is no answer.
pub(super) enum Failure {
    /// The gateway itself said no.
    Refused(Refusal),
    /// No target answered.
    Failed(Box<CallFailed>),
}

/// A call that is under way.
pub(super) type Pending =
    Pin<Box<dyn Future<Output = Result<Response<mainstay::route::ReplyBody>, Failure>> + Send>>;

/// A request that was read and knows where it goes.
struct Ready {
    teller: Teller,
    pending: Pending,
}

/// As long as the longest names that there are, those of AWS, may be.
const LONGEST_MODEL: usize = 2048;

/// Calls JSON what was read as JSON: some callers do not say what they send, and curl takes it for a form.
fn name_json(headers: &mut HeaderMap) {
    let named =
        |value: &HeaderValue| value.as_bytes().windows(4).any(|word| word.eq_ignore_ascii_case(b"json"));
    if !headers.get(header::CONTENT_TYPE).is_some_and(named) {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
}

/// What the deadline over everything cut off while the request was still being read.
fn too_late() -> Failure {
    let log = AttemptLog::default();
    Failure::Failed(Box::new(CallFailed::from_error(&log, DeadlineExceeded::unsent().into())))
}

// As `answer` no `async fn`: that would keep a second place for each argument, and a request is large.
fn prepare<'a, B>(
    app: &'a Arc<Inner>,
    request: Request<B>,
    deadline: Option<Deadline>,
    record: &'a mut Record,
) -> impl Future<Output = Result<Ready, Failure>> + Send + 'a
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display + Into<BoxError> + Send,
{
    let (mut parts, body) = request.into_parts();
    async move {
        hops::count(&mut parts.headers).map_err(Failure::Refused)?;
        let upload = read(app, &mut parts, body);
        let body = match deadline {
            None => upload.await,
            Some(deadline) => {
                tokio::time::timeout_at(deadline.instant(), upload).await.map_err(|_| too_late())?
            }
        };
        let body = body.map_err(Failure::Refused)?;
        let path = parts.uri.path();
        let call = match Call::of_path(path) {
            Some(call) => {
                query::key_to_header(&parts.uri, &mut parts.headers);
                check_object(&body).map(|()| call)
            }
            None => peek(&body).map(|peeked| Call::new(path, peeked)),
        };
        let call = call.map_err(|error| Failure::Refused(Refusal::unreadable(&error)))?;
        name_json(&mut parts.headers);
        record.model = Some(call.model.clone());
        record.stream = call.stream;
        let route = app
            .router
            .find(&call.model)
            .map_err(|error| Failure::Refused(Refusal::model_not_found(&error)))?;
        record.route = Some(route.name.clone());
        // It is repeated in a header of the reply and with each try that fails.
        if call.model.len() > LONGEST_MODEL {
            let error = PeekError::BadField { field: "model", what: "is longer than any model's name" };
            return Err(Failure::Refused(Refusal::unreadable(&error)));
        }

        let log = record.log.clone();
        let redactor = app.redactor.and(caller_key(&parts.headers));
        // Gemini's streams are events only where they are asked to be.
        let events = call.dialect != Dialect::Gemini || query::asks_for_events(&parts.uri);
        let teller = Teller::new(call.dialect, redactor, app.keepalive.filter(|_| events));
        parts.extensions = http::Extensions::new();
        parts.extensions.insert(log.clone());
        parts.extensions.insert(record.usage.clone());
        if app.lenient.contains(&*route.name) {
            parts.extensions.insert(Lenient);
        }
        parts.headers.insert(&X_REQUEST_ID, record.id.clone());
        // What the caller can decode is between us and the caller: providers are asked for what we can.
        parts.headers.remove(header::ACCEPT_ENCODING);
        if let Some(deadline) = deadline {
            parts.extensions.insert(deadline);
        }
        let request = call.into_request(Request::from_parts(parts, ()), body);
        // The deadline is the fallback's to keep: it may have an old answer when the time is over.
        let answering = route.fallback.oneshot(request);
        let pending = Box::pin(async move {
            match answering.await {
                Ok(response) => Ok(bounded(response, deadline)),
                Err(error) => Err(Failure::Failed(call_failed(&log, error))),
            }
        });
        Ok(Ready { teller, pending })
    }
}

/// The deadline holds for the body of a stream too.
fn bounded(
    response: Response<mainstay::route::ReplyBody>,
    deadline: Option<Deadline>,
) -> Response<mainstay::route::ReplyBody> {
    match deadline {
        None => response,
        Some(_) => response.map(|body| DeadlineBody::new(body, deadline).map_err(Into::into).boxed_unsync()),
    }
}

fn call_failed(log: &AttemptLog, error: BoxError) -> Box<CallFailed> {
    match error.downcast::<CallFailed>() {
        Ok(failed) => failed,
        Err(error) => Box::new(CallFailed::from_error(log, error)),
    }
}

/// Reads the body within its bounds. A compressed one is decoded as it is read: the limit counts decoded bytes.
async fn read<B>(app: &Inner, parts: &mut Parts, body: B) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display + Into<BoxError> + Send,
{
    let (limit, idle) = (app.max_request_body, app.upload_idle);
    match parts.headers.remove(header::CONTENT_ENCODING) {
        None => upload::read(body, limit, idle).await.map_err(|error| Refusal::upload(&error)),
        // Boxed: few are compressed, and a decoder is large.
        Some(encoding) => Box::pin(read_compressed(encoding, body, limit, idle)).await,
    }
}

async fn read_compressed<B>(
    encoding: HeaderValue,
    body: B,
    limit: u64,
    idle: Duration,
) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display + Into<BoxError> + Send,
{
    // The decoder knows them in small letters; HTTP does not mind.
    let encoding = HeaderValue::from_bytes(&encoding.as_bytes().to_ascii_lowercase()).unwrap_or(encoding);
    let mut request = Request::new(body);
    request.headers_mut().insert(header::CONTENT_ENCODING, encoding.clone());
    // tower-http decodes, as a service; what it does not know it answers itself, without having called this one.
    let (sent, mut read) = tokio::sync::oneshot::channel();
    let sent = Arc::new(Mutex::new(Some(sent)));
    let reader = service_fn(move |request: Request<DecompressionBody<B>>| {
        let sent = sent.lock().take();
        async move {
            let read = upload::read(request.into_body(), limit, idle).await;
            if let Some(sent) = sent {
                // The receiver waits for this future.
                let _ = sent.send(read);
            }
            Ok::<_, BoxError>(Response::new(Empty::<Bytes>::new()))
        }
    });
    if let Err(error) = RequestDecompression::new(reader).oneshot(request).await {
        return Err(Refusal::upload(&UploadError::Broken(error.to_string())));
    }
    match read.try_recv() {
        Ok(read) => read.map_err(|error| Refusal::upload(&error)),
        Err(_) => Err(Refusal::unsupported_encoding(&String::from_utf8_lossy(encoding.as_bytes()))),
    }
}

fn hand_on(
    app: &Inner,
    response: Response<mainstay::route::ReplyBody>,
    teller: Teller,
    mut record: Record,
) -> Response<ReplyBody> {
    let (parts, body) = response.into_parts();
    let served = parts.extensions.get::<Served>();
    record.answered(&parts.headers, served, &teller.redactor);
    record.head(parts.status);
    let stream = is_event_stream(&parts.headers);
    let cached = parts.extensions.get::<Cached>();
    record.kept(cached);
    let mut headers = reply::answer(&parts.headers, served, cached, stream, &teller.redactor);
    // Of a stream it is known at its end; an answer that was kept costs nothing again.
    if let (false, None, Some(cost)) = (stream, cached, record.cost()) {
        reply::put_cost(&mut headers, cost);
    }
    let body = if stream {
        ReplyBody::stream(body, teller, app.cut.clone(), record)
    } else {
        ReplyBody::passing(body, record)
    };
    let mut response = Response::new(body);
    *response.status_mut() = parts.status;
    *response.headers_mut() = headers;
    response
}

pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    const EVENTS: &str = "text/event-stream";
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .and_then(|kind| kind.trim_start().get(..EVENTS.len()))
        .is_some_and(|kind| kind.eq_ignore_ascii_case(EVENTS))
}
