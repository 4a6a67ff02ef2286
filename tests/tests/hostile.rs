//! Requests that nobody sends in good faith, at each entry of the gateway and for a target of each dialect: a refusal that names
//! what is wrong, in bounded time and memory. Nothing of them reaches the provider, and the gateway is well afterwards.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use mainstay_testkit::{ScriptedProvider, Step};
use mainstay_tests::{
    client::{Kept, Reply, Request, play},
    gateway::{Gateway, free_port},
    scripted::COLUMNS,
};
use std::{collections::BTreeMap, fmt::Write, time::Duration};
use tokio::time::timeout;

/// An entry of the gateway.
struct Entry {
    path: fn(&str) -> String,
    /// Where messages go.
    main: &'static str,
    /// Values that it must not have there.
    broken: &'static [&'static str],
    /// Fields with what they must not be.
    wrong: &'static [(&'static str, &'static [&'static str])],
    /// What the kinds are called that speak the dialect themselves: they get its requests as they are.
    own: &'static [&'static str],
}

/// What no list of messages may be.
const BROKEN: &[&str] = &[
    "5",
    "true",
    "-1e999",
    r#"{"a":1}"#,
    "[5]",
    "[[]]",
    r#"[{"role":5}]"#,
    r#"[{"role":"x","content":[[]]}]"#,
];

const ENTRIES: [Entry; 4] = [
    Entry {
        path: |_| "/v1/chat/completions".to_owned(),
        main: "messages",
        broken: BROKEN,
        wrong: &[
            (
                "tools",
                &[
                    "5",
                    r#""x""#,
                    "[5]",
                    r#"[{"function":5}]"#,
                    r#"[{"function":{"name":"f","parameters":[]}}]"#,
                ],
            ),
            ("functions", &["5", "[5]"]),
            ("temperature", &[r#""hot""#, "1e999", "{}"]),
            ("max_tokens", &["-1", "1.5", r#""9""#, "1e30"]),
            ("stop", &["5", "[5]"]),
            ("tool_choice", &[r#""x""#, "5", "[]"]),
            ("response_format", &["5", r#"{"type":[]}"#, r#"{"type":"json_schema","json_schema":5}"#]),
            ("seed", &["[]", "1e999"]),
            ("reasoning_effort", &["5", r#""x""#]),
            ("stream", &[r#""yes""#, "1"]),
        ],
        own: &["openai"],
    },
    Entry {
        path: |_| "/v1/responses".to_owned(),
        main: "input",
        broken: BROKEN,
        wrong: &[
            ("tools", &["5", r#"[{"type":"function"}]"#]),
            ("temperature", &[r#""hot""#, "1e999"]),
            ("max_output_tokens", &["-1", "[]"]),
            ("tool_choice", &["5", r#""x""#]),
            ("reasoning", &["5", r#"{"effort":5}"#]),
            ("text", &["5", r#"{"format":{"type":"json_schema"}}"#]),
            ("instructions", &["5", r#"["x"]"#]),
        ],
        own: &["openai", "openai-responses"],
    },
    Entry {
        path: |_| "/v1/messages".to_owned(),
        main: "messages",
        broken: BROKEN,
        wrong: &[
            ("tools", &["5", "[5]", "[{}]"]),
            ("max_tokens", &["-1", r#""9""#]),
            ("stop_sequences", &["5", "[5]"]),
            ("tool_choice", &["5", r#""auto""#]),
            ("thinking", &["5", r#"{"type":5}"#]),
            ("output_config", &["5", r#"{"effort":5}"#]),
            ("system", &["5", "[5]", r#"[{"text":5}]"#]),
        ],
        own: &["anthropic"],
    },
    Entry {
        path: |model| format!("/v1beta/models/{model}:generateContent"),
        main: "contents",
        // One content does for a list of it, and an empty one says nothing.
        broken: &[
            "5",
            "true",
            "-1e999",
            r#"{"a":1}"#,
            "[5]",
            r#"[{"role":5}]"#,
            r#"[{"role":"x","parts":[]}]"#,
        ],
        wrong: &[
            ("tools", &["5", "[5]", r#"[{"functionDeclarations":5}]"#]),
            ("toolConfig", &["5", r#"{"functionCallingConfig":{"allowedFunctionNames":[5]}}"#]),
            (
                "generationConfig",
                &[
                    "5",
                    r#"{"temperature":"hot"}"#,
                    r#"{"maxOutputTokens":-1}"#,
                    r#"{"stopSequences":5}"#,
                    r#"{"responseSchema":5}"#,
                    r#"{"seed":1e999}"#,
                ],
            ),
            ("systemInstruction", &["5", r#"{"parts":[{"text":5}]}"#]),
        ],
        own: &["gemini"],
    },
];

const KINDS: [&str; 4] = ["openai", "openai-responses", "anthropic", "gemini"];

impl Entry {
    /// A request of one word with `more` in it.
    fn body(&self, model: &str, more: &str) -> String {
        let word = match self.main {
            "contents" => r#"[{"role":"user","parts":[{"text":"hi"}]}]"#,
            _ => r#"[{"role":"user","content":"hi"}]"#,
        };
        format!(r#"{{"model":"{model}","{}":{word}{more}}}"#, self.main)
    }

    /// A request whose main field is `value`.
    fn main(&self, model: &str, value: &str) -> String {
        format!(r#"{{"model":"{model}","{}":{value}}}"#, self.main)
    }

    /// What is too much or too deep, with a word for it. It is refused when it is read, whatever it is read for.
    fn huge(&self, model: &str) -> Vec<(String, String)> {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        let tools = vec![r#"{"name":"f"}"#; 1_000_000].join(",");
        let tools = match self.main {
            "contents" => format!(r#"[{{"functionDeclarations":[{tools}]}}]"#),
            _ => format!("[{tools}]"),
        };
        let many = vec![r#"{"role":"user"}"#; 200_000].join(",");
        vec![
            ("a thousand levels".to_owned(), self.main(model, &nested(1000))),
            ("a million levels".to_owned(), self.main(model, &nested(1_000_000))),
            ("levels that do not end".to_owned(), self.main(model, &"[".repeat(1_000_000))),
            ("objects without end".to_owned(), self.main(model, &"{\"a\":".repeat(200_000))),
            ("a million tools".to_owned(), self.body(model, &format!(",\"tools\":{tools}"))),
            ("many messages".to_owned(), self.main(model, &format!("[{many}]"))),
        ]
    }

    /// What is not what it must be, with a word for it.
    fn wrong(&self, model: &str) -> Vec<(String, String)> {
        let text = |text: &str| match self.main {
            "contents" => self.main(model, &format!(r#"[{{"role":"user","parts":[{{"text":"{text}"}}]}}]"#)),
            _ => self.main(model, &format!(r#"[{{"role":"user","content":"{text}"}}]"#)),
        };
        let mut all = vec![
            ("half a character".to_owned(), text(r"\ud83d")),
            ("the other half".to_owned(), text(r"\udc00\ud83d")),
            ("a byte that is no UTF-8".to_owned(), text("\u{ff}")),
            ("a control character".to_owned(), text("\u{1}")),
            ("no end".to_owned(), text("x").replace("}]", "")),
            ("no main field".to_owned(), format!(r#"{{"model":"{model}"}}"#)),
        ];
        for value in self.broken {
            all.push((format!("{} is {value}", self.main), self.main(model, value)));
        }
        for (field, values) in self.wrong {
            for value in *values {
                all.push((format!("{field} is {value}"), self.body(model, &format!(",\"{field}\":{value}"))));
            }
        }
        all
    }

    /// What may be answered, as long as it does not take for ever.
    fn odd(&self, model: &str) -> Vec<(String, String)> {
        let keys = (0..200_000).fold(String::new(), |mut all, n| {
            let _ = write!(all, ",\"k{n}\":{n}");
            all
        });
        let same = ",\"tools\":[]".repeat(100_000);
        let stops = vec![r#""a""#; 500_000].join(",");
        let calls = vec![r#"{"functionCall":{"name":"f"}}"#; 40_000].join(",");
        let results = vec![r#"{"functionResponse":{"name":"f","response":{}}}"#; 40_000].join(",");
        let talk = match self.main {
            "contents" => {
                format!(r#"[{{"role":"model","parts":[{calls}]}},{{"role":"user","parts":[{results}]}}]"#)
            }
            _ => format!(
                r#"[{{"role":"user","content":[{}]}}]"#,
                vec![r#"{"type":"text","text":""}"#; 90_000].join(",")
            ),
        };
        vec![
            ("many fields".to_owned(), self.body(model, &keys)),
            ("one field many times".to_owned(), self.body(model, &same)),
            ("many stops".to_owned(), self.body(model, &format!(",\"stop\":[{stops}]"))),
            ("many parts".to_owned(), self.main(model, &talk)),
            (
                "a number of a million digits".to_owned(),
                self.body(model, &format!(",\"seed\":{}", "9".repeat(1_000_000))),
            ),
        ]
    }
}

/// Sends bytes, one a character.
async fn send(gateway: &Gateway, path: &str, body: &str) -> Reply {
    let request =
        Request { path: Some(path.to_owned()), latin1: Some(body.to_owned()), ..Request::default() };
    let kept = Kept::default();
    timeout(Duration::from_secs(30), play(gateway.port(), &request, &kept))
        .await
        .expect("an answer in bounded time")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_hostile_is_refused_at_each_entry_and_costs_little() {
    let port = free_port().await.unwrap();
    let mut config = format!("[server]\nlisten = \"127.0.0.1:{port}\"\n[defaults.retry]\nattempts = 1\n");
    let mut providers = Vec::new();
    for column in COLUMNS.iter().filter(|column| KINDS.contains(&column.kind)) {
        // Nothing here is to be answered well: what arrives is counted.
        let provider =
            ScriptedProvider::start([Step::json(400, serde_json::json!({"error": {"message": "no"}}))])
                .await
                .unwrap();
        provider.keep(0);
        let (kind, url, base) = (column.kind, provider.url(), column.base);
        write!(
            config,
            "[providers.{kind}]\nkind = \"{kind}\"\nbase_url = \"{url}{base}\"\nproxy = \"off\"\n\
             [[routes]]\nmodels = [\"m-{kind}\"]\ntargets = [\"{kind}\"]\n"
        )
        .unwrap();
        providers.push((kind, provider));
    }
    let gateway = Gateway::start(&config, port, &BTreeMap::new()).await.unwrap();
    let gateway = gateway.unwrap_or_else(|refused| panic!("the gateway did not start: {refused:?}"));
    for entry in ENTRIES {
        let mut huge = false;
        for (kind, provider) in &providers {
            let (model, own) = (format!("m-{kind}"), entry.own.contains(kind));
            let path = (entry.path)(&model);
            let before = provider.calls();
            // Once is enough for what takes a while.
            let foreign = !own && !std::mem::replace(&mut huge, true);
            let refused = if foreign { entry.huge(&model) } else { Vec::new() };
            for (what, body) in refused.into_iter().chain(entry.wrong(&model)) {
                let reply = send(&gateway, &path, &body).await;
                let said = reply.text();
                assert_eq!(
                    reply.status,
                    Some(400),
                    "{path} for {kind}: {what}: {}",
                    &said[..said.len().min(400)]
                );
                assert!(
                    reply.json().is_some_and(|error| error["error"]["message"].is_string()),
                    "{what}: {said}"
                );
            }
            assert!(own || provider.calls() == before, "{path}: what was refused reached {kind}");
            let odd = if own { Vec::new() } else { entry.odd(&model) };
            for (what, body) in odd {
                let reply = send(&gateway, &path, &body).await;
                assert!(
                    reply.status.is_some_and(|status| status < 500),
                    "{path} for {kind}: {what}: {}",
                    reply.text()
                );
            }
        }
    }
    assert_eq!(gateway.get("/readyz").await.status, Some(200));
    // Requests are at most 32 MiB, and one is in flight at a time: it, what is made of it, and what the allocator keeps.
    if let Some(peak) = gateway.peak_mib() {
        println!("peak: {peak} MiB");
        assert!(peak < 320.0, "{peak} MiB");
    }
    let log = gateway.stop().await;
    assert!(!log.contains("panicked"), "{log}");
}
