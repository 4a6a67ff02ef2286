//! What people write, and what it comes to.

use std::time::Duration;

use super::super::settings::{Protocol, Target};
use super::super::{Config, KeySource, Proxy};
use super::{good, with};
use mainstay::provider::Kind;

#[test]
fn a_file_written_by_a_program_with_every_key_quoted() {
    let config = good(
        r#"
["providers"]

["providers"."a"]
"kind" = "openai"
"base_url" = "http://127.0.0.1:20001/v1"
"api_key_env" = "UP_KEY"

["providers"."a"."retry"]
"attempts" = 40
"base_delay" = "20ms"
"max_delay" = "200ms"
"jitter" = "none"
"max_wait" = "2s"
"within" = "2s"

["providers"."a"."timeout"]
"attempt" = "2s"
"idle" = "1500ms"
"first_event" = "1s"

["providers"."a"."breaker"]
"failures" = 1000
"open_for" = "400ms"
"probes" = 1

["providers"."a"."limits"]
"concurrency" = 2
"response_body" = "64KiB"

["providers"."b"]
"kind" = "gemini"
"base_url" = "http://127.0.0.1:20002"

[["routes"]]
"models" = ["*", "stealth/ox-alpha"]
"targets" = ["a", "b/m-2", "a/org/real-model:free"]
"recovery" = "off"
"translation" = "lenient"

["server"]
"listen" = "127.0.0.1:18080"
"max_request_body" = "1MiB"
"drain" = "600ms"
"#,
    );
    let a = config.provider("a").unwrap();
    assert_eq!(a.retry.attempts, 40);
    assert_eq!(a.timeout.idle, Some(Duration::from_millis(1500)));
    assert_eq!(a.limits.response_body, 65_536);
    assert_eq!(config.server.max_request_body, 1 << 20);
    let target = |provider: &str, model: Option<&str>| Target::plain(provider, model.map(str::to_owned));
    // Exactly the first part is the provider.
    let expected = [target("a", None), target("b", Some("m-2")), target("a", Some("org/real-model:free"))];
    assert_eq!(config.routes[0].targets, expected);
}

#[test]
fn providers_and_routes_keep_the_order_of_the_file() {
    let config = good(
        "[providers.zeta]\nkind = \"openai\"\n[providers.alpha]\nkind = \"groq\"\n[providers.mid.retry]\n[providers.mid]\nkind = \"xai\"\n",
    );
    let names: Vec<_> = config.providers.iter().map(|provider| provider.name.as_str()).collect();
    assert_eq!(names, ["zeta", "alpha", "mid"]);
}

#[test]
fn every_kind_is_known_by_its_name() {
    for kind in Kind::ALL {
        let text = format!("[providers.a]\nkind = \"{kind}\"\nbase_url = \"http://10.0.0.1/x\"\n");
        assert_eq!(good(&text).providers[0].kind, *kind);
        if let Some(url) = kind.profile().base_url {
            let text = format!("[providers.a]\nkind = \"{kind}\"\n");
            assert_eq!(good(&text).providers[0].base_url.as_str(), url);
        }
    }
}

#[test]
fn addresses_lose_their_last_slash_and_nothing_else() {
    for (written, read) in [
        ("https://x/v1/", "https://x/v1"),
        ("https://x", "https://x"),
        ("https://x/", "https://x"),
        ("HTTP://X:81/a%20b", "HTTP://X:81/a%20b"),
        ("http://[::1]:81/v1", "http://[::1]:81/v1"),
        ("https://api.groq.com/openai/v1", "https://api.groq.com/openai/v1"),
    ] {
        let config = good(&with(&format!("base_url = \"{written}\"")));
        assert_eq!(config.providers[0].base_url.as_str(), read);
        assert!(config.providers[0].base_url.uri().host().is_some());
    }
}

#[test]
fn listen_takes_addresses_of_both_families_and_localhost() {
    for (written, read) in [
        ("0.0.0.0:80", "0.0.0.0:80"),
        ("[::]:8080", "[::]:8080"),
        ("localhost:9", "127.0.0.1:9"),
        ("127.0.0.1:0", "127.0.0.1:0"),
    ] {
        let config = good(&format!("[server]\nlisten = \"{written}\"\n{}", with("")));
        assert_eq!(config.server.listen.to_string(), read);
    }
}

#[test]
fn a_key_loses_the_newline_of_its_file_or_variable() {
    let env = |name: &str| (name == "UP_KEY").then(|| " sk-test\r\n".to_owned());
    let config = Config::parse(&with("api_key_env = \"UP_KEY\""), "f", &env).unwrap();
    let key = config.providers[0].api_key.as_ref().unwrap();
    assert_eq!((key.expose(), key.source()), ("sk-test", &KeySource::Env("UP_KEY".to_owned())));
}

#[test]
fn files_are_looked_for_beside_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), "sk-file\n").unwrap();
    std::fs::write(folder.path().join("ca.pem"), "-----BEGIN CERTIFICATE-----\n").unwrap();
    let file = folder.path().join("mainstay.toml");
    std::fs::write(&file, with("api_key_file = \"key\"\nca_file = \"ca.pem\"")).unwrap();
    let config = Config::load(&file).unwrap();
    let provider = config.provider("a").unwrap();
    assert_eq!(provider.api_key.as_ref().unwrap().expose(), "sk-file");
    assert_eq!(provider.ca_file.as_deref(), Some(folder.path().join("ca.pem").as_path()));
    assert_eq!(config.file, file.display().to_string());
}

#[test]
fn the_connection_can_be_set() {
    let lines = "protocol = \"h2\"\nh2_connections = 4\nnative_roots = true\nproxy = \"http://me:pw@proxy:3128\"\n\
                 headers = { x-team = \"search\", \"X-B\" = \"2\" }\nmodels = [\"gpt-5\"]\ndefault_max_tokens = 100";
    let config = good(&with(lines));
    let provider = &config.providers[0];
    assert_eq!((provider.protocol, provider.h2_connections, provider.native_roots), (Protocol::H2, 4, true));
    let Proxy::Url(url) = &provider.proxy else { panic!("{:?}", provider.proxy) };
    assert_eq!(url.expose(), "http://me:pw@proxy:3128");
    assert_eq!(provider.headers["x-team"], "search");
    assert_eq!(provider.headers["x-b"], "2");
    assert_eq!((provider.models.as_slice(), provider.default_max_tokens), (&["gpt-5".to_owned()][..], 100));
    assert!(matches!(good(&with("proxy = \"off\"")).providers[0].proxy, Proxy::Off));
}

#[test]
fn rates_and_growth_of_the_circuit_can_be_set() {
    let config = good(&with(
        "breaker = { growth = 2, max_open_for = \"10m\", jitter = 0.1, failure_rate = 0.5, slow_rate = 1, slow_after = \"10s\", window = \"30s\", min_calls = 5, probe_deadline = \"20s\" }",
    ));
    let breaker = &config.providers[0].breaker;
    assert_eq!((breaker.growth, breaker.failure_rate, breaker.slow_rate), (2.0, Some(0.5), Some(1.0)));
    assert!((breaker.jitter - 0.1).abs() < f64::EPSILON);
    assert_eq!((breaker.min_calls, breaker.window), (5, Duration::from_secs(30)));
    assert_eq!(breaker.probe_deadline, Duration::from_secs(20));
    // Without growth the default cap is no bound on open_for.
    assert_eq!(
        good(&with("breaker.open_for = \"1h\"")).providers[0].breaker.open_for,
        Duration::from_secs(3600)
    );
}

#[test]
fn what_may_be_tried_again_and_how_many_wait_can_be_set() {
    use super::super::settings::Safety;
    let text = with("retry = { safety = \"unsent_only\" }\nlimits = { concurrency = 8, max_waiting = 16 }");
    let config = good(&text);
    let provider = &config.providers[0];
    assert_eq!((provider.retry.safety, provider.limits.max_waiting), (Safety::UnsentOnly, 16));
    let again = good(&config.effective_toml().replace("api_key = ", "#"));
    assert_eq!((&again.providers[0].retry, &again.providers[0].limits), (&provider.retry, &provider.limits));
}

#[test]
fn a_route_with_all_that_it_can_do() {
    use super::super::settings::{Cache, Failover, Hedge, Serve, Sticky, Strategy, WhenExhausted};
    let text = "[providers.a]\nkind = \"openai\"\n[providers.b]\nkind = \"groq\"\n[[routes]]\nmodels = [\"*\"]\n\
                targets = [{ target = \"a\", weight = 3 }, \"b\"]\nstrategy = \"weighted\"\nsticky = \"header:X-User\"\n\
                recovery = \"continue\"\nfailover = \"at_once\"\nwhen_exhausted = \"wait\"\nmax_wait = \"20s\"\n\
                hedge = { after = \"p95\", max = 2 }\ncache = { max = \"64MiB\", max_entry = \"4MiB\", ttl = \"2h\", serve = \"always\" }\n";
    let config = good(text);
    assert_eq!(config.warnings, []);
    let route = &config.routes[0];
    assert_eq!((route.strategy, route.targets[0].weight), (Strategy::Weighted, 3));
    assert_eq!(route.sticky, Some(Sticky::Header("x-user".parse().unwrap())));
    assert_eq!((route.failover, route.when_exhausted), (Failover::AtOnce, WhenExhausted::Wait));
    assert_eq!(route.max_wait, Duration::from_secs(20));
    assert_eq!(route.hedge, Some(Hedge { after: None, max: 2 }));
    let ttl = Duration::from_secs(7200);
    let cache = Cache { max: 64 << 20, max_entry: 4 << 20, ttl, serve: Serve::Always };
    assert_eq!(route.cache, Some(cache));
    assert_eq!(good(&config.effective_toml().replace("api_key = ", "#")).routes[0].cache, route.cache);
    let route = good(&text.replace("\"p95\"", "\"1500ms\"")).routes[0].clone();
    assert_eq!(route.hedge, Some(Hedge { after: Some(Duration::from_millis(1500)), max: 2 }));
    for off in ["hedge = { after = \"0s\" }", "cache = { max = 0 }", "sticky = \"off\"", "hedge = {}"] {
        let route = good(&with("").replace("[[routes]]", &format!("[[routes]]\n{off}"))).routes[0].clone();
        assert_eq!((route.hedge, route.cache, route.sticky), (None, None, None), "{off}");
    }
}
