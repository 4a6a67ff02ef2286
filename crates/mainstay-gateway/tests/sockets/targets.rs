//! Targets with settings of their own, limits in metrics, and gateways that have each other as a provider.

use crate::support::*;
use mainstay_testkit::{ScriptedProvider, Step, bodies};
use serde_json::json;
use std::time::Duration;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    time::Instant,
};

async fn well() -> ScriptedProvider {
    ScriptedProvider::answering(|_| Step::json(200, bodies::openai_chat("hello"))).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parameters_go_into_the_requests_of_their_route_and_nothing_else_changes() {
    let provider = well().await;
    let text = config(&provider, "").replace(
        "models = [\"*\"]\ntargets = [\"a\"]",
        "models = [\"plain\"]\ntargets = [\"a/real\"]\n[[routes]]\nmodels = [\"cold\"]\n\
         targets = [{ target = \"a/real\", parameters = { temperature = 0 }, default_parameters = { max_tokens = 9 } }]\n\
         [[routes]]\nmodels = [\"translated\"]\ntargets = [{ target = \"b\", parameters = { thinking = { type = \"disabled\" } } }]",
    );
    let gateway = Gateway::start(&text).await;
    for (model, rest, expected) in [
        ("plain", "\"temperature\": 1.50 ", r#"{"model":"real", "messages":[],"temperature": 1.50 }"#),
        (
            "cold",
            "\"temperature\": 1.50 ",
            r#"{"model":"real", "messages":[],"temperature": 0,"max_tokens":9 }"#,
        ),
        ("cold", "\"max_tokens\":5", r#"{"model":"real", "messages":[],"max_tokens":5,"temperature":0}"#),
    ] {
        let body = format!(r#"{{"model":"{model}", "messages":[],{rest}}}"#);
        let reply = gateway.talk(post(CHAT, &[], body.as_bytes())).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(provider.last_request().unwrap().text(), expected);
    }
    // In the provider's own dialect, behind the translation.
    let body = br#"{"model":"translated","messages":[{"role":"user","content":"hi"}]}"#;
    gateway.talk(post(CHAT, &[], body)).await;
    let asked = provider.last_request().unwrap();
    assert_eq!(asked.route(), "/v1/messages");
    assert_eq!(asked.json().unwrap()["thinking"], json!({"type": "disabled"}));
    // Other calls have other fields.
    gateway.talk(post("/v1/embeddings", &[], br#"{"model":"cold","input":"x"}"#)).await;
    assert_eq!(provider.last_request().unwrap().text(), r#"{"model":"real","input":"x"}"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_goes_by_its_own_tries_and_clocks() {
    let provider = ScriptedProvider::answering(|asked| match asked.model().as_deref() {
        Some("slow") => Step::stall(),
        Some("ill") => Step::json(503, bodies::openai_error("server_error", None, "busy")),
        _ => Step::json(200, bodies::openai_chat("hello")),
    })
    .await
    .unwrap();
    let text = config(&provider, "").replace(
        "models = [\"*\"]\ntargets = [\"a\"]",
        "models = [\"s\"]\ntargets = [{ target = \"a/slow\", timeout = { attempt = \"100ms\" } }, \"a\"]\n\
         [[routes]]\nmodels = [\"i\"]\ntargets = [{ target = \"a/ill\", retry = { attempts = 3, base_delay = \"1ms\" } }]",
    );
    let gateway = Gateway::start(&text).await;
    let start = Instant::now();
    let ask = |model: &str| post(CHAT, &[], format!(r#"{{"model":"{model}","messages":[]}}"#).as_bytes());
    let reply = gateway.talk(ask("s")).await;
    assert_eq!((reply.status, reply.header("x-mainstay-attempts")), (200, Some("2")), "{reply:?}");
    // The provider's own is two minutes.
    assert!(start.elapsed() < Duration::from_secs(60));
    let reply = gateway.talk(ask("i")).await;
    assert_eq!((reply.status, reply.header("x-mainstay-attempts")), (503, Some("3")), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_adaptive_limit_is_cut_by_rate_limits_and_metrics_show_it() {
    let error = bodies::openai_error("rate_limit_error", None, "slow down");
    let provider = ScriptedProvider::start([Step::json(429, error)]).await.unwrap();
    let text = config(&provider, "").replacen(
        "[providers.b]",
        "limits.adaptive = { floor = 2, ceiling = 10 }\n[providers.b]",
        1,
    );
    let gateway = Gateway::start(&text).await;
    let limit = async || {
        let metrics = gateway.talk(get("/metrics")).await.body;
        let line = metrics.lines().find(|line| line.starts_with("mainstay_concurrency_limit{"));
        let line = line.unwrap_or_else(|| panic!("{metrics}")).to_owned();
        assert!(line.contains("provider=\"a\"") && line.contains("model=\"*\""), "{line}");
        // What has no limit has none there, and is counted.
        assert_eq!(metrics.matches("\nmainstay_concurrency_limit{").count(), 1);
        assert_eq!(metrics.matches("\nmainstay_concurrency_in_flight{").count(), 2);
        line.rsplit(' ').next().unwrap().parse::<u32>().unwrap()
    };
    assert_eq!(limit().await, 10);
    assert_eq!(gateway.talk(chat(false)).await.status, 429);
    assert_eq!(limit().await, 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_is_told_how_many_gateways_a_call_has_passed_and_too_many_are_refused() {
    let provider = well().await;
    let gateway = Gateway::start(&config(&provider, "")).await;
    let body = br#"{"model":"m","messages":[]}"#;
    for (sent, told) in [(None, "1"), (Some("x-mainstay-hops: 4"), "5")] {
        gateway.talk(post(CHAT, sent.as_slice(), body)).await;
        assert_eq!(provider.last_request().unwrap().header("x-mainstay-hops"), Some(told));
    }
    let reply = gateway.talk(post(CHAT, &["x-mainstay-hops: 8"], body)).await;
    assert_eq!((reply.status, provider.calls()), (508, 2));
    assert_eq!(reply.json()["error"]["code"], "loop_detected");
    assert_eq!(reply.header("x-should-retry"), Some("false"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateways_that_have_each_other_as_a_provider_notice_and_fall_back() {
    let provider = well().await;
    // The way from the first to the second, whose address is not known yet.
    let door = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let to = |port: u16, rest: &str| {
        format!(
            "[defaults.retry]\nbase_delay = \"1ms\"\n[providers.other]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n\
             [providers.real]\nkind = \"openai\"\nbase_url = \"{}/v1\"\n[[routes]]\nmodels = [\"*\"]\ntargets = [\"other\"{rest}]\n",
            provider.url()
        )
    };
    let first = Gateway::start(&to(door.local_addr().unwrap().port(), "")).await;
    let second = Gateway::start(&to(first.address.port(), "")).await;
    let end = second.address;
    tokio::spawn(async move {
        while let Ok((mut from, _)) = door.accept().await {
            tokio::spawn(async move {
                if let Ok(mut to) = TcpStream::connect(end).await {
                    let _ = copy_bidirectional(&mut from, &mut to).await;
                }
            });
        }
    });
    let reply = first.talk(chat(false)).await;
    assert_eq!(reply.status, 508, "{reply:?}");
    assert_eq!(reply.json()["error"]["code"], "loop_detected");
    // Nobody repeats it: each of the gateways was asked once each time round.
    assert_eq!(reply.header("x-mainstay-attempts"), Some("1"), "{reply:?}");
    // A third one with another target is out of it.
    let third = Gateway::start(&to(first.address.port(), ", \"real\"")).await;
    let reply = third.talk(chat(false)).await;
    assert_eq!((reply.status, reply.header("x-mainstay-provider")), (200, Some("real")), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_of_aws_are_those_of_the_file_and_go_into_no_reply() {
    // It says in its error what was sent, as AWS does of a signature that does not match.
    let provider = ScriptedProvider::answering(|asked| {
        let token = asked.header("x-amz-security-token").unwrap_or_default();
        Step::json(403, json!({"message": format!("x-amz-security-token:{token} does not match")}))
    })
    .await
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credentials");
    let write = |token: &str| {
        let text = format!(
            "[p]\naws_access_key_id = AKID\naws_secret_access_key = secret-0123456789\naws_session_token = {token}\n"
        );
        // In one piece: a new file in place of the old one.
        std::fs::write(path.with_extension("new"), text).unwrap();
        std::fs::rename(path.with_extension("new"), &path).unwrap();
    };
    write("first-token-0123456789");
    let text = format!(
        "[providers.a]\nkind = \"bedrock-converse\"\nbase_url = \"{}\"\naws_region = \"eu-west-3\"\naws_credentials_file = \"{}\"\n\
         aws_profile = \"p\"\nretry.attempts = 1\nbreaker.failures = 1000\n[[routes]]\nmodels = [\"*\"]\ntargets = [\"a\"]\n",
        provider.url(),
        path.display(),
    );
    let gateway = Gateway::start(&text).await;
    let body = br#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    let begun = Instant::now();
    for token in ["first-token-0123456789", "second-token-0123456789"] {
        write(token);
        loop {
            let reply = gateway.talk(post(CHAT, &[], body)).await;
            let said = format!("{reply:?}");
            assert!(said.contains("does not match") && !said.contains("-token-0123456789"), "{said}");
            let sent = provider.last_request().unwrap();
            if sent.header("x-amz-security-token") == Some(token) {
                break;
            }
            assert!(begun.elapsed() < LONG, "{token} was never sent");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
