//! `GET /status.json` and `GET /explain`: how the targets are, and what would become of a call.
//!
//! Names come from the configuration. A provider's words are shown with every known key cut out.

use super::{
    Inner, ReplyBody,
    errors::Refusal,
    json,
    models::{self, decode},
};
use http::{HeaderMap, Response};
use mainstay::{
    layers::{
        breaker::State,
        concurrency::{Adaptive, ConcurrencyLimit},
    },
    route::{Pace, Target},
};
use serde_json::{Value, json};
use std::time::Duration;

/// The state of every target.
pub(super) fn status(app: &Inner, draining: bool) -> Value {
    let targets: Vec<Value> = app.targets.iter().map(|target| of_target(app, target)).collect();
    json!({"draining": draining, "targets": targets})
}

fn of_target(app: &Inner, target: &Target) -> Value {
    let name = target.name();
    let places = target.places();
    json!({
        "target": name.to_string(),
        "provider": &*name.provider,
        "model": name.model.as_deref(),
        "circuit": target.breaker().map(|breaker| {
            let seen = breaker.metrics();
            json!({
                "state": seen.state.as_str(),
                "since_s": seconds(seen.since.elapsed()),
                "failures_in_a_row": seen.failures_in_a_row,
                "next_probe_in_s": seen.retry_in.map(seconds),
                "probes_in_flight": seen.probes_in_flight,
                "opened_total": seen.opened_total,
                "rejected_total": seen.rejected_total,
                "forced": seen.forced,
            })
        }),
        "cooldown": target.key_cooldown().cooling().or_else(|| target.cooldown().cooling()).map(|cooling| {
            json!({
                "left_s": seconds(cooling.left),
                "class": cooling.verdict.class.as_str(),
                "status": cooling.status.as_u16(),
                "message": cooling.verdict.message.as_deref().map(|words| app.redactor.text(words)),
            })
        }),
        // Of the provider, whose targets share a limit, unless the target has one of its own.
        "in_flight": target.in_flight(),
        "waiting": places.map(|places| places.waiting()),
        "concurrency": places.map(concurrency),
        "time_to_first_event": quantiles(target.pace(), true),
        "time_to_whole_reply": quantiles(target.pace(), false),
    })
}

/// How many calls there may be, now and ever; null where nothing limits them.
fn concurrency(places: &ConcurrencyLimit) -> Value {
    let (adaptive, bytes) = (places.adaptive(), places.request_bytes());
    json!({
        "limit": places.is_bounded().then(|| places.limit()),
        "floor": adaptive.map(Adaptive::floor),
        "ceiling": adaptive.map(Adaptive::ceiling),
        "bytes_in_flight": bytes.map(|(there, _)| there),
        "bytes_limit": bytes.map(|(_, most)| most),
    })
}

fn quantiles(pace: &Pace, stream: bool) -> Value {
    let ms =
        |share| pace.quantile(stream, share).map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    json!({"p50_ms": ms(0.5), "p95_ms": ms(0.95)})
}

/// Seconds, to the millisecond.
fn seconds(span: Duration) -> f64 {
    (span.as_secs_f64() * 1000.0).round() / 1000.0
}

/// `GET /explain?model=NAME[&stream=true]`: what `mainstay explain` says, and how the targets are now.
pub(super) fn explain(app: &Inner, query: Option<&str>, headers: &HeaderMap) -> Response<ReplyBody> {
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
            json!({"target": target.name().to_string(), "now": now, "again_in_s": wait.map(seconds)})
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

#[cfg(test)]
mod tests {
    use super::super::App;
    use crate::config::Config;
    use bytes::Bytes;
    use http::{Request, StatusCode};
    use http_body_util::{BodyExt, Empty};
    use serde_json::Value;
    use tower::ServiceExt;

    const FILE: &str = "[providers.a]\nkind = \"openai\"\n[providers.b]\nkind = \"openai\"\n[[routes]]\n\
                        models = [\"gpt-*\"]\ntargets = [\"a\", \"b/m-2\"]\nrecovery = \"continue\"\n";

    fn app() -> App {
        App::new(&Config::parse(FILE, "mainstay.toml", &|_| None).unwrap()).unwrap()
    }

    async fn get(app: &App, path: &str) -> (StatusCode, Value) {
        let request = Request::get(path).body(Empty::<Bytes>::new()).unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn the_status_shows_each_target_as_it_is() {
        let app = app();
        app.0.targets[0].breaker().unwrap().force_open();
        let (status, seen) = get(&app, "/status.json").await;
        assert_eq!(status, StatusCode::OK);
        let targets = seen["targets"].as_array().unwrap();
        let names: Vec<_> = targets.iter().map(|target| target["target"].as_str().unwrap()).collect();
        assert_eq!(names, ["a", "b", "b/m-2"]);
        let open = &targets[0]["circuit"];
        assert_eq!((&open["state"], &open["forced"]), (&"open".into(), &true.into()));
        assert!(open["next_probe_in_s"].is_number() && open["since_s"].is_number());
        let well = &targets[2];
        assert_eq!(well["circuit"]["state"], "closed");
        assert_eq!((&well["cooldown"], &well["in_flight"]), (&Value::Null, &0.into()));
        assert_eq!(well["time_to_first_event"]["p95_ms"], Value::Null);
    }

    #[tokio::test]
    async fn the_status_shows_what_limits_calls() {
        let text = FILE
            .replace(
                "[providers.b]\nkind = \"openai\"\n",
                "[providers.b]\nkind = \"openai\"\nlimits = { concurrency = 9, adaptive = { ceiling = 64 } }\n",
            )
            .replace(
                "\"b/m-2\"",
                "{ target = \"b/m-2\", limits = { concurrency = 3, bytes_in_flight = \"1MiB\", adaptive = { ceiling = 0 } } }",
            );
        let app = App::new(&Config::parse(&text, "mainstay.toml", &|_| None).unwrap()).unwrap();
        let (_, seen) = get(&app, "/status.json").await;
        let of = |at: usize| seen["targets"][at]["concurrency"].clone();
        assert_eq!((of(0)["limit"].clone(), of(0)["bytes_limit"].clone()), (Value::Null, Value::Null));
        assert_eq!(of(1)["limit"], 9);
        assert_eq!((of(1)["floor"].clone(), of(1)["ceiling"].clone()), (1.into(), 64.into()));
        assert_eq!((of(2)["limit"].clone(), of(2)["ceiling"].clone()), (3.into(), Value::Null));
        assert_eq!(
            (of(2)["bytes_in_flight"].clone(), of(2)["bytes_limit"].clone()),
            (0.into(), 1_048_576.into())
        );
    }

    #[tokio::test]
    async fn what_would_become_of_a_call_is_explained() {
        let app = app();
        app.0.targets[0].breaker().unwrap().force_open();
        let (status, said) = get(&app, "/explain?stream=true&model=gpt%2D4").await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!((&said["route"], &said["stream"]), (&"gpt-*".into(), &true.into()));
        assert_eq!(said["targets"][0]["now"], "passed_by: circuit_open");
        assert_eq!(said["targets"][1]["now"], "asked");
        assert!(said["explanation"].as_str().unwrap().contains("first event"));
        assert!(said["warnings"].is_array());
        assert_eq!(get(&app, "/explain?model=b/x").await.1["targets"][0]["target"], "b");
        assert_eq!(get(&app, "/explain?model=claude").await.0, StatusCode::NOT_FOUND);
        assert_eq!(get(&app, "/explain").await.0, StatusCode::BAD_REQUEST);
    }
}
