//! Hedging: several targets at once for one call.

use super::{
    super::{
        options::{Hedge, HedgeAfter},
        target::Target,
    },
    run::{Outcome, Run, ask},
};
use crate::body::RequestBody;
use http::Request;
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};
use tokio::time::{Sleep, sleep};

/// What became of one target in a race.
pub(super) struct Ended {
    pub(super) at: usize,
    pub(super) model: Arc<str>,
    pub(super) outcome: Outcome,
}

struct Running<'t> {
    at: usize,
    model: Arc<str>,
    future: Pin<Box<dyn Future<Output = Outcome> + Send + 't>>,
}

/// With less than this nobody wants a second call.
const SHORTEST: Duration = Duration::from_millis(10);

impl Run {
    /// Asks the target at `at`, and others behind it while no content comes. Those that have ended, in their order; if
    /// one answered, it is the last. Whatever else still runs is dropped.
    pub(super) async fn race(
        &mut self,
        targets: &[Target],
        at: usize,
        model: Arc<str>,
        request: Request<RequestBody>,
        hedge: Hedge,
    ) -> Vec<Ended> {
        let Some(first) = targets.get(at) else { return Vec::new() };
        let stream = self.call.as_ref().is_some_and(|call| call.stream);
        let after = match hedge.after {
            HedgeAfter::Time(after) => Some(after),
            HedgeAfter::P95 => first.pace().quantile(stream, 0.95),
        };
        let after = after.map(|after| after.max(SHORTEST));
        let mut timer: Option<Pin<Box<Sleep>>> = after.map(|after| Box::pin(sleep(after)));
        let mut running = vec![Running { at, model, future: Box::pin(ask(first, request)) }];
        let mut ended: Vec<Ended> = Vec::new();
        let mut latest = at;
        let mut left = hedge.max;
        loop {
            let due = poll_fn(|cx| {
                let mut at = 0;
                while let Some(one) = running.get_mut(at) {
                    if let Poll::Ready(outcome) = one.future.as_mut().poll(cx) {
                        let Running { at, model, .. } = running.remove(at);
                        return Poll::Ready(Some(Ended { at, model, outcome }));
                    }
                    at += 1;
                }
                match &mut timer {
                    Some(timer) if left > 0 => timer.as_mut().poll(cx).map(|()| None),
                    _ => Poll::Pending,
                }
            })
            .await;
            match due {
                Some(one) => {
                    let answered = matches!(one.outcome, Outcome::Answered(_));
                    ended.push(one);
                    // Those that still run may answer: an early error never wins.
                    if answered || running.is_empty() {
                        return ended;
                    }
                }
                None => {
                    left -= 1;
                    timer = after.map(|after| Box::pin(sleep(after)));
                    match self.hedge(targets, latest) {
                        Some(one) => {
                            latest = one.at;
                            running.push(one);
                        }
                        None => left = 0,
                    }
                }
            }
        }
    }

    /// Starts the next target behind `latest` that can be asked now, if it has the budget for it.
    fn hedge<'t>(&mut self, targets: &'t [Target], latest: usize) -> Option<Running<'t>> {
        if self.is_late() {
            return None;
        }
        let behind = targets.iter().enumerate().skip(latest + 1);
        let mut free = behind.filter(|(_, target)| target.skip(self.asks()).is_none());
        let (at, target) = free.next()?;
        if !self.may_hedge(target) {
            tracing::debug!(target = %target.name, "no budget for a hedge");
            return None;
        }
        let model = self.model_of(target);
        let next = self.any_of(targets.get(at + 1..).unwrap_or_default());
        let request = self.request(&model, next, false)?;
        self.fallback.settings().observer.hedge(&target.name);
        tracing::debug!(target = %target.name, "no content yet: hedging");
        Some(Running { at, model, future: Box::pin(ask(target, request)) })
    }
}
