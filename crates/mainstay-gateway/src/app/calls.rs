//! A call to a model: read, route, answer.

use super::{
    Inner, ReplyBody,
    errors::{self, Refusal},
    log::Record,
    reply,
    upload::{self, UploadError},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, header, request::Parts};
use http_body::Body;
use http_body_util::{BodyExt, Empty};
use mainstay::{
    BoxError,
    dialect::ErrorFamily,
    endpoint::caller_key,
    layers::deadline::{Deadline, DeadlineBody, DeadlineExceeded},
    peek::{Call, peek},
    route::{AttemptLog, CallFailed, Served},
};
use parking_lot::Mutex;
use std::{future::Future, sync::Arc};
use tower::{ServiceExt, service_fn};
use tower_http::decompression::{DecompressionBody, RequestDecompression};

/// Answers a `POST` below `/v1/`.
pub(super) async fn answer<B>(app: Arc<Inner>, request: Request<B>, id: &HeaderValue) -> Response<ReplyBody>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display + Into<BoxError> + Send,
{
    let family = ErrorFamily::of_path(request.uri().path());
    let mut record = Record::new(app.clone(), id.clone(), request.uri().path());
    let cut = app.cut.clone();
    let outcome = tokio::select! {
        biased;
        outcome = run(&app, request, &mut record) => outcome,
        // The drain is over before there was a head to answer with.
        () = cut.cancelled() => Err(Failure::Refused(Refusal::shutting_down())),
    };
    let redactor = app.redactor.clone();
    let (response, outcome) = match outcome {
        Ok(response) => return stream_or_whole(&app, response, record),
        Err(Failure::Refused(refusal)) => {
            let code = refusal.code();
            (refusal.into_response(family), code)
        }
        Err(Failure::Failed(failed, own)) => {
            record.tries = failed.tries;
            let outcome = failed.code.unwrap_or(failed.verdict.class.as_str());
            (errors::failed(&failed, family, &redactor.and(own.as_deref())), outcome)
        }
    };
    record.head(response.status());
    record.outcome = Some(outcome);
    response
}

/// Why there is no answer.
enum Failure {
    /// The gateway itself said no.
    Refused(Refusal),
    /// No target answered; with the caller's own credential, which nobody is to repeat.
    Failed(Box<CallFailed>, Option<String>),
}

/// An answer, and what is needed to hand it on.
struct Answered {
    response: Response<mainstay::route::ReplyBody>,
    call: Call,
    own: Option<String>,
}

async fn run<B>(app: &Inner, request: Request<B>, record: &mut Record) -> Result<Answered, Failure>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display + Into<BoxError> + Send,
{
    let (mut parts, body) = request.into_parts();
    let body = read(app, &mut parts, body).await.map_err(Failure::Refused)?;
    let peeked = peek(&body).map_err(|error| Failure::Refused(Refusal::unreadable(&error)))?;
    let call = Call::new(parts.uri.path(), peeked);
    record.model = Some(call.model.clone());
    record.stream = call.stream;
    let route =
        app.router.find(&call.model).map_err(|error| Failure::Refused(Refusal::model_not_found(&error)))?;
    record.route = Some(route.name.clone());

    let own = caller_key(&parts.headers).map(str::to_owned);
    let log = AttemptLog::default();
    parts.extensions = http::Extensions::new();
    parts.extensions.insert(log.clone());
    parts.extensions.insert(record.usage.clone());
    parts.headers.insert("x-request-id", record.id.clone());
    let deadline = app.deadline.map(Deadline::after);
    if let Some(deadline) = deadline {
        parts.extensions.insert(deadline);
    }
    let request = call.clone().into_request(Request::from_parts(parts, ()), body);
    let answered = within(deadline, route.fallback.oneshot(request)).await;
    match answered {
        Ok(response) => Ok(Answered { response: bounded(response, deadline), call, own }),
        Err(error) => Err(Failure::Failed(call_failed(&log, error), own)),
    }
}

/// Runs a call under the deadline over everything.
async fn within<R>(
    deadline: Option<Deadline>,
    call: impl Future<Output = Result<R, BoxError>>,
) -> Result<R, BoxError> {
    match deadline {
        None => call.await,
        Some(deadline) => tokio::time::timeout_at(deadline.instant(), call)
            .await
            .unwrap_or_else(|_| Err(DeadlineExceeded::new().into())),
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
    let Some(encoding) = parts.headers.remove(header::CONTENT_ENCODING) else {
        return upload::read(body, limit, idle).await.map_err(|error| Refusal::upload(&error));
    };
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

fn stream_or_whole(app: &Inner, answered: Answered, mut record: Record) -> Response<ReplyBody> {
    let Answered { response, call, own } = answered;
    let (parts, body) = response.into_parts();
    let served = parts.extensions.get::<Served>();
    if let Some(served) = served {
        record.target = Some(served.target.clone());
        record.tries = served.tries;
        record.asked = Some(served.model.clone());
    }
    record.head(parts.status);
    let stream = is_event_stream(&parts.headers);
    let mut headers = reply::answer(&parts.headers, served, stream);
    // Of a stream it is known at its end.
    if let (false, Some(cost)) = (stream, record.cost()) {
        reply::put_cost(&mut headers, cost);
    }
    let body = if stream {
        let redactor = app.redactor.and(own.as_deref());
        ReplyBody::stream(body, call.dialect, redactor, app.cut.clone().cancelled_owned(), record)
    } else {
        ReplyBody::passing(body, record)
    };
    let mut response = Response::new(body);
    *response.status_mut() = parts.status;
    *response.headers_mut() = headers;
    response
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
}
