//! The service: what passes, what is refused, what becomes of errors, bodies and drops.

use super::*;
use crate::judge::{self, ErrorEvent, ReplyError};
use crate::translate::TranslateBody;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, StreamBody};
use mainstay_layers::{
    BoxError,
    classify::{Class, Failed, Verdict},
    error::find_cause,
};
use serde_json::json;
use std::convert::Infallible;
use tower::{Layer, ServiceExt, service_fn};

const CHAT: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;

fn request(path: &str, body: &str) -> Request<RequestBody> {
    let bytes = Bytes::copy_from_slice(body.as_bytes());
    let call = call(path, &bytes).unwrap();
    call.into_request(Request::post(path).header("content-length", body.len()).body(()).unwrap(), bytes)
}

async fn reply_to(
    layer: TranslateLayer,
    request: Request<RequestBody>,
    reply: Response<Full<Bytes>>,
) -> Result<Response<TranslateBody<Full<Bytes>>>, BoxError> {
    let service = service_fn(move |_: Request<RequestBody>| {
        let reply = reply.clone();
        async move { Ok::<_, Infallible>(reply) }
    });
    layer.layer(service).oneshot(request).await
}

#[tokio::test]
async fn the_targets_own_dialect_passes_untouched() {
    let service = service_fn(|request: Request<RequestBody>| async move {
        assert_eq!(request.uri().path(), "/v1/chat/completions");
        assert_eq!(request.into_body().to_bytes(), CHAT);
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"not even JSON"))))
    });
    let reply =
        layer_for(Api::Chat).layer(service).oneshot(request("/v1/chat/completions", CHAT)).await.unwrap();
    assert_eq!(reply.into_body().collect().await.unwrap().to_bytes(), "not even JSON");
}

#[tokio::test]
async fn layers_below_see_the_targets_dialect_and_its_path() {
    let service = service_fn(|request: Request<RequestBody>| async move {
        let call = request.extensions().get::<Call>().unwrap();
        assert_eq!(call.dialect, crate::dialect::Dialect::Messages);
        assert_eq!(call.rename(request.body(), "other").to_bytes(), request.body().to_bytes());
        assert_eq!(request.uri(), "/v1/messages");
        assert!(request.headers().get("content-length").is_none());
        let answer = json!({"id": "msg_1", "content": [], "stop_reason": "end_turn"}).to_string();
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(answer))))
    });
    layer_for(Api::Messages).layer(service).oneshot(request("/v1/chat/completions?x=y", CHAT)).await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_carried_is_an_error_that_falls_back_and_nothing_is_sent() {
    let service = service_fn(|_: Request<RequestBody>| async move {
        panic!("sent");
        #[allow(unreachable_code)]
        Ok::<Response<Full<Bytes>>, Infallible>(Response::default())
    });
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"n":2}"#;
    let error = layer_for(Api::Messages)
        .layer(service)
        .oneshot(request("/v1/chat/completions", body))
        .await
        .unwrap_err();
    let verdict = find_cause::<Failed>(&*error).unwrap().verdict();
    assert_eq!(verdict.class, Class::Rejected);
    assert!(verdict.falls_back() && !verdict.is_retryable());
    assert_eq!(find_cause::<Untranslatable>(&*error).unwrap().param.as_deref(), Some("n"));
}

#[tokio::test]
async fn an_endpoint_that_the_target_does_not_have_is_refused() {
    let layer = layer_for(Api::Messages);
    let wish = request("/v1/embeddings", r#"{"model":"m","input":"x"}"#);
    assert!(!layer.takes(wish.extensions().get::<Call>().unwrap()));
    let error = reply_to(layer, wish, Response::default()).await.unwrap_err();
    assert_eq!(find_cause::<Untranslatable>(&*error).unwrap().code, "unsupported_by_target");
}

#[tokio::test]
async fn an_error_keeps_status_and_verdict_and_takes_the_callers_shape() {
    let theirs = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let mut reply = Response::new(Full::new(Bytes::from(theirs.to_string())));
    *reply.status_mut() = StatusCode::from_u16(529).unwrap();
    reply.extensions_mut().insert(Verdict::new(Class::Overloaded).with_message(Some("Overloaded")));
    let reply =
        reply_to(layer_for(Api::Messages), request("/v1/chat/completions", CHAT), reply).await.unwrap();
    assert_eq!(reply.status().as_u16(), 529);
    assert_eq!(reply.extensions().get::<Verdict>().unwrap().class, Class::Overloaded);
    let kept = reply.extensions().get::<judge::ErrorBody>().unwrap().0.clone();
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(kept, body);
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["error"]["message"], "Overloaded");
    assert!(body.get("type").is_none());
}

type Frames = Vec<Result<Frame<Bytes>, BoxError>>;

fn stream_of(frames: Frames) -> Response<impl Body<Data = Bytes, Error = BoxError>> {
    let body = StreamBody::new(futures_lite(frames));
    Response::builder().header("content-type", "text/event-stream; charset=utf-8").body(body).unwrap()
}

fn futures_lite(frames: Frames) -> impl futures_core::Stream<Item = Result<Frame<Bytes>, BoxError>> {
    struct Iter(std::vec::IntoIter<Result<Frame<Bytes>, BoxError>>);
    impl futures_core::Stream for Iter {
        type Item = Result<Frame<Bytes>, BoxError>;
        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Self::Item>> {
            std::task::Poll::Ready(self.0.next())
        }
    }
    Iter(frames.into_iter())
}

async fn stream_to_messages(frames: Frames) -> (String, Option<BoxError>) {
    let frames = std::sync::Arc::new(parking_lot::Mutex::new(Some(frames)));
    let service = service_fn(move |_: Request<RequestBody>| {
        let frames = frames.lock().take().unwrap();
        async move { Ok::<_, Infallible>(stream_of(frames)) }
    });
    let body = r#"{"model":"m","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    let reply = layer_for(Api::Chat).layer(service).oneshot(request("/v1/messages", body)).await.unwrap();
    let mut body = reply.into_body();
    let mut text = String::new();
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => text += std::str::from_utf8(&frame.into_data().unwrap()).unwrap(),
            Err(error) => {
                assert!(body.is_end_stream());
                assert!(body.frame().await.is_none());
                return (text, Some(error));
            }
        }
    }
    assert!(body.is_end_stream());
    (text, None)
}

fn data(text: &'static str) -> Result<Frame<Bytes>, BoxError> {
    Ok(Frame::data(Bytes::from_static(text.as_bytes())))
}

const HI: &str = "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";

#[tokio::test]
async fn a_providers_error_event_is_told_in_the_callers_dialect() {
    let raw = Bytes::from_static(
        b"data: {\"error\":{\"message\":\"engine fell over\",\"type\":\"server_error\"}}\n\n",
    );
    let event = ReplyError::Provider(ErrorEvent::new(raw.clone(), raw.slice(6..)));
    let verdict =
        Verdict::new(Class::ServerError).with_committed(true).with_message(Some("engine fell over"));
    let (text, error) = stream_to_messages(vec![data(HI), Err(Failed::new(verdict, event).into())]).await;
    assert!(text.contains("text_delta") && !text.contains("content_block_stop"), "{text}");
    let error = error.unwrap();
    assert!(find_cause::<Failed>(&*error).unwrap().verdict().committed);
    let Some(ReplyError::Provider(event)) = find_cause::<ReplyError>(&*error) else { panic!("{error}") };
    let raw = std::str::from_utf8(&event.raw).unwrap();
    assert!(
        raw.starts_with("event: error\ndata: {\"type\":\"error\"") && raw.contains("engine fell over"),
        "{raw}"
    );
}

#[tokio::test]
async fn other_errors_stay_what_they_are() {
    let (_, error) = stream_to_messages(vec![data(HI), Err(ReplyError::Truncated.into())]).await;
    assert!(matches!(find_cause::<ReplyError>(&*error.unwrap()), Some(ReplyError::Truncated)));
}

#[tokio::test]
async fn an_event_that_is_no_json_ends_the_stream_as_malformed() {
    let (text, error) = stream_to_messages(vec![data(HI), data("data: {oops\n\n"), data(HI)]).await;
    assert_eq!(text.matches("text_delta").count(), 1);
    let error = error.unwrap();
    let verdict = find_cause::<Failed>(&*error).unwrap().verdict();
    assert_eq!((verdict.class, verdict.committed), (Class::Malformed, true));
}

#[tokio::test]
async fn events_are_handed_on_as_they_come() {
    let (sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(4);
    let receiver = std::sync::Arc::new(parking_lot::Mutex::new(Some(receiver)));
    let service = service_fn(move |_: Request<RequestBody>| {
        let mut receiver = receiver.lock().take().unwrap();
        let body = StreamBody::new(poll_fn_stream(move |cx| {
            receiver.poll_recv(cx).map(|data| data.map(|data| Ok::<_, BoxError>(Frame::data(data))))
        }));
        async move {
            Ok::<_, Infallible>(
                Response::builder().header("content-type", "text/event-stream").body(body).unwrap(),
            )
        }
    });
    let body = r#"{"model":"m","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    let reply = layer_for(Api::Chat).layer(service).oneshot(request("/v1/messages", body)).await.unwrap();
    let mut body = reply.into_body();
    sender.send(Bytes::from_static(HI.as_bytes())).await.unwrap();
    let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(std::str::from_utf8(&frame).unwrap().contains("\"text\":\"Hi\""));
    drop(body);
    assert!(sender.is_closed(), "a dropped body lets go of what is below");
}

fn poll_fn_stream<T>(
    poll: impl FnMut(&mut std::task::Context<'_>) -> std::task::Poll<Option<T>> + Unpin,
) -> impl futures_core::Stream<Item = T> {
    struct PollFn<F>(F);
    impl<T, F: FnMut(&mut std::task::Context<'_>) -> std::task::Poll<Option<T>> + Unpin> futures_core::Stream
        for PollFn<F>
    {
        type Item = T;
        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<T>> {
            (self.0)(cx)
        }
    }
    PollFn(poll)
}

#[tokio::test]
async fn what_was_dropped_stands_in_a_header() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"n":2,"seed":1}"#;
    let answer = json!({"id": "msg_1", "content": [], "stop_reason": "end_turn"}).to_string();
    let reply = Response::new(Full::new(Bytes::from(answer)));
    let layer = layer_for(Api::Messages).lenient();
    let reply = reply_to(layer, request("/v1/chat/completions", body), reply).await.unwrap();
    assert_eq!(reply.headers()["x-mainstay-dropped"], "n, seed");
}

#[tokio::test]
async fn a_reply_over_the_bound_is_an_error() {
    let reply = Response::new(Full::new(Bytes::from(vec![b' '; 100])));
    let layer = layer_for(Api::Messages).with_max_reply(99);
    let error = reply_to(layer, request("/v1/chat/completions", CHAT), reply).await.unwrap_err();
    assert_eq!(find_cause::<Failed>(&*error).unwrap().verdict().class, Class::TooLarge);
}
