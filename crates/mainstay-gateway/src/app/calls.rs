//! A call to a model: read, route, answer.

use super::{
    Inner, ReplyBody,
    errors::{self, Refusal},
    log::Record,
    outcome::{Failure, Pending},
    prepare::{Ready, prepare},
    reply::{self, is_event_stream},
    stream::Teller,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body::Body;
use mainstay::{
    BoxError,
    dialect::ErrorFamily,
    layers::deadline::Deadline,
    route::{Cached, Served},
    secret::Redactor,
};
use std::{future::Future, pin::pin, sync::Arc};

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
