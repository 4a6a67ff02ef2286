//! Translation as the service shows it: bodies, paths, streams, errors.

mod arbitrary;
mod citations;
mod layer;
mod lenient;
mod requests;
mod roundtrip;
mod spec;
mod streams;
mod targets;

use super::{
    Api, TranslateLayer, Untranslatable, request,
    stream::{StreamTranslator, translate_answer},
};
use crate::{
    body::RequestBody,
    peek::{Call, peek},
    provider::Kind,
};
use bytes::Bytes;
use serde_json::Value;

const APIS: [Api; 4] = [Api::Chat, Api::Messages, Api::Gemini, Api::Responses];

/// A layer whose target speaks `api`.
fn layer_for(api: Api) -> TranslateLayer {
    match api {
        Api::Chat => TranslateLayer::new(Kind::OpenAi),
        Api::Messages => TranslateLayer::new(Kind::Anthropic),
        Api::Gemini => TranslateLayer::new(Kind::Gemini),
        Api::Responses => TranslateLayer::new(Kind::OpenAi).with_responses(),
    }
}

fn path_of(api: Api) -> &'static str {
    match api {
        Api::Chat => "/v1/chat/completions",
        Api::Messages => "/v1/messages",
        Api::Gemini => "/v1beta/models/m:generateContent",
        Api::Responses => "/v1/responses",
    }
}

fn call(path: &str, body: &[u8]) -> Option<Call> {
    match Call::of_path(path) {
        Some(call) => Some(call),
        None => Some(Call::new(path, peek(body).ok()?)),
    }
}

/// A request for `path`, written for the target of `layer`: path and body.
fn translated(layer: &TranslateLayer, path: &str, body: &[u8]) -> Result<(String, Bytes), Untranslatable> {
    let call = call(path, body).expect("a body that can be routed");
    let (mut parts, ()) = http::Request::post(path).body(()).unwrap().into_parts();
    let body = RequestBody::from(Bytes::copy_from_slice(body));
    let (body, _) = request::translate(layer, &call, &mut parts, &body)?;
    Ok((parts.uri.to_string(), body.to_bytes()))
}

fn to(layer: &TranslateLayer, from: Api, body: &Value) -> Result<Value, Untranslatable> {
    let (_, body) = translated(layer, path_of(from), body.to_string().as_bytes())?;
    Ok(serde_json::from_slice(&body).expect("what is written is JSON"))
}

/// The field at fault.
fn refused(layer: &TranslateLayer, from: Api, body: &Value) -> String {
    let error = to(layer, from, body).expect_err("a request that cannot be carried");
    assert_eq!(error.code, "invalid_request");
    error.param.map(String::from).unwrap_or_default()
}
