//! Errors of the targets, judged and told in the caller's dialect: as replies, and inside streams.

use super::*;
use crate::judge::{JudgeLayer, ReplyError};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use mainstay_layers::{
    classify::{Class, Failed, Verdict},
    error::find_cause,
};
use std::convert::Infallible;
use tower::{ServiceBuilder, ServiceExt, service_fn};

fn media(kind: Kind) -> &'static str {
    match kind {
        Kind::OllamaNative => "application/x-ndjson",
        Kind::CohereV2 => "text/event-stream; charset=utf-8",
        _ => "application/vnd.amazon.eventstream",
    }
}

type Outcome = Result<(Response<()>, String, Option<mainstay_layers::BoxError>), mainstay_layers::BoxError>;

/// What a caller of `/v1/messages` gets when the provider answers so.
async fn asked(kind: Kind, stream: bool, reply: Response<Vec<u8>>) -> Outcome {
    let reply = reply.map(|body| Full::new(Bytes::from(body)));
    let service = ServiceBuilder::new()
        .layer(TranslateLayer::new(kind))
        .layer(JudgeLayer::new(kind))
        .service(service_fn(move |_: Request<RequestBody>| {
            let reply = reply.clone();
            async move { Ok::<_, Infallible>(reply) }
        }));
    let body = json!({"model": "m", "max_tokens": 9, "stream": stream, "messages": [{"role": "user", "content": "hi"}]});
    let bytes = Bytes::from(body.to_string());
    let request = call("/v1/messages", &bytes)
        .unwrap()
        .into_request(Request::post("/v1/messages").body(()).unwrap(), bytes);
    let (parts, body) = service.oneshot(request).await?.into_parts();
    let mut body = std::pin::pin!(body);
    let (mut text, mut error) = (Vec::new(), None);
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => text.extend_from_slice(&frame.into_data().unwrap()),
            Err(failed) => error = Some(failed),
        }
    }
    Ok((Response::from_parts(parts, ()), String::from_utf8(text).unwrap(), error))
}

fn reply(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Response<Vec<u8>> {
    let builder = headers
        .iter()
        .fold(Response::builder().status(status), |builder, (name, value)| builder.header(*name, *value));
    builder.body(body.into()).unwrap()
}

#[tokio::test]
async fn an_error_reply_is_told_as_the_caller_knows_errors() {
    for (kind, status, headers, body, class, words) in [
        (
            Kind::OllamaNative,
            404,
            &[][..],
            json!({"error": "model \"x\" not found, try pulling it first"}),
            Class::NotFound,
            "try pulling",
        ),
        (
            Kind::OllamaNative,
            503,
            &[],
            json!({"error": "server busy, please try again.  maximum pending requests exceeded"}),
            Class::Overloaded,
            "server busy",
        ),
        (
            Kind::OllamaNative,
            400,
            &[],
            json!({"error": "\"m\" does not support thinking"}),
            Class::InvalidRequest,
            "thinking",
        ),
        (Kind::CohereV2, 401, &[], json!({"message": "invalid api token"}), Class::Auth, "invalid api token"),
        (
            Kind::CohereV2,
            429,
            &[],
            json!({"message": "limited to 10 API calls / minute"}),
            Class::RateLimited,
            "10 API calls",
        ),
        (
            Kind::CohereV2,
            498,
            &[],
            json!({"message": "invalid token"}),
            Class::ContentPolicy,
            "invalid token",
        ),
        (
            Kind::BedrockConverse,
            400,
            &[("x-amzn-errortype", "ValidationException:http://internal/")],
            json!({"message": "Input is too long for requested model."}),
            Class::ContextLength,
            "too long",
        ),
        (
            Kind::BedrockConverse,
            429,
            &[("x-amzn-errortype", "ThrottlingException")],
            json!({"message": "Too many tokens per day, please wait"}),
            Class::RateLimited,
            "per day",
        ),
        (
            Kind::BedrockConverse,
            403,
            &[],
            json!({"__type": "com.amazon.coral.service#ExpiredTokenException",
         "Message": "The security token included in the request is expired"}),
            Class::Auth,
            "is expired",
        ),
    ] {
        let (reply, text, _) = asked(kind, true, reply(status, headers, body.to_string())).await.unwrap();
        assert_eq!(reply.status().as_u16(), status, "{kind} {body}");
        assert_eq!(reply.extensions().get::<Verdict>().unwrap().class, class, "{kind} {body}");
        let error: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(error["type"], "error");
        assert!(error["error"]["message"].as_str().unwrap().contains(words), "{error}");
    }
}

fn failed_stream(kind: Kind, after: bool) -> Vec<u8> {
    let mut pieces = if after { sample(kind) } else { Vec::new() };
    pieces.truncate(if kind == Kind::OllamaNative { 3 } else { 6 });
    pieces.push(match kind {
        Kind::OllamaNative => format!("{}\n", json!({"error": "it fell over"})).into_bytes(),
        Kind::CohereV2 => {
            let end =
                json!({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "it fell over"}});
            encode(Some("message-end"), end.to_string().as_bytes()).to_vec()
        }
        _ => exception("modelStreamErrorException", &json!({"message": "it fell over"})),
    });
    pieces.concat()
}

#[tokio::test]
async fn an_error_in_a_stream_before_its_first_words_is_an_error_reply() {
    for kind in KINDS {
        let reply = reply(200, &[("content-type", media(kind))], failed_stream(kind, false));
        let (reply, text, _) = asked(kind, true, reply).await.unwrap();
        assert!(reply.status().is_server_error(), "{kind}: {}", reply.status());
        let verdict = reply.extensions().get::<Verdict>().unwrap();
        assert!(verdict.class == Class::ServerError && verdict.is_retryable(), "{kind}: {verdict:?}");
        assert!(text.contains("it fell over") && text.starts_with("{\"type\":\"error\""), "{kind}: {text}");
    }
}

#[tokio::test]
async fn an_error_in_a_stream_after_its_first_words_ends_it_as_the_caller_knows_errors() {
    for kind in KINDS {
        let reply = reply(200, &[("content-type", media(kind))], failed_stream(kind, true));
        let (reply, text, error) = asked(kind, true, reply).await.unwrap();
        assert_eq!(reply.headers()["content-type"], "text/event-stream");
        assert!(text.contains("text_delta") && !text.contains("message_stop"), "{kind}: {text}");
        let error = error.unwrap_or_else(|| panic!("{kind}: no error"));
        assert!(find_cause::<Failed>(&*error).unwrap().verdict().committed, "{kind}");
        let Some(ReplyError::Provider(event)) = find_cause::<ReplyError>(&*error) else {
            panic!("{kind}: {error}")
        };
        let raw = std::str::from_utf8(&event.raw).unwrap();
        assert!(raw.starts_with("event: error\n") && raw.contains("it fell over"), "{kind}: {raw}");
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_is_no_answer_wherever_that_is() {
    for kind in KINDS {
        let pieces = sample(kind);
        // The last that says why it ends: from there on it is whole.
        let ends = pieces.len() - if kind == Kind::BedrockConverse { 2 } else { 1 };
        for n in 1..=ends {
            let mut bytes = pieces[..n].concat();
            // Within an event, too.
            for cut in [0, 3] {
                bytes.truncate(bytes.len() - cut);
                let reply = reply(200, &[("content-type", media(kind))], bytes.clone());
                let failed = match asked(kind, true, reply).await {
                    Err(error) => error,
                    Ok((_, text, error)) => {
                        assert!(!text.contains("message_stop"), "{kind} {n} {cut}: {text}");
                        error.unwrap_or_else(|| panic!("{kind} {n} {cut}: taken for whole"))
                    }
                };
                let cause = find_cause::<ReplyError>(&*failed);
                assert!(matches!(cause, Some(ReplyError::Truncated)), "{kind} {n} {cut}: {failed}");
            }
        }
    }
}

#[tokio::test]
async fn a_checksum_that_is_wrong_ends_the_stream_as_malformed() {
    let mut bytes = sample(Kind::BedrockConverse).concat();
    let at = bytes.windows(3).position(|three| three == b"llo").unwrap();
    bytes[at] ^= 1;
    let reply = reply(200, &[("content-type", media(Kind::BedrockConverse))], bytes);
    let (_, text, error) = asked(Kind::BedrockConverse, true, reply).await.unwrap();
    assert!(!text.contains("mlo"), "{text}");
    let error = error.unwrap();
    assert_eq!(find_cause::<Failed>(&*error).unwrap().verdict().class, Class::Malformed);
}

#[tokio::test]
async fn a_whole_stream_ends_as_whole() {
    for kind in KINDS {
        let reply = reply(200, &[("content-type", media(kind))], sample(kind).concat());
        let (_, text, error) = asked(kind, true, reply).await.unwrap();
        assert!(error.is_none() && text.contains("message_stop"), "{kind}: {text}");
    }
}

#[tokio::test]
async fn a_whole_answer_to_a_caller_of_streams_becomes_one() {
    let body =
        json!({"message": {"role": "assistant", "content": "hello"}, "done": true, "done_reason": "stop"});
    let reply = reply(200, &[("content-type", "application/json")], body.to_string());
    let (reply, text, error) = asked(Kind::OllamaNative, true, reply).await.unwrap();
    assert_eq!(reply.headers()["content-type"], "text/event-stream");
    assert!(
        error.is_none() && text.contains("\"text\":\"hello\"") && text.contains("message_stop"),
        "{text}"
    );
}

#[tokio::test]
async fn an_error_that_is_told_in_headers_alone_has_its_words() {
    let headers =
        [(":message-type", "error"), (":error-code", "InternalFailure"), (":error-message", "it fell over")];
    let bytes = Message::encode(&headers, b"").to_vec();
    let reply = reply(200, &[("content-type", media(Kind::BedrockConverse))], bytes);
    let (reply, text, _) = asked(Kind::BedrockConverse, true, reply).await.unwrap();
    assert!(reply.status().is_server_error() && text.contains("it fell over"), "{text}");
}
