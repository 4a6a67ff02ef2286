//! What an operator sees.

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
    let (_, page) = page(&app, "/status").await;
    assert!(
        page.contains("0 of 9 (adapts from 1 to 64)") && page.contains("0 of 3, 0 of 1048576 bytes"),
        "{page}"
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

async fn page(app: &App, path: &str) -> (http::HeaderMap, String) {
    let request = Request::get(path).body(Empty::<Bytes>::new()).unwrap();
    let (parts, body) = app.clone().oneshot(request).await.unwrap().into_parts();
    assert_eq!(parts.status, StatusCode::OK);
    let body = body.collect().await.unwrap().to_bytes();
    (parts.headers, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn the_page_shows_the_same_to_people_and_needs_nothing_from_elsewhere() {
    let app = app();
    app.0.targets[0].breaker().unwrap().force_open();
    let (headers, page) = page(&app, "/status").await;
    assert_eq!(headers["content-type"], "text/html; charset=utf-8");
    assert!(headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
    for shown in [
        "b/m-2",
        "open for",
        "held by hand",
        "Next probe",
        "In flight",
        "gpt-*",
        "recovery continue",
        "3 targets: 2 well",
    ] {
        assert!(page.contains(shown), "{shown} in {page}");
    }
    for needed in ["<script", "http://", "https://", "<img", "<link", "url("] {
        assert!(!page.contains(needed), "{needed}");
    }
    assert!(page.contains("width=device-width") && page.contains("prefers-color-scheme: dark"));
    assert!(!page.contains("http-equiv"));
    assert_eq!(page.matches("<section").count(), page.matches("</section>").count());
}

#[tokio::test]
async fn it_reloads_itself_only_when_asked_to_and_only_by_a_number() {
    let app = app();
    assert!(page(&app, "/status?refresh=5").await.1.contains("http-equiv=\"refresh\" content=\"5\""));
    for odd in ["0", "99999", "x", "5;url=//x", "-1", "%35"] {
        assert!(!page(&app, &format!("/status?refresh={odd}")).await.1.contains("http-equiv"), "{odd}");
    }
}

#[tokio::test]
async fn what_others_have_written_is_escaped_and_keys_are_cut_out() {
    use mainstay::{
        layers::classify::{Class, Verdict},
        route::Scope,
    };
    let file = FILE.replace("gpt-*", "<i>&\\\"").replace(
        "kind = \"openai\"\n[providers.b]",
        "kind = \"openai\"\napi_key_env = \"KEY\"\n[providers.b]",
    );
    let env = |_: &str| Some("sk-0123456789abcdef".to_owned());
    let app = App::new(&Config::parse(&file, "mainstay.toml", &env).unwrap()).unwrap();
    let verdict = Verdict::new(Class::RateLimited)
        .with_wait(Some(std::time::Duration::from_secs(90)))
        .with_message(Some("<script>alert('x')</script> your key sk-0123456789abcdef is slow"));
    let scope = Scope { own_key: true, own_model: false };
    let model = format!("\"><b>{}", "m".repeat(500)).into();
    app.0.targets[0].cooldown().begin(StatusCode::TOO_MANY_REQUESTS, &verdict, true, scope, &model);
    let (_, page) = page(&app, "/status").await;
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
    assert!(page.contains("&lt;i&gt;&amp;&quot;") && page.contains("?model=%3Ci%3E%26%22"), "{page}");
    assert!(page.contains("&quot;&gt;&lt;b&gt;m") && !page.contains(&"m".repeat(101)));
    assert!(!page.contains("sk-0123456789"));
    assert!(
        page.contains("it, for 1 m 30 s: rate_limited (429)") || page.contains("it, for 1 m 29 s"),
        "{page}"
    );
    let (_, seen) = get(&app, "/status.json").await;
    assert_eq!(seen["targets"][0]["cooldowns"][0]["scope"], "target");
    assert_eq!(seen["targets"][0]["cooldown"]["class"], "rate_limited");
    assert_eq!(seen["routes"][0]["targets"][1], serde_json::json!({"target": "b/m-2", "capabilities": null}));
}

#[tokio::test]
async fn other_methods_are_told_what_there_is() {
    let request = Request::post("/status").body(Empty::<Bytes>::new()).unwrap();
    let response = app().oneshot(request).await.unwrap();
    assert_eq!(
        (response.status(), &response.headers()["allow"]),
        (StatusCode::METHOD_NOT_ALLOWED, &"GET, HEAD".parse().unwrap())
    );
}

#[tokio::test]
async fn what_models_can_do_is_shown_and_a_call_that_asks_for_more_is_told_the_field() {
    let file = FILE
        .replace("[providers.b]", "capabilities = { tools = false, context = 8000 }\n[providers.b]\ncapabilities = { tools = false }")
        .replace("\"b/m-2\"", "{ target = \"b/m-2\", capabilities = { context = 128000, vision = true } }");
    let app = App::new(&Config::parse(&file, "mainstay.toml", &|_| None).unwrap()).unwrap();
    let (_, seen) = get(&app, "/status.json").await;
    let listed = &seen["routes"][0]["targets"][1]["capabilities"];
    assert_eq!(
        (&listed["context"], &listed["tools"], &listed["vision"]),
        (&128000.into(), &false.into(), &true.into())
    );
    let (_, page) = page(&app, "/status").await;
    assert!(page.contains("context 128000, no tools, vision"), "{page}");
    let (_, said) = get(&app, "/explain?model=gpt-4").await;
    assert_eq!(said["targets"][0]["capabilities"]["context"], 8000);
    assert!(said["explanation"].as_str().unwrap().contains("declared: context 128000, no tools, vision"));

    let body = r#"{"model": "gpt-4", "messages": [], "tools": [{"type": "function"}]}"#;
    let request =
        Request::post("/v1/chat/completions").body(http_body_util::Full::new(Bytes::from(body))).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let error: Value = serde_json::from_slice(&body).unwrap();
    let error = &error["error"];
    assert_eq!(
        (&error["param"], &error["code"]),
        (&"tools".into(), &"unsupported_by_target".into()),
        "{error}"
    );
    let classes: Vec<_> = error["attempts"].as_array().unwrap().iter().map(|each| &each["class"]).collect();
    assert_eq!(classes, ["unsupported", "unsupported"]);
}
