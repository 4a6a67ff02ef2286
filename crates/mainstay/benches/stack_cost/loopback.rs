//! The same through the hyper client, to a scripted provider that is a process of its own.

use super::{
    calls::{retry, router, stack},
    measure::{Case, calls, streams},
    memory::{ANSWER, ASKED, ASKED_STREAM, EVENTS, headers, routed, target},
    theirs::{Budgeted, Thrice},
};
use bytes::Bytes;
use http::{Method, Request, header::HOST};
use http_body_util::Full;
use mainstay::{client::Client, layers::retry as layers, route::Target};
use mainstay_testkit::{ScriptedProvider, Step, bodies::openai_chunks_as};
use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, ExitCode, Stdio},
    sync::OnceLock,
};
use tower::{Layer, retry::RetryLayer};

/// Is the provider: prints its port, and serves until its input is closed.
pub(crate) fn serve() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let provider = ScriptedProvider::answering(|call| match call.wants_stream() {
            true => Step::sse(openai_chunks_as("gpt-4o-mini", (0..EVENTS).map(|_| " Titan"))),
            false => Step::json(200, ANSWER.parse().expect("JSON")),
        });
        let provider = provider.await.expect("a port");
        provider.keep(1);
        println!("{}", provider.port());
        let closed = tokio::task::spawn_blocking(|| std::io::stdin().lines().count());
        closed.await.expect("the end of the input");
    });
    ExitCode::SUCCESS
}

/// The provider's address. It ends with this process, whose end closes its input.
fn base() -> &'static str {
    static BASE: OnceLock<(String, Child)> = OnceLock::new();
    let (base, _) = BASE.get_or_init(|| {
        let this = std::env::current_exe().expect("this program");
        let mut child = Command::new(this)
            .arg("--provider")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the provider");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("its port");
        (format!("http://127.0.0.1:{}/v1", line.trim()), child)
    });
    base
}

pub(crate) fn cases() -> Vec<Case> {
    let client = Client::builder().no_proxy().build().expect("a client");
    let target = || Target::new(target(), stack!(client.clone(), base()));
    vec![
        calls("loopback: the bare client", client.clone(), direct(ASKED)),
        calls("loopback: a target's stack", stack!(client.clone(), base()), routed(ASKED)),
        calls("loopback: router and fallback over it", router(target()), routed(ASKED)),
        calls("loopback retry: our client", client.clone(), direct(ASKED)),
        calls("loopback retry: ours", layers::RetryLayer::new().layer(client.clone()), direct(ASKED)),
        calls("loopback retry: ours with a budget", retry().layer(client.clone()), direct(ASKED)),
        calls("loopback retry: tower's", RetryLayer::new(Thrice(3)).layer(client.clone()), direct(ASKED)),
        calls(
            "loopback retry: tower's with a budget",
            RetryLayer::new(Budgeted::new()).layer(client.clone()),
            direct(ASKED),
        ),
        calls("loopback retry: reqwest without", theirs(Some(never())), to_reqwest(ASKED)),
        calls("loopback retry: reqwest as it comes", theirs(None), to_reqwest(ASKED)),
        calls("loopback retry: reqwest's, no budget", theirs(Some(on_5xx().no_budget())), to_reqwest(ASKED)),
        calls("loopback retry: reqwest's with a budget", theirs(Some(on_5xx())), to_reqwest(ASKED)),
        streams("loopback frame: the bare client", client.clone(), direct(ASKED_STREAM)),
        streams("loopback frame: a target's stack", stack!(client.clone(), base()), routed(ASKED_STREAM)),
        streams("loopback frame: router and fallback over it", router(target()), routed(ASKED_STREAM)),
    ]
}

/// What an endpoint would have made of it.
fn direct(body: &'static [u8]) -> impl Fn() -> Request<Full<Bytes>> + Clone {
    let uri: http::Uri = format!("{}/chat/completions", base()).parse().expect("a URL");
    let mut headers = headers();
    headers.remove(HOST);
    move || {
        let mut request =
            Request::post(uri.clone()).body(Full::new(Bytes::from_static(body))).expect("a request");
        *request.headers_mut() = headers.clone();
        request
    }
}

/// A client that keeps nothing for a second attempt: a policy that never retries copies each request all the same, unless
/// the attempts are none.
fn never() -> reqwest::retry::Builder {
    reqwest::retry::never().max_retries_per_request(0)
}

fn on_5xx() -> reqwest::retry::Builder {
    reqwest::retry::for_host("127.0.0.1").classify_fn(|seen| {
        match seen.status().is_none_or(|status| status.is_server_error()) {
            true => seen.retryable(),
            false => seen.success(),
        }
    })
}

/// As it comes, it retries what an HTTP/2 server says it never began.
fn theirs(retry: Option<reqwest::retry::Builder>) -> reqwest::Client {
    let builder = reqwest::Client::builder().no_proxy();
    let builder = match retry {
        Some(retry) => builder.retry(retry),
        None => builder,
    };
    builder.build().expect("a client")
}

/// The same as [`direct`], in reqwest's words.
fn to_reqwest(body: &'static [u8]) -> impl Fn() -> reqwest::Request + Clone {
    let url: reqwest::Url = format!("{}/chat/completions", base()).parse().expect("a URL");
    let mut headers = headers();
    headers.remove(HOST);
    move || {
        let mut request = reqwest::Request::new(Method::POST, url.clone());
        *request.headers_mut() = headers.clone();
        *request.body_mut() = Some(Bytes::from_static(body).into());
        request
    }
}
