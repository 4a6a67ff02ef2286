#![allow(clippy::unwrap_used, reason = "in a test that is an assertion")]

use super::{GrpcCallLayer, GrpcStatus, GrpcTryLayer};
use crate::{
    BoxError,
    breaker::Config,
    classify::{Class, Failed, GrpcClassifier, Verdict},
    deadline::{Deadline, DeadlineExceeded},
    limit::{BodyTooLarge, Side},
    retry::Attempt,
    testing::{FedBody, endless, fed, next},
    timeout::{Phase, TimeoutError, TimeoutKind},
};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Body;
use std::{future::Future, time::Duration};
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);

fn status(reply: &HeaderMap) -> &str {
    reply["grpc-status"].to_str().unwrap()
}

/// What a caller gets where the service below answers so.
async fn answer<F>(
    layer: GrpcCallLayer,
    request: Request<()>,
    f: impl FnOnce(Request<()>) -> F,
) -> Result<Response<impl Body<Data = bytes::Bytes, Error = BoxError> + Unpin>, BoxError>
where
    F: Future<Output = Result<Response<FedBody>, BoxError>>,
{
    let mut f = Some(f);
    layer.layer(service_fn(move |request| f.take().unwrap()(request))).oneshot(request).await
}

#[tokio::test(start_paused = true)]
async fn each_error_of_our_own_has_its_code() {
    let breaker = Config::new().build("search").unwrap();
    breaker.force_open();
    let open = breaker.try_enter().unwrap_err();
    let timer = TimeoutError::new(TimeoutKind::Idle, Phase::Head, SECOND);
    let failed = |verdict| -> BoxError { Failed::new(verdict, "judged").into() };
    let errors: [(BoxError, u32); 7] = [
        (timer.into(), 4),
        (DeadlineExceeded::new().into(), 4),
        (BodyTooLarge::new(Side::Response, 1, None).into(), 8),
        (open.into(), 14),
        (failed(Verdict::new(Class::Auth)), 16),
        (failed(Verdict::new(Class::ServerError).with_code(Some("DATA_LOSS"))), 15),
        (failed(Verdict::new(Class::ServerError).with_code(Some("server_error"))), 13),
    ];
    for (error, code) in errors {
        let status = GrpcStatus::of_error(&*error).unwrap();
        assert_eq!((status.code(), status.message()), (code, &*error.to_string()));
    }
    assert!(GrpcStatus::of_error(&std::io::Error::other("foreign")).is_none());
}

#[test]
fn a_code_of_a_class_is_of_that_class_as_far_as_grpc_has_one() {
    for class in Class::ALL {
        let back = GrpcClassifier::class_of_code(GrpcClassifier::code_of_class(class));
        let acts = |class: Class| (class.is_retryable(), class.vote());
        match class {
            // No code says so: the nearest one does.
            Class::QuotaExhausted | Class::TooLarge | Class::Rejected => {}
            _ => assert_eq!(acts(back), acts(class), "{class}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_instead_of_a_reply_is_a_reply_of_trailers_only() {
    let error = Failed::new(
        Verdict::new(Class::Rejected).with_wait(Some(Duration::from_millis(1500))),
        "caf\u{e9}: 100 %\n",
    );
    let reply =
        answer(GrpcCallLayer::new(), Request::new(()), |_| async { Err(error.into()) }).await.unwrap();
    assert_eq!(reply.status(), 200);
    assert_eq!(reply.headers()["content-type"], "application/grpc");
    assert_eq!(status(reply.headers()), "14");
    assert_eq!(reply.headers()["grpc-message"], "caf%C3%A9: 100 %25%0A");
    assert_eq!(reply.headers()["grpc-retry-pushback-ms"], "1500");
    assert_eq!(reply.extensions().get::<Verdict>().unwrap().class, Class::Rejected);
    assert!(reply.body().is_end_stream());
    assert_eq!(reply.body().size_hint().exact(), Some(0));
    assert!(next(&mut reply.into_body()).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_foreign_error_passes() {
    let foreign = |_| async { Err("foreign".into()) };
    let error = answer(GrpcCallLayer::new().with_deadline(SECOND), Request::new(()), foreign).await.err();
    assert_eq!(error.unwrap().to_string(), "foreign");
}

#[tokio::test(start_paused = true)]
async fn the_earliest_of_default_header_and_extension_is_the_deadline() {
    let layer = GrpcCallLayer::new().with_deadline(10 * SECOND);
    for (header, extension, ends) in
        [(None, None, 10), (Some("3S"), None, 3), (Some("30S"), Some(4), 4), (Some("nonsense"), None, 10)]
    {
        let mut request = Request::new(());
        if let Some(header) = header {
            request.headers_mut().insert("grpc-timeout", HeaderValue::from_static(header));
        }
        if let Some(seconds) = extension {
            request.extensions_mut().insert(Deadline::after(seconds * SECOND));
        }
        let start = Instant::now();
        let (calls, endless) = endless();
        let reply = layer.layer(endless).oneshot(request).await.unwrap();
        assert_eq!(status(reply.headers()), "4");
        assert!(start.elapsed() - ends * SECOND < Duration::from_millis(5), "{header:?} {extension:?}");
        assert_eq!(calls.running(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_deadline_none_is_set() {
    let layer = GrpcCallLayer::new().with_deadline(Duration::ZERO);
    let (_, endless) = endless();
    assert!(timeout(3600 * SECOND, layer.layer(endless).oneshot(Request::new(()))).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn whoever_is_first_when_the_deadline_has_passed_it_is_the_deadlines() {
    let layer = GrpcCallLayer::new().with_deadline(SECOND);
    // A client that has a timer of its own.
    let foreign = |_| async {
        sleep(SECOND).await;
        Err("Timeout expired".into())
    };
    let reply = answer(layer, Request::new(()), foreign).await.unwrap();
    assert_eq!(status(reply.headers()), "4");

    // A server that says CANCELLED; that of a caller who left earlier stays what it is, and so does every other code.
    for (after, code, seen) in [(1000, "1", "4"), (500, "1", "1"), (1000, "3", "3"), (1000, "0", "0")] {
        let reply = answer(layer, Request::new(()), |_| async move {
            sleep(Duration::from_millis(after)).await;
            let reply =
                Response::builder().header("grpc-status", code).header("grpc-message", "Timeout%20expired");
            Ok(reply.body(fed().1)?)
        });
        assert_eq!(status(reply.await.unwrap().headers()), seen, "{code} after {after} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_in_the_body_is_trailers_and_then_the_end() {
    let (feed, body) = fed();
    let limited = crate::limit::LimitBody::new(body, 4, Side::Response);
    let mut body = super::ResponseBody::new(Some(limited), None);
    feed.data("four");
    assert_eq!(next(&mut body).await.unwrap().unwrap().into_data().unwrap(), "four");
    feed.data("5");
    let trailers = next(&mut body).await.unwrap().unwrap().into_trailers().unwrap();
    assert_eq!(status(&trailers), "8");
    assert!(feed.is_gone());
    assert!(body.is_end_stream());
    assert!(next(&mut body).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stream_past_its_deadline_ends_in_trailers_that_say_so() {
    let (feed, body) = fed();
    let layer = GrpcCallLayer::new().with_deadline(SECOND);
    let reply = answer(layer, Request::new(()), |_| async { Ok(Response::new(body)) }).await.unwrap();
    let mut body = reply.into_body();
    feed.data("a");
    assert!(next(&mut body).await.unwrap().unwrap().is_data());
    let trailers = next(&mut body).await.unwrap().unwrap().into_trailers().unwrap();
    assert_eq!(status(&trailers), "4");
    assert!(feed.is_gone());
}

#[tokio::test(start_paused = true)]
async fn frames_of_a_good_stream_and_foreign_errors_in_it_pass() {
    let (feed, body) = fed();
    let reply = answer(GrpcCallLayer::new(), Request::new(()), |_| async { Ok(Response::new(body)) }).await;
    let mut body = reply.unwrap().into_body();
    feed.data("a");
    feed.trailers();
    assert_eq!(next(&mut body).await.unwrap().unwrap().into_data().unwrap(), "a");
    assert_eq!(next(&mut body).await.unwrap().unwrap().into_trailers().unwrap()["grpc-status"], "0");
    feed.error();
    assert_eq!(next(&mut body).await.unwrap().unwrap_err().to_string(), "broken");
    assert!(next(&mut body).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn each_try_tells_what_is_left_and_how_many_there_were() {
    let service = GrpcTryLayer::new().layer(service_fn(async |request: Request<()>| {
        let headers = request.headers();
        let of = |name| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        Ok::<_, BoxError>((of("grpc-timeout"), of("grpc-previous-rpc-attempts")))
    }));
    let request = |attempt: Option<u32>, deadline: Option<Deadline>| {
        let mut request = Request::builder()
            .header("grpc-timeout", "9S")
            .header("grpc-previous-rpc-attempts", "7")
            .body(())
            .unwrap();
        attempt.map(|number| request.extensions_mut().insert(Attempt::new(number)));
        deadline.map(|deadline| request.extensions_mut().insert(deadline));
        request
    };
    let deadline = Deadline::after(2 * SECOND);
    let first = service.oneshot(request(None, Some(deadline))).await.unwrap();
    assert_eq!(first, (Some("2000000u".into()), None));
    tokio::time::advance(SECOND / 2).await;
    let third = service.oneshot(request(Some(3), Some(deadline))).await.unwrap();
    assert_eq!(third, (Some("1500000u".into()), Some("2".into())));
    // Without a deadline the header of the caller stays.
    assert_eq!(service.oneshot(request(None, None)).await.unwrap().0, Some("9S".into()));
}
