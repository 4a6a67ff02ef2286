//! `GET /explain`: what would become of a call.

use super::{
    super::{
        Inner, ReplyBody,
        errors::Refusal,
        json,
        models::{self, decode},
    },
    seen::{Capable, seconds},
};
use http::{HeaderMap, Response};
use mainstay::{layers::breaker::State, route::Target};
use serde_json::{Value, json};
use std::time::Duration;

/// `GET /explain?model=NAME[&stream=true]`: what `mainstay explain` says, and how the targets are now.
pub(in super::super) fn explain(
    app: &Inner,
    query: Option<&str>,
    headers: &HeaderMap,
) -> Response<ReplyBody> {
    let family = models::asker(headers);
    let value = |key: &str| {
        let mut pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(name, _)| *name == key).map(|(_, value)| decode(&value.replace('+', " ")))
    };
    let Some(model) = value("model").filter(|model| !model.is_empty()) else {
        return Refusal::no_model().into_response(family);
    };
    let stream = value("stream").is_some_and(|stream| stream == "true" || stream == "1");
    let route = match app.router.find(&model) {
        Ok(route) => route,
        Err(error) => return Refusal::model_not_found(&error).into_response(family),
    };
    let targets: Vec<Value> = route
        .fallback
        .targets()
        .iter()
        .map(|target| {
            let (now, wait) = now(target, &model);
            json!({
                "target": target.name().to_string(),
                "now": now,
                "again_in_s": wait.map(seconds),
                "capabilities": Capable::of(target.capabilities()),
            })
        })
        .collect();
    json(json!({
        "model": model,
        "stream": stream,
        "route": &*route.name,
        "targets": targets,
        "warnings": app.config.advice(&model),
        "explanation": app.config.explain(&model, stream),
    }))
}

/// What would happen to a call at this target, and how long that lasts.
fn now(target: &Target, model: &str) -> (&'static str, Option<Duration>) {
    let asked = target.name().model.as_deref().unwrap_or(model);
    if let Some(cooling) = target.cooling_for(asked) {
        return ("passed_by: cooling", Some(cooling.left));
    }
    match target.breaker() {
        Some(breaker) => match (breaker.retry_in(), breaker.state()) {
            (Some(wait), _) => ("passed_by: circuit_open", Some(wait)),
            (None, State::Closed) => ("asked", None),
            (None, _) => ("asked, as a probe", None),
        },
        None => ("asked", None),
    }
}
