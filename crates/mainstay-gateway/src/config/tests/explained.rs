//! The listing loads again, and `explain` names the right route.

use super::{good, parse, refused, with};

#[test]
fn the_listing_is_toml_that_means_the_same() {
    let lines = "base_url = \"http://10.0.0.1:81/v1/\"\nmodels = [\"a\\\"b\\\\\"]\nh2_connections = 3\nproxy = \"off\"\n\
                 retry = { attempts = 1, jitter = \"equal\", within = \"1h30m\", budget = { ratio = 1, floor = \"90/m\" } }\n\
                 timeout = { idle = \"1500ms\", first_event = \"10s\" }\n\
                 breaker = { enabled = false, growth = 1.5, failure_rate = 0.25 }\n\
                 limits = { stream = \"1GB\", concurrency = 7, queue_wait = 0 }";
    let config = good(&format!("[server]\nlisten = \"[::1]:1\"\ndeadline = \"90s\"\n{}", with(lines)));
    let listed = config.effective_toml();
    // The one line that is for people only.
    let again: String = listed
        .lines()
        .filter(|line| !line.starts_with("api_key = "))
        .map(|line| format!("{line}\n"))
        .collect();
    let again = good(&again);
    assert_eq!(again.effective_toml(), listed);
    assert_eq!(again.server, config.server);
    let (a, b) = (&again.providers[0], &config.providers[0]);
    assert_eq!((&a.retry, &a.timeout, &a.breaker, &a.limits), (&b.retry, &b.timeout, &b.breaker, &b.limits));
    assert_eq!((&a.base_url, &a.models, a.h2_connections), (&b.base_url, &b.models, 3));
    assert_eq!(
        (&again.routes[0].models, &again.routes[0].targets),
        (&config.routes[0].models, &config.routes[0].targets)
    );
}

#[test]
fn every_key_of_the_file_is_in_the_listing() {
    let listed = good(&with("")).effective_toml();
    for (table, text) in [
        ("[server]", "[server]\nzzzz = 1\n".to_owned()),
        ("[providers.a.retry]", with("retry.zzzz = 1")),
        ("[providers.a.timeout]", with("timeout.zzzz = 1")),
        ("[providers.a.breaker]", with("breaker.zzzz = 1")),
        ("[providers.a.limits]", with("limits.zzzz = 1")),
        ("[[routes]]", with("").replace("[[routes]]", "[[routes]]\nzzzz = 1")),
    ] {
        let error = refused(&text);
        let problem = error.problems().iter().find(|problem| problem.key.ends_with("zzzz")).unwrap();
        let keys = problem.expected.trim_start_matches("one of ").split(", ");
        let section = listed.split(table).nth(1).unwrap().split("\n[").next().unwrap();
        for key in keys {
            assert!(section.contains(&format!("\n{key} = ")), "{key} is not in\n{section}");
        }
    }
}

const ROUTES: &str = "
[providers.a]
kind = \"openai\"
[providers.b]
kind = \"anthropic\"
retry.attempts = 2
[[routes]]
models = [\"gpt-*\", \"*-mini\"]
targets = [\"a\"]
[[routes]]
models = [\"gpt-4-*\", \"*\"]
targets = [\"b\", \"a/gpt-5\"]
[[routes]]
models = [\"gpt-4\", \"odd/one\"]
targets = [\"a/x\"]
";

#[test]
fn explain_takes_the_exact_name_then_the_longest_pattern_then_the_provider() {
    let config = good(ROUTES);
    let said = |model: &str| config.explain(model, false).unwrap();
    assert!(said("gpt-4").contains("matches \"gpt-4\" of the route in line 13"), "{}", said("gpt-4"));
    assert!(said("gpt-4-turbo").contains("matches \"gpt-4-*\" of the route in line 10"));
    assert!(said("gpt-3").contains("matches \"gpt-*\" of the route in line 7"));
    assert!(said("o-mini").contains("matches \"*-mini\""));
    assert!(said("odd/one").contains("matches \"odd/one\""));
    let any = said("claude");
    assert!(any.contains("matches \"*\" of the route in line 10"));
    assert!(any.contains("1. b at https://api.anthropic.com, as model \"claude\""), "{any}");
    assert!(any.contains("2. a at https://api.openai.com/v1, as model \"gpt-5\""), "{any}");
    assert!(any.contains("at most 5 tries in all"), "{any}");
}

#[test]
fn explain_says_which_clocks_a_stream_has() {
    let config = good(ROUTES);
    assert!(config.explain("gpt-3", true).unwrap().contains("idle 30s, first event off"));
    assert!(config.explain("gpt-3", false).unwrap().contains("the whole attempt 2m"));
}

#[test]
fn explain_without_a_route_goes_by_the_provider_or_finds_nothing() {
    let config = good("[providers.a]\nkind = \"openai\"\n");
    let said = config.explain("a/org/model", false).unwrap();
    assert!(said.contains("matches no route; it names the provider a:"), "{said}");
    assert!(said.contains("as model \"org/model\""), "{said}");
    for model in ["gpt", "b/x", "a/", "a", ""] {
        assert_eq!(config.explain(model, false), None, "{model}");
    }
    assert_eq!(config.models_there_are(), ["a/..."]);
    assert!(parse("").is_err());
}

#[test]
fn explain_warns_of_what_works_against_itself() {
    let text = "[server]\ndeadline = \"20s\"\n[providers.a]\nkind = \"openai\"\ntimeout = { idle = \"25s\", attempt = \"10s\" }\n\
                [providers.d]\nkind = \"deepseek\"\n[[routes]]\nmodels = [\"m\"]\ntargets = [\"a\", \"d\"]\nrecovery = \"continue\"\n";
    let advice = good(text).advice("m");
    let [idle, late, prefix] = advice.as_slice() else { panic!("{advice:#?}") };
    assert!(
        idle.contains("providers.a.timeout.idle (25s) is never used up: server.deadline (20s)"),
        "{idle}"
    );
    assert!(late.contains("no stream reaches d when a hangs: that is known after 25s"), "{late}");
    assert!(prefix.contains("recovery: d takes the beginning"), "{prefix}");
    assert!(good(text).explain("m", true).unwrap().contains("\nwarning: recovery: d"));
    assert_eq!(good(text).advice("a/m").len(), 1);
    assert_eq!(good(ROUTES).advice("gpt-4"), [""; 0]);
    assert_eq!(good(ROUTES).advice(""), [""; 0]);
}

#[test]
fn explain_warns_of_a_target_that_no_request_can_reach_in_time() {
    let with = |deadline: &str, clocks: &str, route: &str| {
        let server = if deadline.is_empty() {
            String::new()
        } else {
            format!("[server]\ndeadline = \"{deadline}\"\n")
        };
        let text = format!(
            "{server}[providers.a]\nkind = \"openai\"\n[providers.b]\nkind = \"openai\"\n{clocks}\n[providers.c]\nkind = \"openai\"\n\
             [[routes]]\nmodels = [\"m\"]\ntargets = [\"a\", \"b\", \"c\"]\n{route}\n"
        );
        good(&text).advice("m")
    };
    assert_eq!(with("", "", ""), [""; 0]);
    assert_eq!(with("10m", "", ""), [""; 0]);
    let [whole, stream] = with("1m", "", "").try_into().unwrap();
    assert!(
        whole.contains(
            "no call that is no stream reaches b when a hangs: that is known after 2m (timeout.attempt)"
        ),
        "{whole}"
    );
    assert!(stream.contains("no stream reaches c when b hangs: that is known after 1m"), "{stream}");
    assert!(stream.contains("server.deadline (1m) ends the call first"), "{stream}");
    // Without a deadline the next target waits for ever, if nothing ends the wait for the first.
    let [stream] = with("", "timeout.idle = 0", "").try_into().unwrap();
    assert!(stream.contains("no stream reaches c when b hangs: nothing ends the wait"), "{stream}");
    // A hedge asks the next one meanwhile, if it comes at all.
    assert_eq!(with("1m", "", "hedge = { after = \"5s\" }"), [""; 0]);
    let [hedge] = with("", "", "hedge = { after = \"30s\" }").try_into().unwrap();
    assert!(
        hedge.contains("hedge.after (30s) never comes for a stream: the first target is given up after 30s"),
        "{hedge}"
    );
}

#[test]
fn explain_warns_of_waits_and_clocks_that_the_deadline_ends() {
    let text = "[server]\ndeadline = \"20s\"\n[providers.a]\nkind = \"openai\"\ntimeout.attempt = \"5s\"\nretry.within = \"30s\"\n\
                limits = { concurrency = 1, queue_wait = \"21s\" }\n[[routes]]\nmodels = [\"m\"]\n\
                targets = [{ target = \"a/x\", timeout = { progress = \"25s\", idle = \"5s\" } }]\nwhen_exhausted = \"wait\"\nmax_wait = \"40s\"\n";
    let advice = good(text).advice("m");
    let [progress, within, queue, wait] = advice.as_slice() else { panic!("{advice:#?}") };
    assert!(progress.starts_with("a/x: timeout.progress (25s) is never used up"), "{progress}");
    assert!(within.starts_with("a/x: retry.within (30s)"), "{within}");
    assert!(queue.starts_with("a/x: limits.queue_wait (21s)"), "{queue}");
    assert!(wait.starts_with("max_wait (40s) is never used up: server.deadline (20s)"), "{wait}");
}
