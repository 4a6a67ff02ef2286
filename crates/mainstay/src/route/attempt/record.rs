//! What is written down of one try.

use super::{Attempt, AttemptLayer, AttemptLog, LastReply, Spent};
use crate::{dialect::Usage, judge::UsageCell};
use http::StatusCode;
use mainstay_layers::{
    BoxError,
    classify::{Class, Verdict},
};
use std::sync::Arc;
use tokio::time::Instant;

/// A verdict that says what happened, in the error's own words where it has none.
pub(super) fn in_words(mut verdict: Verdict, error: &BoxError) -> Verdict {
    verdict.message.get_or_insert_with(|| error.to_string().into());
    verdict
}

/// One try that is under way. Dropped while open, it was the caller who left.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) layer: AttemptLayer,
    pub(super) log: AttemptLog,
    pub(super) model: Arc<str>,
    pub(super) since: Instant,
    pub(super) open: bool,
    pub(super) usage: Option<TryUsage>,
}

/// The tokens of one try, apart from those of the call: what a failed try used is not the answer's.
#[derive(Debug)]
pub(super) struct TryUsage {
    call: UsageCell,
    own: UsageCell,
    /// Something of the reply goes to the caller.
    handed_on: bool,
}

impl TryUsage {
    /// Puts a cell of the try's own in place of the call's, for the judge below to write to.
    pub(super) fn new(cell: &mut UsageCell) -> Self {
        let own = UsageCell::default();
        Self { call: std::mem::replace(cell, own.clone()), own, handed_on: false }
    }
}

impl Record {
    pub(super) fn succeed(&mut self) {
        self.hand_on();
        self.end(Class::Success);
    }

    /// From now on the reply is the caller's.
    pub(super) fn hand_on(&mut self) {
        if let Some(usage) = &mut self.usage {
            usage.handed_on = true;
        }
    }

    pub(super) fn fail(&mut self, verdict: &Verdict, status: Option<StatusCode>, reply: Option<LastReply>) {
        if !self.open {
            return;
        }
        self.log.fail(
            Attempt {
                provider: self.layer.settings.target.provider.clone(),
                model: self.model.clone(),
                status,
                class: verdict.class.as_str(),
                message: verdict.message.clone(),
                took: self.since.elapsed(),
            },
            reply,
        );
        tracing::debug!(
            provider = &*self.layer.settings.target.provider,
            class = verdict.class.as_str(),
            status = status.map(|status| status.as_u16()),
            wait_ms = verdict.wait.map(|wait| wait.as_millis()),
            "attempt failed"
        );
        self.end(verdict.class);
    }

    fn end(&mut self, class: Class) {
        if std::mem::take(&mut self.open) {
            self.settle_usage();
            self.layer.settings.observer.attempt(&self.layer.settings.target, class, self.since.elapsed());
        }
    }

    fn settle_usage(&mut self) {
        let Some(TryUsage { call, own, handed_on }) = self.usage.take() else { return };
        let malformed = own.malformed_events();
        if malformed > 0 {
            self.layer.settings.observer.malformed_events(&self.layer.settings.target, malformed);
        }
        let usage = own.get();
        if usage == Usage::default() {
            return;
        }
        if handed_on {
            call.set(usage);
            let (target, model) = (self.layer.settings.target.clone(), self.model.clone());
            self.log.spend(Spent { target, model, usage });
        } else {
            self.layer.settings.observer.wasted(&self.layer.settings.target, &usage);
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.end(Class::Cancelled);
    }
}
