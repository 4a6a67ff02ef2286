//! One call: what it was, what became of its tries, and what is to be handed up.

use super::{
    body::ResponseBody,
    config::RetryConfig,
    earlier::{Earlier, Paid},
    error::{ReplyGone, RetryError},
    event::{GiveUp, RetryEvent, RetryOutcome},
    extension::{Attempt, NextTarget},
    kept::Kept,
    policy::{Again, Drain, Facts, Policy, decide},
    replay::ReplayBody,
};
use crate::{
    BoxError,
    classify::{Class, Classify, Failed, Head, Verdict},
};
use http::{Request, Response, request};
use http_body::{Body, Frame};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// What is handed up.
pub(super) type Handed<RB> = Result<Response<ResponseBody<RB>>, BoxError>;

pub(super) struct Call<C, B, RB: Body> {
    policy: Arc<Policy<C>>,
    config: RetryConfig,
    /// What a further try is made from. `None`: there will be no further try.
    kept: Option<Kept<B>>,
    keyed: bool,
    next_target: bool,
    /// No try begins at or after this: the earlier of the deadline and `within`.
    limit: Option<Instant>,
    cost: f64,
    attempts: u32,
    replayed: bool,
    /// How the running try, or the one that is to come, is counted.
    current: Again,
    resume_at: Instant,
    /// For the try that is to come.
    paid: Option<Paid>,
    earlier: Option<Earlier<RB>>,
}

/// What follows on an outcome.
pub(super) enum Next<RB: Body> {
    HandUp(Handed<RB>),
    /// Another try, once this body is read or given up.
    Drain(RB),
    /// Another try.
    Sleep,
}

impl<C, B, RB> Call<C, B, RB>
where
    C: Classify,
    B: Body + Unpin + 'static,
    B::Error: Into<BoxError>,
    RB: Body,
{
    /// The call, and its first try.
    pub(super) fn begin(policy: &Arc<Policy<C>>, request: Request<B>) -> (Self, Request<ReplayBody<B>>) {
        let (mut head, body) = request.into_parts();
        let config = head.extensions.get::<RetryConfig>().copied().unwrap_or(policy.config);
        let cost = policy.cost.as_ref().map_or(1.0, |cost| cost(&head, &body.size_hint()));
        if let Some(budget) = &policy.budget {
            budget.deposit(cost);
        }
        // An outer layer's number is not ours.
        if let Some(attempt) = head.extensions.get_mut::<Attempt>() {
            *attempt = Attempt::new(1);
        }
        let now = Instant::now();
        let keyed = head.headers.contains_key(&policy.key_header);
        let next_target = head.extensions.get::<NextTarget>().is_some_and(|next| next.0);
        let limit = limit(&head, config.within.and_then(|within| now.checked_add(within)));
        let off = config.is_off();
        let body = if off { ReplayBody::once(body) } else { ReplayBody::new(body, policy.replay_cap) };
        let kept = (!off).then(|| Kept::new(&head, body.clone()));
        let first = Request::from_parts(head, body);
        let call = Self {
            policy: policy.clone(),
            config,
            kept,
            keyed,
            next_target,
            limit,
            cost,
            attempts: 1,
            replayed: false,
            current: Again { delay: Duration::ZERO, free: false },
            resume_at: now,
            paid: None,
            earlier: None,
        };
        (call, first)
    }

    /// Judges an outcome and decides.
    pub(super) fn next(&mut self, outcome: Result<Response<RB>, BoxError>) -> Next<RB> {
        let verdict = match &outcome {
            Ok(response) => self.policy.classifier.head(Head::of(response)),
            Err(error) => self.policy.classifier.error(&**error),
        };
        if let Some(budget) = &self.policy.budget {
            budget.record(&verdict);
        }
        if verdict.is_success() {
            return Next::HandUp(self.hand_up(outcome, &verdict, None));
        }
        if verdict.class == Class::Rejected && !verdict.is_retryable() {
            self.uncount();
            return Next::HandUp(if self.earlier.as_ref().is_some_and(Earlier::is_whole) {
                self.hand_back(GiveUp::Rejected, None)
            } else {
                self.hand_up(outcome, &verdict, Some(GiveUp::Rejected))
            });
        }
        let now = Instant::now();
        let facts = Facts {
            attempts: self.attempts,
            now,
            limit: self.limit,
            keyed: self.keyed,
            next_target: self.next_target,
            replayable: self.kept.as_ref().is_some_and(|kept| kept.body().is_replayable()),
            replayed: self.replayed,
        };
        let decided = decide(&self.config, &verdict, &facts, &self.policy.random);
        match decided.and_then(|again| self.pay(again)) {
            Ok(again) => {
                self.policy.tell(&RetryEvent::Retry {
                    attempt: self.attempts,
                    verdict: &verdict,
                    delay: again.delay,
                    free: again.free,
                });
                self.current = again;
                self.resume_at = now.checked_add(again.delay).unwrap_or(now);
                self.keep(outcome, verdict)
            }
            Err(reason) => Next::HandUp(self.hand_up(outcome, &verdict, Some(reason))),
        }
    }

    fn pay(&mut self, again: Again) -> Result<Again, GiveUp> {
        if let Some(budget) = self.policy.budget.as_ref().filter(|_| !again.free) {
            if !budget.try_withdraw(self.cost) {
                return Err(GiveUp::Budget);
            }
            self.paid = Some(Paid::new(budget.clone(), self.cost));
        }
        Ok(again)
    }

    /// The try that was begun last never left this process: it counts as none.
    fn uncount(&mut self) {
        if self.current.free {
            return;
        }
        self.attempts = self.attempts.saturating_sub(1);
        if let Some(budget) = self.policy.budget.as_ref().filter(|_| self.attempts > 0) {
            budget.refund(self.cost);
        }
    }

    fn keep(&mut self, outcome: Result<Response<RB>, BoxError>, verdict: Verdict) -> Next<RB> {
        match outcome {
            Ok(response) => {
                let (parts, body) = response.into_parts();
                let ended = body.is_end_stream();
                self.earlier = Some(Earlier::reply(parts, verdict));
                if ended { Next::Sleep } else { Next::Drain(body) }
            }
            Err(error) => {
                self.earlier = Some(Earlier::Error { error, verdict });
                Next::Sleep
            }
        }
    }

    /// The bounds on reading the failed reply.
    pub(super) fn drain(&self) -> Drain {
        self.policy.drain
    }

    /// Until when the failed reply may be read, or the service below may take to become ready.
    pub(super) fn until(&self, at_most: Duration) -> Instant {
        let now = Instant::now();
        let until = now.checked_add(at_most).unwrap_or(now + crate::classify::hint::MAX_WAIT);
        self.limit.map_or(until, |limit| limit.min(until))
    }

    /// How long the service below may take to become ready.
    pub(super) fn ready_within(&self) -> Duration {
        self.config.max_wait
    }

    /// The frames of the failed reply that were read.
    pub(super) fn read(&mut self, frame: Frame<RB::Data>) {
        if let Some(Earlier::Reply { frames, .. }) = &mut self.earlier {
            frames.push(frame);
        }
    }

    /// The failed reply is not read whole: what there is of it must not pass for all.
    pub(super) fn let_go(&mut self) {
        self.earlier = self.earlier.take().map(Earlier::let_go);
    }

    /// When the next try is to begin.
    pub(super) fn resume_at(&self) -> Instant {
        self.resume_at
    }

    /// The next try, if it still is possible.
    pub(super) fn resume(&mut self) -> Result<Request<ReplayBody<B>>, GiveUp> {
        if self.limit.is_some_and(|limit| Instant::now() >= limit) {
            return Err(GiveUp::NoTime);
        }
        // An upload of the try before may have gone on meanwhile, and over the cap.
        let Some(kept) = self.kept.as_ref().filter(|kept| kept.body().is_replayable()) else {
            return Err(GiveUp::BodyLost);
        };
        let mut request = kept.request();
        if self.current.free {
            self.replayed = true;
        } else {
            self.attempts = self.attempts.saturating_add(1);
        }
        if self.attempts > 1 {
            request.extensions_mut().insert(Attempt::new(self.attempts));
        }
        if let Some(paid) = self.paid.take() {
            paid.spend();
        }
        Ok(request)
    }

    /// Hands up the outcome of the last try.
    fn hand_up(
        &mut self,
        outcome: Result<Response<RB>, BoxError>,
        verdict: &Verdict,
        reason: Option<GiveUp>,
    ) -> Handed<RB> {
        let summary = self.end(verdict, reason);
        match outcome {
            Ok(mut response) => {
                if reason.is_some() || self.attempts > 1 {
                    response.extensions_mut().insert(summary);
                }
                Ok(response.map(ResponseBody::passed))
            }
            Err(error) if self.config.is_off() => Err(error),
            Err(error) => Err(RetryError::new(summary, error).into()),
        }
    }

    /// Hands up the outcome of the try before: the next one is not possible, `because` of this error if it was one.
    pub(super) fn hand_back(&mut self, reason: GiveUp, because: Option<BoxError>) -> Handed<RB> {
        match self.earlier.take() {
            Some(Earlier::Reply { mut parts, frames, verdict }) => {
                parts.extensions.insert(self.end(&verdict, Some(reason)));
                Ok(Response::from_parts(*parts, ResponseBody::kept(frames)))
            }
            Some(Earlier::Error { error, verdict }) => {
                Err(RetryError::new(self.end(&verdict, Some(reason)), error).into())
            }
            Some(Earlier::Gone { verdict }) => {
                let summary = self.end(&verdict, Some(reason));
                let gone = ReplyGone::new(verdict.status, because);
                Err(RetryError::new(summary, Failed::new(verdict, gone).into()).into())
            }
            None => Err(because.unwrap_or_else(|| ReplyGone::new(None, None).into())),
        }
    }

    fn end(&mut self, verdict: &Verdict, reason: Option<GiveUp>) -> RetryOutcome {
        if let Some(kept) = self.kept.take() {
            kept.body().stop_recording();
        }
        self.earlier = None;
        self.paid = None;
        if let Some(reason) = reason {
            self.policy.tell(&RetryEvent::GiveUp { attempts: self.attempts, verdict, reason });
        }
        RetryOutcome { attempts: self.attempts, class: verdict.class, reason, wait: verdict.wait }
    }
}

#[cfg(feature = "deadline")]
fn limit(head: &request::Parts, within: Option<Instant>) -> Option<Instant> {
    let deadline = head.extensions.get::<crate::deadline::Deadline>().map(|deadline| deadline.instant());
    match (deadline, within) {
        (Some(deadline), Some(within)) => Some(deadline.min(within)),
        (deadline, within) => deadline.or(within),
    }
}

#[cfg(not(feature = "deadline"))]
fn limit(_head: &request::Parts, within: Option<Instant>) -> Option<Instant> {
    within
}
