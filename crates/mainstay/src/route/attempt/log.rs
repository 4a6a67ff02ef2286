//! The tries of one call.

use super::TargetName;
use crate::dialect::{self, Usage};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use mainstay_layers::classify::Verdict;
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};

/// More tries than this are counted, but not listed.
const MAX_LISTED: usize = 64;

/// The end of one try.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attempt {
    /// The provider's name.
    pub provider: Arc<str>,
    /// The model that was asked of it.
    pub model: Arc<str>,
    /// The status of its error; of an error inside a 200, the status that it stands for. None where there was none: nothing
    /// came, or what came was no answer and no error either.
    pub status: Option<StatusCode>,
    /// What became of it. A call that one of our own layers refused is not a try, and has a word of its own here:
    /// `circuit_open`, `overloaded`, `cooling`, `unsupported`.
    pub class: &'static str,
    /// The provider's or our own words, with every known key cut out.
    pub message: Option<Arc<str>>,
    /// How long it took until this was known.
    pub took: Duration,
}

impl Attempt {
    /// The entry in the error of all targets.
    pub fn to_entry(&self) -> dialect::Attempt {
        dialect::Attempt {
            provider: self.provider.to_string(),
            model: self.model.to_string(),
            status: self.status.map(|status| status.as_u16()),
            class: self.class,
            message: self.words(),
            ms: u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Its message, or its status where the provider said nothing besides.
    fn words(&self) -> String {
        match (self.message.as_deref().filter(|message| !message.trim().is_empty()), self.status) {
            (Some(message), _) => message.to_owned(),
            (None, Some(status)) => status.to_string(),
            (None, None) => String::new(),
        }
    }
}

/// A provider's own error reply, kept whole.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LastReply {
    /// Which provider it came from.
    pub provider: Arc<str>,
    /// Its status; of an error inside a 200, the status that it stands for.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, as far as it was read.
    pub body: Bytes,
    /// The judgement on it.
    pub verdict: Verdict,
}

/// The tries of one call, at all targets. A cheap handle in the request's extensions.
#[derive(Clone, Debug, Default)]
pub struct AttemptLog(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    tries: u32,
    listed: Vec<Attempt>,
    last: Option<LastReply>,
    spent: Vec<Spent>,
    has_seam: bool,
}

/// The tokens of one reply of which something was handed on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Spent {
    /// Who gave it.
    pub target: Arc<TargetName>,
    /// The model that was asked.
    pub model: Arc<str>,
    /// What it told.
    pub usage: Usage,
}

impl AttemptLog {
    /// How many tries were made, at all targets.
    pub fn tries(&self) -> u32 {
        self.0.lock().tries
    }

    /// The first 64 of them that failed, and the refusals of our own layers between them.
    pub fn failed(&self) -> Vec<Attempt> {
        self.0.lock().listed.clone()
    }

    /// The last error reply that a provider gave in full.
    pub fn last_reply(&self) -> Option<LastReply> {
        self.0.lock().last.clone()
    }

    /// The tokens of the answer by those who gave it: of one reply, or of several where a stream was cut and another target
    /// went on with it. Each is here once its try has ended, if the call has a [`UsageCell`](crate::judge::UsageCell).
    pub fn spent(&self) -> Vec<Spent> {
        self.0.lock().spent.clone()
    }

    /// Whether the answer was put together from several replies.
    pub(in super::super) fn has_seam(&self) -> bool {
        self.0.lock().has_seam
    }

    pub(in super::super) fn note_seam(&self) {
        self.0.lock().has_seam = true;
    }

    /// Lists something that was no try: a refusal of our own.
    pub fn refused(&self, attempt: Attempt) {
        let mut inner = self.0.lock();
        if inner.listed.len() < MAX_LISTED {
            inner.listed.push(attempt);
        }
    }

    pub(super) fn begin(&self) {
        let mut inner = self.0.lock();
        inner.tries = inner.tries.saturating_add(1);
    }

    pub(super) fn spend(&self, spent: Spent) {
        let mut inner = self.0.lock();
        // Nearly always it is the only one.
        inner.spent.reserve_exact(1);
        inner.spent.push(spent);
    }

    pub(super) fn fail(&self, attempt: Attempt, reply: Option<LastReply>) {
        let mut inner = self.0.lock();
        if reply.is_some() {
            inner.last = reply;
        }
        if inner.listed.len() < MAX_LISTED {
            inner.listed.push(attempt);
        }
    }
}
