//! One line a request: who answered, how it went, how long it took. No payload, no header, no key.

use super::{Inner, outcome::Failure, reply};
use crate::cost::Usd;
use http::{HeaderMap, HeaderValue, StatusCode};
use mainstay::{
    judge::UsageCell,
    route::{AttemptLog, Cached, Served, Spent, TargetName},
    secret::Redactor,
};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// A request that is under way. Its line is written when it is dropped: at the end of the reply, or when the caller left.
pub(super) struct Record {
    app: Arc<Inner>,
    pub(super) id: HeaderValue,
    pub(super) since: Instant,
    pub(super) path: Box<str>,
    pub(super) route: Option<Arc<str>>,
    pub(super) model: Option<Arc<str>>,
    pub(super) stream: bool,
    pub(super) target: Option<Arc<TargetName>>,
    /// The provider's own id of the request that was answered, for those who ask it for help.
    pub(super) their_id: Option<HeaderValue>,
    /// The answer was a kept one: `stale` or `hit`.
    pub(super) cache: Option<&'static str>,
    /// The tries, and what the replies that were handed on used.
    pub(super) log: AttemptLog,
    pub(super) usage: UsageCell,
    pub(super) tries: u32,
    pub(super) status: Option<StatusCode>,
    pub(super) head_after: Option<Duration>,
    /// How it ended; none yet when it is dropped: the caller left.
    pub(super) outcome: Option<&'static str>,
}

impl Record {
    pub(super) fn new(app: Arc<Inner>, id: HeaderValue, path: &str) -> Self {
        app.metrics.begin();
        Self {
            app,
            id,
            since: Instant::now(),
            path: beginning(path).into(),
            route: None,
            model: None,
            stream: false,
            target: None,
            their_id: None,
            cache: None,
            log: AttemptLog::default(),
            usage: UsageCell::default(),
            tries: 0,
            status: None,
            head_after: None,
            outcome: None,
        }
    }

    /// The head that the caller gets is known.
    pub(super) fn head(&mut self, status: StatusCode) {
        self.status = Some(status);
        self.head_after = Some(self.since.elapsed());
    }

    /// A target answered.
    pub(super) fn answered(&mut self, headers: &HeaderMap, served: Option<&Served>, redactor: &Redactor) {
        self.their_id = reply::provider_id(headers, redactor);
        if let Some(served) = served {
            self.target = Some(served.target.clone());
            self.tries = served.tries;
        }
    }

    /// The answer is a kept one, if it is.
    pub(super) fn kept(&mut self, cached: Option<&Cached>) {
        self.cache = cached.map(reply::how_kept);
    }

    /// No target answered.
    pub(super) fn failed(&mut self, failure: &Failure, redactor: &Redactor) {
        self.outcome = Some(match failure {
            Failure::Refused(refusal) => refusal.code(),
            Failure::Failed(failed) => {
                self.tries = failed.tries;
                let reply = failed.reply.as_ref();
                self.their_id = reply.and_then(|reply| reply::provider_id(&reply.headers, redactor));
                failed.code.unwrap_or(failed.verdict.class.as_str())
            }
        });
    }

    /// What the answer cost so far, if its price and its tokens are known: each part at the price of who gave it.
    pub(super) fn cost(&self) -> Option<Usd> {
        self.cost_of(&self.log.spent())
    }

    fn cost_of(&self, spent: &[Spent]) -> Option<Usd> {
        let mut parts =
            spent.iter().map(|part| self.app.prices.cost(&part.target.provider, &part.model, &part.usage));
        let Usd(first) = parts.next()??;
        parts.try_fold(first, |sum, part| Some(sum + part?.0)).map(Usd)
    }
}

/// What the lines of requests have as their target.
pub(crate) const REQUEST_LINE: &str = "mainstay::request";

/// The beginning of what a caller wrote: a log line is no place for all of it.
fn beginning(text: &str) -> &str {
    const LONGEST: usize = 100;
    // Never more characters than bytes, and most are short.
    if text.len() <= LONGEST {
        return text;
    }
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

impl Drop for Record {
    fn drop(&mut self) {
        let took = self.since.elapsed();
        // What HTTP has no status for: the caller left before there was one.
        let status = self.status.map_or(499, |status| status.as_u16());
        self.app.metrics.end(self.route.as_deref(), status, took);
        let (usage, spent) = (self.usage.get(), self.log.spent());
        for part in &spent {
            let cost = self.app.prices.cost(&part.target.provider, &part.model, &part.usage);
            self.app.metrics.spent(&part.target, self.route.as_deref(), &part.usage, cost);
        }
        let cost = self.cost_of(&spent);
        let model = beginning(self.model.as_deref().unwrap_or_default());
        tracing::info!(
            target: REQUEST_LINE,
            id = self.id.to_str().unwrap_or_default(),
            path = &*self.path,
            model,
            stream = self.stream,
            provider = self.target.as_ref().map(tracing::field::display),
            status,
            outcome = self.outcome.unwrap_or("cancelled"),
            tries = self.tries,
            cache = self.cache,
            their_id = self.their_id.as_ref().and_then(|id| id.to_str().ok()),
            ms = took.as_millis() as u64,
            head_ms = self.head_after.map(|after| after.as_millis() as u64),
            tokens_in = usage.input,
            tokens_out = usage.output,
            cost_usd = cost.map(tracing::field::display),
            "request"
        );
    }
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Record").field("id", &self.id).finish_non_exhaustive()
    }
}
