//! One call on its way over the targets.

mod one;

pub(in super::super) use self::one::ask;

use super::{
    super::{
        attempt::AttemptLog,
        capability::Needs,
        failed::CallFailed,
        options::WhenExhausted,
        recover::{Continue, RecoverBody},
        target::{Asks, ReplyBody, Skip, Target},
    },
    Fallback, Refusal, Served, order,
    race::Ended,
};
use crate::{body::RequestBody, peek::Call, translate::Untranslatable};
use http::{Request, Response, request::Parts};
use http_body_util::BodyExt;
use mainstay_layers::{
    BoxError,
    breaker::CircuitOpen,
    classify::{Class, Verdict},
    deadline::{Deadline, DeadlineExceeded},
    error::find_cause,
};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// One call, and what became of it so far.
pub(in super::super) struct Run {
    pub(in super::super) fallback: Fallback,
    /// What every target's request is made from; taken for the last one.
    parts: Option<Parts>,
    pub(in super::super) body: RequestBody,
    pub(in super::super) call: Option<Call>,
    pub(in super::super) log: AttemptLog,
    deadline: Option<Deadline>,
    /// What the call asks of a model; read only where that can rule a target out.
    needs: Option<Needs>,
}

/// How one target ended.
pub(in super::super) enum Outcome {
    Answered(Response<ReplyBody>),
    Failed(Verdict, Option<BoxError>),
}

/// What came of asking all targets.
enum Over {
    Answered {
        response: Response<ReplyBody>,
        /// Who answered.
        at: usize,
        /// The last one that was asked.
        latest: usize,
        model: Arc<str>,
    },
    Failed(Box<CallFailed>),
    /// None was asked.
    Exhausted(Refusal),
}

impl Run {
    pub(super) fn new(fallback: Fallback, request: Request<RequestBody>) -> Self {
        let (mut parts, body) = request.into_parts();
        let log = parts.extensions.get_or_insert_default::<AttemptLog>().clone();
        let call = parts.extensions.get::<Call>().cloned();
        let deadline = Deadline::of(&parts.extensions);
        let limited = fallback.targets().iter().any(|target| target.capabilities().is_limited());
        let needs = call.as_ref().filter(|_| limited).map(|call| Needs::of(call, &body));
        Self { fallback, parts: Some(parts), body, call, log, deadline, needs }
    }

    /// What is known of the call.
    pub(super) fn asks(&self) -> Asks<'_> {
        Asks { call: self.call.as_ref(), needs: self.needs.as_ref() }
    }

    /// Asks until one answers or the deadline is over.
    pub(in super::super) async fn answered(self: Box<Self>) -> Result<Response<ReplyBody>, Box<CallFailed>> {
        let Some(deadline) = self.deadline else { return self.first().await };
        let log = self.log.clone();
        match tokio::time::timeout_at(deadline.instant(), self.first()).await {
            Ok(outcome) => outcome,
            // A target whose stack has no timer of its own.
            Err(_) => Err(Box::new(CallFailed::from_error(&log, DeadlineExceeded::new().into()))),
        }
    }

    /// Asks until one answers.
    async fn first(mut self: Box<Self>) -> Result<Response<ReplyBody>, Box<CallFailed>> {
        let headers = self.parts.as_ref().map(|parts| &parts.headers);
        let targets = match headers {
            Some(headers) => order::targets(self.fallback.settings(), headers, &self.body, self.asks()),
            None => self.fallback.settings().targets.clone(),
        };
        let until = match self.fallback.settings().exhausted {
            WhenExhausted::Wait(most) => Instant::now().checked_add(most),
            WhenExhausted::Fail => None,
        };
        loop {
            let refusal = match self.over(&targets).await {
                Over::Answered { response, at, latest, model } => {
                    let rest = targets.get(latest + 1..).unwrap_or_default();
                    let Some(target) = targets.get(at) else { return Ok(response) };
                    return Ok(self.answer(response, target, model, rest));
                }
                Over::Failed(failed) => return Err(failed),
                Over::Exhausted(refusal) => refusal,
            };
            let Some(resume) = until.and_then(|until| self.resume_at(&refusal, until)) else {
                return Err(Box::new(refusal.into_failed(&self.log)));
            };
            tracing::debug!("every target is open or cooling: waiting for the first one");
            tokio::time::sleep_until(resume).await;
        }
    }

    /// When a call that waits for a target can go on, if that is in time.
    fn resume_at(&self, refusal: &Refusal, until: Instant) -> Option<Instant> {
        /// Whatever a target says: this is no busy loop.
        const SHORTEST: Duration = Duration::from_millis(10);
        let at = Instant::now().checked_add(refusal.wait()?.max(SHORTEST))?;
        let in_time = at <= until && self.deadline.is_none_or(|deadline| at < deadline.instant());
        in_time.then_some(at)
    }

    /// Asks each target in turn.
    async fn over(&mut self, targets: &[Target]) -> Over {
        let settings = self.fallback.settings();
        let (hedge, waits) = (settings.hedge, settings.exhausted != WhenExhausted::Fail);
        let mut last: Option<(Verdict, Option<BoxError>)> = None;
        let mut refusal: Option<Refusal> = None;
        // The last one that was asked, by way of a hedge too.
        let mut latest = None;
        // One at which a try has failed: what follows is paid from its budget.
        let mut failed: Option<&Target> = None;

        for (at, target) in targets.iter().enumerate() {
            if latest.is_some_and(|latest| at <= latest) {
                continue;
            }
            if let Some(why) = self.passes_by(target) {
                refusal = Some(Refusal::soonest(refusal, why));
                continue;
            }
            if self.is_late() {
                last = Some((Class::Timeout.into(), Some(DeadlineExceeded::unsent().into())));
                break;
            }
            let rest = targets.get(at + 1..).unwrap_or_default();
            let next = self.any_of(rest);
            let model = self.model_of(target);
            if let Some(failed) = failed.take() {
                self.charge(failed);
            }
            let Some(request) = self.request(&model, next, rest.is_empty() && !waits) else { break };
            let one = match hedge.filter(|_| next) {
                None => {
                    let outcome = ask(target, request).await;
                    latest = Some(at);
                    Ended { at, model, outcome }
                }
                Some(hedge) => {
                    // Boxed: calls without a hedge do not carry the room for one.
                    let mut ended = Box::pin(self.race(targets, at, model, request, hedge)).await;
                    latest = ended.iter().map(|one| one.at).max().max(Some(at));
                    let Some(one) = ended.pop() else { break };
                    for Ended { at, model, outcome } in ended {
                        if let (Some(target), Outcome::Failed(verdict, source)) = (targets.get(at), outcome) {
                            self.note_failure(targets, target, model, &verdict, source.as_ref());
                        }
                    }
                    one
                }
            };
            let Ended { at, model, outcome } = one;
            let (verdict, source) = match outcome {
                Outcome::Answered(response) => {
                    return Over::Answered { response, at, latest: latest.unwrap_or(at), model };
                }
                Outcome::Failed(verdict, source) => (verdict, source),
            };
            let Some(target) = targets.get(at) else { break };
            let source = match source {
                Some(source) if find_cause::<Untranslatable>(&*source).is_some() => {
                    let why = Refusal::untranslatable(&verdict, source);
                    self.log.refused(why.entry(target, model));
                    refusal = Some(Refusal::soonest(refusal, why));
                    continue;
                }
                other => other,
            };
            let goes_on = verdict.falls_back();
            self.note_failure(targets, target, model, &verdict, source.as_ref());
            if goes_on && self.any_of(targets.get(latest.unwrap_or(at) + 1..).unwrap_or_default()) {
                self.fallback.settings().observer.fallback(&target.name, verdict.class);
                tracing::debug!(from = %target.name, class = %verdict.class, "falling back");
            }
            // What our own circuit or queue refused was no try.
            failed = (verdict.class != Class::Rejected).then_some(target);
            let open = source.as_ref().and_then(|error| find_cause::<CircuitOpen>(&**error));
            match open.filter(|_| waits) {
                // Its circuit opened since it was looked at: as if it had been open then.
                Some(open) => {
                    let why = Refusal::of(&Skip::Open { retry_in: open.retry_in() });
                    refusal = Some(Refusal::soonest(refusal, why));
                }
                None => last = Some((verdict, source)),
            }
            if !goes_on {
                break;
            }
        }
        match (last, refusal) {
            (Some((verdict, source)), _) => {
                Over::Failed(Box::new(CallFailed::new(&self.log, verdict, source)))
            }
            (None, Some(refusal)) => Over::Exhausted(refusal),
            (None, None) => {
                let none = Some("the route has no targets".into());
                Over::Failed(Box::new(CallFailed::new(&self.log, Class::Rejected.into(), none)))
            }
        }
    }

    /// The answer as the caller gets it.
    fn answer(
        self: Box<Self>,
        mut response: Response<ReplyBody>,
        target: &Target,
        model: Arc<str>,
        rest: &[Target],
    ) -> Response<ReplyBody> {
        let tries = self.log.tries();
        response.extensions_mut().insert(Served { target: target.name.clone(), model, tries });
        if !self.fallback.settings().recovery || rest.is_empty() || self.parts.is_none() {
            return response;
        }
        let Some(call) = self.call.as_ref().filter(|call| RecoverBody::takes(call, &response)) else {
            return response;
        };
        let dialect = call.dialect;
        let plan = Continue::new(self, target, rest);
        response.map(|body| RecoverBody::new(body, dialect, plan).boxed_unsync())
    }
}
