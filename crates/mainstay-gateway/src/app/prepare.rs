//! From a request to a call that is under way: read, peeked at, routed.

use super::{
    Inner,
    errors::Refusal,
    hops,
    id::X_REQUEST_ID,
    log::Record,
    outcome::{Failure, Pending},
    query,
    stream::Teller,
    upload::{self, UploadError},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, header, request::Parts};
use http_body::Body;
use http_body_util::{BodyExt, Empty};
use mainstay::{
    BoxError,
    dialect::Dialect,
    endpoint::caller_key,
    layers::deadline::{Deadline, DeadlineBody, DeadlineExceeded},
    peek::{Call, PeekError, check_object, peek},
    route::{AttemptLog, CallFailed},
    translate::Lenient,
};
use parking_lot::Mutex;
use std::{future::Future, sync::Arc, time::Duration};
use tower::{ServiceExt, service_fn};
use tower_http::decompression::{DecompressionBody, RequestDecompression};

/// A request that was read and knows where it goes.
pub(super) struct Ready {
    pub(super) teller: Teller,
    pub(super) pending: Pending,
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
pub(super) fn prepare<'a, B>(
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
