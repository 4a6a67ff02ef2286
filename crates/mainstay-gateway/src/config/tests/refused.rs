//! Each refusal names its line, its key, what was found and what was expected.

use super::super::ConfigError;
use super::{parse, refused, with};

/// Lines of the provider table of [`with`] start here.
const FIRST: usize = 6;

#[track_caller]
fn check(text: &str, line: usize, key: &str, found: &str, expected: &str) {
    let error = refused(text);
    let problems = error.problems();
    let hit = problems.iter().find(|problem| problem.line == line && problem.key == key);
    let Some(hit) = hit else { panic!("no problem at {line} {key} in:\n{error}\n\nof:\n{text}") };
    assert!(hit.found.contains(found), "found: {} lacks {found}", hit.found);
    assert!(hit.expected.contains(expected), "expected: {} lacks {expected}", hit.expected);
}

/// A line of the provider, or of a table of it.
#[track_caller]
fn in_provider(lines: &str, line: usize, key: &str, found: &str, expected: &str) {
    check(&with(lines), FIRST + line, &format!("providers.a.{key}"), found, expected);
}

#[test]
fn an_unknown_key_is_named_with_what_there_is_and_the_nearest() {
    in_provider("[providers.a.retry]\natempts = 3", 1, "retry.atempts", "\"atempts\"", "attempts? The keys");
    in_provider(
        "[providers.a.retry]\nxyz = 3",
        1,
        "retry.xyz",
        "\"xyz\"",
        "one of attempts, base_delay, max_delay",
    );
    in_provider("basurl = \"x\"", 0, "basurl", "\"basurl\"", "base_url?");
    in_provider("retry.budget.ration = 1", 0, "retry.budget.ration", "unknown key", "ratio?");
    check(
        "[servr]\n",
        1,
        "servr",
        "\"servr\"",
        "server? The keys here are server, defaults, providers, routes",
    );
    check("[server]\nport = 8080\n", 2, "server.port", "\"port\"", "one of listen, ");
    check("[defaults.timeouts]\n", 1, "defaults.timeouts", "\"timeouts\"", "timeout?");
    check("[[routes]]\nmodel = \"a\"\n", 2, "routes[0].model", "\"model\"", "models = [\"NAME\"]");
}

#[test]
fn a_key_one_level_too_high_is_sent_home() {
    in_provider("attempts = 3", 0, "attempts", "unknown key", "attempts in the table `retry`");
    in_provider("idle = \"3s\"", 0, "idle", "unknown key", "`timeout`");
    in_provider("[providers.a.retry]\nratio = 3", 1, "retry.ratio", "unknown key", "`retry.budget`");
    check("[defaults]\nprobes = 1\n", 2, "defaults.probes", "unknown key", "`breaker`");
}

#[test]
fn durations_sizes_and_rates_need_their_form() {
    let duration = "a duration such as \"250ms\"";
    for (value, found) in [
        ("\"30\"", "\"30\""),
        ("\"soon\"", "\"soon\""),
        ("\"-1s\"", "\"-1s\""),
        ("\"\"", "\"\""),
        ("true", "true"),
        ("1.5", "the number 1.5"),
        ("[\"1s\"]", "a list"),
        ("{ s = 1 }", "a table"),
        ("2024-01-01", "the date"),
        ("\"40d\"", "\"40d\""),
        ("\"99999999999999999999s\"", "999"),
    ] {
        in_provider(&format!("timeout.idle = {value}"), 0, "timeout.idle", found, duration);
    }
    in_provider("timeout.idle = 30", 0, "timeout.idle", "the number 30", "its unit, such as \"30s\"");
    in_provider("timeout.idle = -1", 0, "timeout.idle", "the number -1", "its unit");
    in_provider("timeout.idle = \"5M\"", 0, "timeout.idle", "\"5M\"", "\"M\" months");
    for value in [
        "\"16 megs\"",
        "\"\"",
        "\"-1\"",
        "-1",
        "1.5",
        "\"0.3B\"",
        "\"9999999TiB\"",
        "\"1.\"",
        "\".5KB\"",
        "\"KiB\"",
    ] {
        in_provider(&format!("limits.stream = {value}"), 0, "limits.stream", "", "a size such as \"64KiB\"");
    }
    for value in ["\"10\"", "10", "\"10/y\"", "\"-1/s\"", "\"nan/s\"", "\"inf/s\"", "\"/s\""] {
        in_provider(&format!("retry.budget.floor = {value}"), 0, "retry.budget.floor", "", "a rate such as");
    }
}

#[test]
fn zero_is_refused_where_it_makes_no_sense() {
    for key in [
        "retry.attempts",
        "breaker.failures",
        "breaker.probes",
        "limits.max_waiting",
        "default_max_tokens",
        "h2_connections",
    ] {
        in_provider(&format!("{key} = 0"), 0, key, "the number 0", "a whole number from 1");
    }
    for key in [
        "timeout.connect",
        "timeout.error_body",
        "breaker.open_for",
        "breaker.probe_deadline",
        "breaker.window",
    ] {
        in_provider(&format!("{key} = \"0s\""), 0, key, "\"0s\"", "more than zero");
    }
    for key in ["limits.response_body", "limits.sse_event"] {
        in_provider(&format!("{key} = \"0\""), 0, key, "\"0\"", "more than zero");
    }
    for key in ["header_timeout", "upload_idle", "write_idle"] {
        check(&format!("[server]\n{key} = 0"), 2, &format!("server.{key}"), "0", "more than zero");
    }
    check("[server]\nmax_request_body = 0", 2, "server.max_request_body", "0", "more than zero");
    check("[server]\nworkers = 5000", 2, "server.workers", "5000", "from 0 to 1024");
    check("[server]\nmax_connections = 0", 2, "server.max_connections", "0", "from 1");
}

#[test]
fn numbers_have_ranges() {
    in_provider("retry.attempts = 101", 0, "retry.attempts", "101", "from 1 to 100: all tries");
    in_provider("retry.attempts = -3", 0, "retry.attempts", "-3", "from 1 to 100");
    in_provider("retry.attempts = 2.0", 0, "retry.attempts", "2.0", "a whole number");
    in_provider("retry.attempts = 99999999999999999999", 0, "retry.attempts", "9999", "a whole number");
    in_provider("retry.attempts = \"3\"", 0, "retry.attempts", "\"3\"", "a whole number");
    in_provider("retry.budget.ratio = nan", 0, "retry.budget.ratio", "nan", "a number from 0");
    in_provider("retry.budget.ratio = -0.1", 0, "retry.budget.ratio", "-0.1", "a number from 0");
    in_provider("breaker.growth = 0.5", 0, "breaker.growth", "0.5", "from 1 to 10");
    in_provider("breaker.failure_rate = 1.1", 0, "breaker.failure_rate", "1.1", "from 0 to 1");
}

#[test]
fn a_growing_circuit_needs_room_to_grow() {
    let text = "[providers.a.breaker]\ngrowth = 2\nopen_for = \"1m\"\nmax_open_for = \"30s\"";
    in_provider(text, 3, "breaker.max_open_for", "30s", "at least open_for (1m)");
}

#[test]
fn words_are_offered() {
    in_provider(
        "retry.jitter = \"ful\"",
        0,
        "retry.jitter",
        "\"ful\"",
        "\"full\"? There is \"full\", \"equal\" or \"none\"",
    );
    in_provider("protocol = \"http2\"", 0, "protocol", "\"http2\"", "\"auto\", \"http1\" or \"h2\"");
    in_provider("native_roots = \"yes\"", 0, "native_roots", "\"yes\"", "true or false");
    let kind = |kind: &str| format!("[providers.a]\nkind = {kind}\n");
    check(&kind("\"azure\""), 2, "providers.a.kind", "\"azure\"", "\"azure-openai\"?");
    check(&kind("\"antropic\""), 2, "providers.a.kind", "\"antropic\"", "\"anthropic\"?");
    check(&kind("\"google\""), 2, "providers.a.kind", "\"google\"", "\"anthropic\", \"gemini\"");
    check(&kind("3"), 2, "providers.a.kind", "the number 3", "\"openai\"");
    check(
        "[providers.a]\n",
        1,
        "providers.a.kind",
        "nothing",
        "\"openai\", \"openai-responses\", \"anthropic\"",
    );
}

#[test]
fn tables_must_be_tables() {
    check("server = 1\n", 1, "server", "the number 1", "written as [server]");
    check("providers = []\n", 1, "providers", "a list", "written as [providers]");
    check("[providers]\na = \"openai\"\n", 2, "providers.a", "\"openai\"", "written as [providers.a]");
    in_provider("retry = 3", 0, "retry", "the number 3", "written as [providers.a.retry]");
    check("routes = 3\n", 1, "routes", "the number 3", "[[routes]]");
    check("[routes]\nmodels = []\n", 1, "routes", "a table", "[[routes]]");
    check("routes = [\"a\"]\n", 1, "routes[0]", "\"a\"", "[[routes]]");
}

#[test]
fn addresses_need_scheme_and_host_and_no_query() {
    let url = "http or https, a host, no query";
    for (value, found) in [
        ("\"not a url\"", "\"not a url\""),
        ("\"api.openai.com/v1\"", "api.openai.com"),
        ("\"ftp://x/v1\"", "ftp://x/v1"),
        ("\"/v1\"", "\"/v1\""),
        ("\"\"", "\"\""),
        ("\"http://\"", "http:"),
        ("\"http://:80/\"", "http://:80/"),
        ("\"http://x:0/v1\"", "http://x:0/v1"),
        ("\"http://x:99999/v1\"", "99999"),
        ("\"https://x/v1?a=b\"", "a query"),
        ("\"https://x/v1#a\"", "a fragment"),
        ("3", "the number 3"),
    ] {
        in_provider(&format!("base_url = {value}"), 0, "base_url", found, url);
    }
    for value in [
        "\"localhost\"",
        "\":8080\"",
        "\"8080\"",
        "\"example.com:80\"",
        "\"127.0.0.1\"",
        "8080",
        "\"127.0.0.1:70000\"",
    ] {
        check(&format!("[server]\nlisten = {value}\n"), 2, "server.listen", "", "an IP address and a port");
    }
    for value in ["\"on\"", "\"ftp://x\"", "\"http://\"", "false"] {
        in_provider(&format!("proxy = {value}"), 0, "proxy", "", "\"env\", \"off\" or an address");
    }
}

#[test]
fn an_address_of_one_endpoint_is_refused_with_what_to_write() {
    for (kind, url, instead) in [
        ("openai", "https://x/v1/chat/completions", "\"https://x/v1\""),
        ("ollama-native", "http://x:11434/api/chat", "\"http://x:11434\""),
        ("cohere-v2", "https://x/v2", "\"https://x\""),
        ("bedrock-converse", "https://x/model/m/converse", "\"https://x\""),
        ("openai", "https://x/v1/chat/completions/", "\"https://x/v1\""),
        ("openai", "https://x/v1/responses", "\"https://x/v1\""),
        ("openai", "https://x/v1/embeddings", "\"https://x/v1\""),
        ("openai", "https://x/v1/completions", "\"https://x/v1\""),
        ("openai", "https://x/embeddings", "\"https://x\""),
        (
            "azure-openai",
            "https://x/openai/deployments/d/chat/completions",
            "\"https://x/openai/deployments/d\"",
        ),
        ("anthropic", "https://x/v1/messages", "\"https://x\""),
        ("anthropic", "https://x/v1/messages/count_tokens", "\"https://x\""),
        ("gemini", "https://x/v1beta/models/gemini-2.5-pro:generateContent", "\"https://x\""),
        ("gemini", "https://x/v1beta", "\"https://x\""),
    ] {
        let text = with(&format!("base_url = \"{url}\"")).replace("\"openai\"", &format!("\"{kind}\""));
        check(&text, FIRST, "providers.a.base_url", "as far as an endpoint", instead);
    }
    for url in
        ["https://embeddings/v1", "https://responses", "https://x.azure.com/models", "https://x/api/v3"]
    {
        assert!(parse(&with(&format!("base_url = \"{url}\""))).is_ok(), "{url}");
    }
}

#[test]
fn some_kinds_have_no_usual_address() {
    for kind in ["azure-openai", "bedrock", "llama-cpp"] {
        let text = format!("[providers.a]\nkind = \"{kind}\"\n");
        check(&text, 1, "providers.a.base_url", "nothing", "the address of the");
    }
}

#[test]
fn a_gateway_does_not_call_itself() {
    for (listen, base) in [
        ("127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("127.0.0.1:8080", "http://localhost:8080/v1"),
        ("0.0.0.0:80", "http://127.0.0.3/v1"),
        ("[::1]:8080", "http://[::1]:8080/v1"),
    ] {
        let text = format!(
            "[server]\nlisten = \"{listen}\"\n[providers.a]\nkind = \"openai\"\nbase_url = \"{base}\"\n"
        );
        check(&text, 5, "providers.a.base_url", "where the gateway itself listens", "another server");
    }
    let other = "[server]\nlisten = \"127.0.0.1:8080\"\n[providers.a]\nkind = \"openai\"\nbase_url = \"http://10.0.0.1:8080/v1\"\n";
    assert!(parse(other).is_ok());
}

#[test]
fn keys_are_refused_by_name() {
    in_provider(
        "api_key_env = \"NOT_THERE\"",
        0,
        "api_key_env",
        "variable NOT_THERE is not set",
        "NOT_THERE to hold",
    );
    in_provider("api_key_env = \"\"", 0, "api_key_env", "no variable's name", "not the key itself");
    in_provider(
        "api_key_env = 3",
        0,
        "api_key_env",
        "a value that is a number",
        "the name of an environment variable",
    );
    in_provider(
        "api_key_file = \"not/there\"",
        0,
        "api_key_file",
        "the file not/there, which cannot be read",
        "readable",
    );
    in_provider("api_key_file = \"/\"", 0, "api_key_file", "cannot be read", "readable");
    in_provider("api_key = \"sk-x\"", 0, "api_key", "\"api_key\"", "api_key_env = ");
    in_provider(
        "api_key_env = \"UP_KEY\"\napi_key_file = \"x\"",
        1,
        "api_key_file",
        "api_key_env as well",
        "one of",
    );
    in_provider("ca_file = \"not/there\"", 0, "ca_file", "the file not/there", "PEM certificates");
    for (value, found) in [
        ("", "is empty"),
        (" \n", "is empty"),
        ("a\nb", "no header can hold"),
        ("k\u{e9}y", "no header can hold"),
    ] {
        let env = |name: &str| (name == "UP_KEY").then(|| value.to_owned());
        let error = super::Config::parse(&with("api_key_env = \"UP_KEY\""), "f", &env).unwrap_err();
        let [problem] = error.problems() else { panic!("{error}") };
        assert_eq!((problem.line, problem.key.as_str()), (FIRST, "providers.a.api_key_env"));
        assert!(problem.found.contains("UP_KEY") && problem.found.contains(found), "{error}");
    }
}

#[test]
fn files_of_keys_and_certificates_are_looked_into() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mainstay.toml");
    let read = |text: &str| {
        let error = super::Config::parse(&with(text), file.to_str().unwrap(), &|_| None).unwrap_err();
        error.problems()[0].found.clone()
    };
    std::fs::write(folder.path().join("empty"), "\n").unwrap();
    std::fs::write(folder.path().join("two"), "sk-one\nsk-two\n").unwrap();
    std::fs::write(folder.path().join("large"), "x".repeat(70_000)).unwrap();
    std::fs::write(folder.path().join("bytes"), b"\xff\xfe").unwrap();
    assert!(read("api_key_file = \"empty\"").contains("is empty"));
    assert!(read("api_key_file = \"two\"").contains("no header can hold"));
    assert!(read("api_key_file = \"large\"").contains("larger than 65536 bytes"));
    assert!(read("api_key_file = \"bytes\"").contains("UTF-8"));
    assert!(read("ca_file = \"two\"").contains("no certificate"));
}

#[test]
fn headers_are_refused_by_name() {
    in_provider(
        "headers = { \"x team\" = \"a\" }",
        0,
        "headers.\"x team\"",
        "the name \"x team\"",
        "a header's name",
    );
    in_provider("headers = { Host = \"a\" }", 0, "headers.Host", "the header host", "sets this one itself");
    in_provider(
        "headers = { x-a = 1 }",
        0,
        "headers.x-a",
        "a value that is a number",
        "without control characters",
    );
    in_provider(
        "headers = { x-a = \"a\\nb\" }",
        0,
        "headers.x-a",
        "no header can hold",
        "without control characters",
    );
    in_provider("headers = { x-a = \"a\", X-A = \"b\" }", 0, "headers.X-A", "a second time", "once");
    in_provider("headers = []", 0, "headers", "a value that is a list", "a table");
}

#[test]
fn provider_names_are_fit_for_routes_and_labels() {
    for name in ["a/b", "", "a b", "\u{e9}", "a\\\"b"] {
        let error = refused(&format!("[providers.\"{name}\"]\nkind = \"openai\"\n"));
        assert!(
            error.problems().iter().any(|p| p.line == 1 && p.expected.contains("a name of letters")),
            "{error}"
        );
    }
    let long = "a".repeat(65);
    check(
        &format!("[providers.{long}]\nkind = \"openai\"\n"),
        1,
        &format!("providers.{long}"),
        "the name",
        "at most 64",
    );
    check("", 1, "providers", "nothing", "[providers.NAME]");
    check("[providers]\n", 1, "providers", "no provider", "[providers.NAME]");
}

const TWO: &str = "[providers.groq]\nkind = \"groq\"\n[providers.local]\nkind = \"vllm\"\n";

#[track_caller]
fn in_route(lines: &str, line: usize, key: &str, found: &str, expected: &str) {
    check(&format!("{TWO}[[routes]]\n{lines}\n"), 5 + line, &format!("routes[0].{key}"), found, expected);
}

#[test]
fn routes_lead_somewhere() {
    let m = "models = [\"m\"]\n";
    in_route(
        &format!("{m}targets = [\"local\", \"ghost\"]"),
        2,
        "targets[1]",
        "there is no provider \"ghost\"",
        "\"groq\" or \"local\"",
    );
    in_route(&format!("{m}targets = [\"gorq/x\"]"), 2, "targets[0]", "\"gorq\"", "\"groq\"?");
    in_route(
        &format!("{m}targets = [{{ target = \"ghost\" }}]"),
        2,
        "targets[0].target",
        "\"ghost\"",
        "\"groq\"",
    );
    in_route(&format!("{m}targets = [{{ weight = 1 }}]"), 2, "targets[0].target", "nothing", "\"provider\"");
    in_route(
        &format!("{m}targets = [{{ target = \"groq\", weigth = 1 }}]"),
        2,
        "targets[0].weigth",
        "\"weigth\"",
        "weight?",
    );
    in_route(&format!("{m}targets = [\"groq/\"]"), 2, "targets[0]", "\"groq/\"", "not empty after the slash");
    in_route(&format!("{m}targets = [\"groq/*\"]"), 2, "targets[0]", "\"groq/*\"", "\"groq\" alone");
    in_route(&format!("{m}targets = [3]"), 2, "targets[0]", "the number 3", "\"provider/model\"");
    in_route(&format!("{m}targets = []"), 2, "targets", "an empty list", "a list of");
    in_route(&format!("{m}targets = \"groq\""), 2, "targets", "\"groq\"", "a list of");
    in_route(m, 0, "targets", "nothing", "a list of");
    in_route("targets = [\"groq\"]", 0, "models", "nothing", "a list of names or patterns");
    in_route("models = []\ntargets = [\"groq\"]", 1, "models", "an empty list", "a list of names");
    in_route("models = [\"\"]\ntargets = [\"groq\"]", 1, "models[0]", "\"\"", "not empty");
    in_route("models = [\"a b\"]\ntargets = [\"groq\"]", 1, "models[0]", "\"a b\"", "without white space");
    in_route("models = [1]\ntargets = [\"groq\"]", 1, "models[0]", "the number 1", "a list of names");
}

#[test]
fn an_exact_name_has_one_route() {
    let text = format!(
        "{TWO}[[routes]]\nmodels = [\"m\"]\ntargets = [\"groq\"]\n[[routes]]\nmodels = [\"n\", \"m\"]\ntargets = [\"local\"]\n"
    );
    check(&text, 9, "routes[1].models[1]", "\"m\", which the route in line 5 has too", "in one route only");
}

#[test]
fn slips_in_the_syntax_have_their_line() {
    check("[server]\nlisten = \"x\n", 2, "", "a slip in the syntax", "\"");
    check("[server\n", 1, "", "a slip in the syntax", "]");
    check("[server]\ndrain = 1s\n", 2, "", "a slip in the syntax", "");
    check("[server]\ndrain = \"1s\"\ndrain = \"2s\"\n", 3, "drain", "a second time", "once");
    check("[server]\n[server]\n", 2, "server", "a second time", "once");
    check("\u{feff}[servr]\n", 1, "servr", "unknown", "server");
    check("[server]\r\ndrian = 1\r\n", 2, "server.drian", "unknown", "drain");
}

#[test]
fn all_problems_come_at_once_in_the_order_of_the_file() {
    let error = refused(
        "[server]\ndrain = 1\nx = 1\n[providers.a]\nretry.attempts = 0\n[[routes]]\ntargets = [\"b\"]\n",
    );
    let lines: Vec<_> = error.problems().iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [2, 3, 4, 5, 6, 7], "{error}");
}

#[test]
fn a_file_of_nonsense_does_not_fill_the_screen() {
    let many: String = (0..5000).map(|n| format!("key{n} = 1\n")).collect();
    let error = refused(&many);
    assert_eq!(error.problems().len(), 50);
    assert!(matches!(error, ConfigError::Invalid { more: 4951, .. }), "{error}");
    assert!(error.to_string().ends_with("and 4951 more"));
}

#[test]
fn a_refusal_reads_well() {
    let error = refused("[providers.a]\nkind = \"openai\"\n[providers.a.retry]\n  atempts = 3\n");
    assert_eq!(
        error.to_string(),
        "mainstay.toml:4:3: providers.a.retry.atempts\n  found:    the unknown key \"atempts\"\n  expected: attempts? \
         The keys here are attempts, base_delay, max_delay, jitter, max_wait, within, safety, budget"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no.toml");
    let error = super::Config::load(&missing).unwrap_err();
    assert!(matches!(error, ConfigError::Read { .. }));
    assert!(error.to_string().contains("no.toml"), "{error}");
    assert!(super::Config::load(folder.path()).is_err());
}

#[test]
fn what_a_route_does_not_understand() {
    let m = "models = [\"m\"]\ntargets = [\"groq\", \"local\"]\n";
    for (line, key, expected) in [
        ("strategy = \"random\"", "strategy", "weighted"),
        ("sticky = \"header:\"", "sticky", "header:NAME"),
        ("sticky = \"header: a b\"", "sticky", "header:NAME"),
        ("sticky = \"cookie\"", "sticky", "\"user\""),
        ("failover = \"never\"", "failover", "at_once"),
        ("when_exhausted = true", "when_exhausted", "wait"),
        ("max_wait = 0", "max_wait", "more than zero"),
        ("hedge = \"2s\"", "hedge", "a table"),
        ("hedge = { after = 2 }", "hedge.after", "with its unit"),
        ("hedge = { after = \"p99\" }", "hedge.after", "a duration"),
        ("hedge = { after = \"1s\", max = 0 }", "hedge.max", "from 1 to 8"),
        ("cache = { max = \"much\" }", "cache.max", "a size"),
        ("cache = { max = \"1MiB\", max_entry = 0 }", "cache.max_entry", "more than zero"),
        ("cache = { max = \"1MiB\", ttl = \"0s\" }", "cache.ttl", "more than zero"),
        ("cache = { max = \"1MiB\", serve = \"never\" }", "cache.serve", "on_failure"),
    ] {
        in_route(&format!("{m}{line}"), 3, key, "", expected);
    }
}
