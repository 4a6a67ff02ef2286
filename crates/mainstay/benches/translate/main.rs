//! What a translation costs, from each dialect to each other: a request of a megabyte of prompt and ten images, and an event
//! of a stream.
//!
//! ```text
//! cargo bench -p mainstay --bench translate               all pairs
//! cargo bench -p mainstay --bench translate -- messages   those whose names hold this
//! ```
//!
//! - *Requests* go through the layer to a service that drops them. The rate is in bytes of the caller's request, reading `model`
//!   and `stream` out of it included. Peak is the most that the heap held at once, the caller's body included, against the
//!   size of that body; the goal is 2.2 at most, and 400 MB/s.
//! - *Events* are one word each, 100,000 of them, at hand at once. The goal is 3 µs at most.
//!
//! Time is the best of several rounds. A peak over its goal makes it fail; times are for reading.

// A bench may say loudly that it cannot go on.
#![allow(clippy::expect_used)]

mod requests;
mod streams;

use bytes::Bytes;
use http::Request;
use mainstay::{
    body::RequestBody,
    peek::{Call, peek},
    provider::Kind,
};
use std::process::ExitCode;

/// A dialect: its name, and a provider that speaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Responses,
    Messages,
    Gemini,
}

impl Api {
    pub(crate) const ALL: [Self; 4] = [Self::Chat, Self::Responses, Self::Messages, Self::Gemini];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::Gemini => "gemini",
        }
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Chat => Kind::Together,
            Self::Responses => Kind::OpenAiResponses,
            Self::Messages => Kind::Anthropic,
            Self::Gemini => Kind::Gemini,
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
            Self::Gemini => "/v1beta/models/m:streamGenerateContent?alt=sse",
        }
    }

    /// A call of this dialect with that body.
    pub(crate) fn call(self, body: &Bytes) -> Request<RequestBody> {
        let path = self.path();
        let call = match Call::of_path(path) {
            Some(call) => call,
            None => Call::new(path, peek(body).expect("a call")),
        };
        call.into_request(Request::post(path).body(()).expect("a path"), body.clone())
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    // `cargo test` only wants to know that it compiles.
    if !std::env::args().any(|arg| arg == "--bench") {
        return ExitCode::SUCCESS;
    }
    let wanted = |name: &str| args.iter().all(|arg| name.contains(arg.as_str()));
    let mut fits = true;
    println!("{:24} {:>9} {:>9} {:>8}", "request", "KiB", "MB/s", "peak");
    for (from, to) in pairs() {
        let name = format!("{} to {}", from.name(), to.name());
        if wanted(&name) {
            let cost = requests::cost(from, to);
            fits &= cost.peak <= 2.2;
            println!("{name:24} {:>9} {:>9.0} {:>8.2}", cost.size / 1024, cost.rate / 1e6, cost.peak);
        }
    }
    println!("\n{:24} {:>9} {:>9} {:>8}", "event of a stream", "ns", "bytes", "allocs");
    for (from, to) in pairs() {
        let name = format!("{} to {}", from.name(), to.name());
        if wanted(&name) {
            let cost = streams::cost(from, to);
            println!("{name:24} {:>9.0} {:>9} {:>8.1}", cost.nanos, cost.bytes, cost.allocations);
        }
    }
    if fits { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Each dialect with each other. A provider of chat completions that is asked for Responses is no pair of its own.
fn pairs() -> impl Iterator<Item = (Api, Api)> {
    let all = Api::ALL.into_iter().flat_map(|from| Api::ALL.map(|to| (from, to)));
    all.filter(|(from, to)| from != to)
}
