//! Five providers inside the process, well and ill, for a gateway that runs without a key or a network.
//!
//! | provider | what it does |
//! | --- | --- |
//! | `well` | answers everything, streams word by word |
//! | `flaky` | answers 503 twice, then well; again and again |
//! | `limited` | answers 429 with `Retry-After: 1`, then well; in turn |
//! | `stall` | begins a stream and falls silent after a few words; a call that is no stream gets no answer |
//! | `down` | a port where nothing listens |
//!
//! They speak both dialects, chosen by path: OpenAI's chat completions, completions, responses, embeddings and
//! models, and Anthropic's messages. The answer names the model and repeats nothing of the prompt.
//!
//! Not a model, and not for measuring one.
//!
//! ```
//! # async fn example() -> std::io::Result<()> {
//! let demo = mainstay_testkit::demo::DemoProviders::start().await?;
//! assert!(demo.well.base_url().ends_with("/v1"));
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
//! ```

mod answer;

#[cfg(test)]
mod tests;

use crate::{
    bodies,
    provider::{ClosedPort, Recorded, ScriptedProvider, Step},
};
use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The demo's providers. They live as long as this.
#[derive(Debug)]
pub struct DemoProviders {
    /// Answers everything.
    pub well: DemoProvider,
    /// 503, 503, well, and so on.
    pub flaky: DemoProvider,
    /// 429 with `Retry-After: 1`, well, and so on.
    pub limited: DemoProvider,
    /// Falls silent in the middle of a stream.
    pub stall: DemoProvider,
    /// Refuses connections.
    pub down: DemoProvider,
}

/// One of the demo's providers.
#[derive(Debug)]
pub struct DemoProvider {
    base_url: String,
    server: Option<ScriptedProvider>,
    _closed: Option<ClosedPort>,
}

impl DemoProviders {
    /// Starts all of them, each on a free port of loopback, served by tasks of the current runtime.
    ///
    /// # Errors
    /// The system's, when a port cannot be had.
    pub async fn start() -> io::Result<Self> {
        let (failures, limits) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Ok(Self {
            well: DemoProvider::new(answer::well).await?,
            flaky: DemoProvider::new(move |request| match every(3, &failures, request) {
                Turn::Well => answer::well(request),
                Turn::Ill => answer::error(request, 503, "demo: this provider fails twice, then answers"),
            })
            .await?,
            limited: DemoProvider::new(move |request| match every(2, &limits, request) {
                Turn::Well => answer::well(request),
                Turn::Ill => answer::error(request, 429, "demo: this provider asks you to wait for a second")
                    .header("retry-after", "1"),
            })
            .await?,
            stall: DemoProvider::new(answer::stall).await?,
            down: DemoProvider::down()?,
        })
    }
}

impl DemoProvider {
    async fn new(answer: impl Fn(&Recorded) -> Step + Send + Sync + 'static) -> io::Result<Self> {
        let server = ScriptedProvider::answering(answer).await?;
        server.keep(0); // what people type into a demo is theirs
        let base_url = format!("{}/v1", server.url());
        Ok(Self { base_url, server: Some(server), _closed: None })
    }

    fn down() -> io::Result<Self> {
        let closed = ClosedPort::reserve()?;
        Ok(Self { base_url: format!("{}/v1", closed.url()), server: None, _closed: Some(closed) })
    }

    /// `http://127.0.0.1:PORT/v1`, as OpenAI's SDKs want it.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// `http://127.0.0.1:PORT`, as Anthropic's SDKs want it.
    pub fn host_url(&self) -> &str {
        self.base_url.strip_suffix("/v1").unwrap_or(&self.base_url)
    }

    /// How many requests it got; 0 for `down`.
    pub fn calls(&self) -> usize {
        self.server.as_ref().map_or(0, ScriptedProvider::calls)
    }
}

enum Turn {
    Well,
    Ill,
}

/// The last of each `period` calls is well. Only calls to a model count, so that a list of models in between does
/// not upset the order that the demo promises.
fn every(period: usize, counter: &AtomicUsize, request: &Recorded) -> Turn {
    if request.method != "POST" || counter.fetch_add(1, Relaxed) % period == period - 1 {
        Turn::Well
    } else {
        Turn::Ill
    }
}

/// The model's name as the answer shows it: from the request, so it is bounded.
fn shown_model(request: &Recorded) -> String {
    request.model().unwrap_or_else(|| bodies::MODEL.to_owned()).chars().take(100).collect()
}
