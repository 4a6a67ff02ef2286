//! A request, from the caller's dialect to the target's.

use super::{
    Api, Lenient, TargetApi, TranslateLayer, chat, cohere, converse,
    error::{Losses, Refused, Untranslatable},
    form::{Request, Wishes},
    gemini,
    json::Json,
    messages, ollama,
    out::Out,
    parts::{lose_rest, lose_several},
    responses,
};
use crate::{body::RequestBody, dialect::ErrorFamily, peek::Call, route::AskedModel};
use bytes::Bytes;
use http::{HeaderValue, Uri, header, request::Parts};
use std::sync::Arc;

/// What is remembered of a call until its reply comes.
#[derive(Debug)]
pub(super) struct Plan {
    /// The caller's dialect.
    pub(super) caller: Api,
    pub(super) wishes: Wishes,
    /// Whether the caller asked for a stream.
    pub(super) stream: bool,
    /// The model that is asked, for answers that do not name theirs.
    pub(super) model: Arc<str>,
    /// The fields that were dropped.
    pub(super) dropped: Vec<String>,
}

/// Writes the request anew, head and body.
pub(super) fn translate(
    layer: &TranslateLayer,
    call: &Call,
    parts: &mut Parts,
    body: &RequestBody,
) -> Result<(RequestBody, Plan), Untranslatable> {
    let target = &*layer.target;
    let Some(caller) = Api::of(call.dialect) else {
        return Err(Untranslatable::unsupported(&target.name));
    };
    let bytes = body.to_bytes();
    let refused = |refused| Untranslatable::refused(&target.name, refused);
    let json = Json::check(&bytes, true)
        .map_err(|what| refused(Refused::wrong("", format!("cannot be read: {what}"))))?;
    if !json.is_object() {
        return Err(refused(Refused::wrong("", "must be a JSON object")));
    }
    let mut losses = Losses::new(layer.strict && parts.extensions.get::<Lenient>().is_none());
    let written = write(layer, caller, call, parts, json, &mut losses);
    let (text, path, mut plan) = written.map_err(refused)?;
    plan.dropped = losses.dropped;
    parts.uri = path.parse::<Uri>().map_err(|_| refused(Refused::wrong("model", "fits into no address")))?;
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if target.api.is_target_only() {
        // What the caller takes is none of what comes.
        parts.headers.remove(header::ACCEPT);
    }
    parts.extensions.insert(call.in_dialect(target.api.dialect()));
    Ok((RequestBody::from(Bytes::from(text)), plan))
}

fn write(
    layer: &TranslateLayer,
    caller: Api,
    call: &Call,
    parts: &Parts,
    json: Json<'_>,
    losses: &mut Losses,
) -> Result<(String, String, Plan), Refused> {
    let target = &*layer.target;
    let mut request: Request<'_> = match caller {
        Api::Chat => chat::read(json)?,
        Api::Messages => messages::read(json)?,
        Api::Gemini => gemini::read(json, call.stream)?,
        Api::Responses => responses::read(json)?,
    };
    if target.api != TargetApi::Converse {
        request.unmark();
    }
    lose_rest(&request, losses)?;
    if target.api != TargetApi::Chat {
        lose_several(&request, losses)?;
    }
    let asked = parts.extensions.get::<AskedModel>().map(|asked| &*asked.0);
    let model = asked.filter(|model| !model.is_empty()).unwrap_or(&call.model);
    let mut out = Out::with_capacity(json.raw().len() + json.raw().len() / 16 + 512);
    let path = match target.api {
        TargetApi::Chat => {
            chat::write(&request, model, target, losses, &mut out)?;
            "/v1/chat/completions".to_owned()
        }
        TargetApi::Messages => {
            messages::write(&request, model, target, losses, &mut out)?;
            "/v1/messages".to_owned()
        }
        TargetApi::Gemini => {
            gemini::write(&request, model, target, losses, &mut out)?;
            gemini::path(model, call.stream)
        }
        TargetApi::Responses => {
            responses::write(&request, model, target, losses, &mut out)?;
            "/v1/responses".to_owned()
        }
        TargetApi::Ollama => {
            ollama::write(&request, model, target, losses, &mut out)?;
            "/api/chat".to_owned()
        }
        TargetApi::Cohere => {
            cohere::write(&request, model, target, losses, &mut out)?;
            "/v2/chat".to_owned()
        }
        TargetApi::Converse => {
            converse::write(&request, model, target, losses, &mut out)?;
            converse::path(model, call.stream)
        }
    };
    let plan = Plan {
        caller,
        wishes: request.wishes(),
        stream: call.stream,
        model: model.into(),
        dropped: Vec::new(),
    };
    Ok((out.finish(), path, plan))
}

/// A call that passes untouched; only the model in a path of Gemini's has to be the one that is asked for, as it is in the
/// bodies of others.
pub(super) fn renamed(mut request: http::Request<RequestBody>) -> http::Request<RequestBody> {
    let extensions = request.extensions();
    let (Some(call), Some(asked)) = (extensions.get::<Call>(), extensions.get::<AskedModel>()) else {
        return request;
    };
    if call.family != ErrorFamily::Gemini || asked.0.is_empty() || *asked.0 == *call.model {
        return request;
    }
    let address = request.uri().path_and_query().map_or("", |address| address.as_str());
    let renamed = gemini::renamed(address, &asked.0).and_then(|address| address.parse().ok());
    if let Some(uri) = renamed {
        *request.uri_mut() = uri;
    }
    request
}
