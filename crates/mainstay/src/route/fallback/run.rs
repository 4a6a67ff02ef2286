//! One call on its way over the targets.

use super::{
    super::{
        attempt::{AskedModel, AttemptLog},
        failed::CallFailed,
        recover::{Continue, RecoverBody},
        target::{ReplyBody, Target},
    },
    Fallback, Refusal, Served,
    refusal::rejected,
};
use crate::{body::RequestBody, peek::Call, translate::Untranslatable};
use http::{Request, Response, StatusCode, request::Parts};
use http_body_util::BodyExt;
use mainstay_layers::{
    BoxError,
    classify::{Class, Classify, Head, HttpClassifier, Verdict},
    deadline::{Deadline, DeadlineExceeded},
    error::find_cause,
    retry::NextTarget,
};
use std::sync::Arc;
use tower::ServiceExt;

/// One call, and what became of it so far.
pub(in super::super) struct Run {
    pub(in super::super) fallback: Fallback,
    /// What every target's request is made from; taken for the last one.
    parts: Option<Parts>,
    pub(in super::super) body: RequestBody,
    pub(in super::super) call: Option<Call>,
    pub(in super::super) log: AttemptLog,
    deadline: Option<Deadline>,
}

/// How one target ended.
pub(in super::super) enum Outcome {
    Answered(Response<ReplyBody>),
    Failed(Verdict, Option<BoxError>),
}

impl Run {
    pub(super) fn new(fallback: Fallback, request: Request<RequestBody>) -> Self {
        let (mut parts, body) = request.into_parts();
        let log = parts.extensions.get_or_insert_default::<AttemptLog>().clone();
        let call = parts.extensions.get::<Call>().cloned();
        let deadline = Deadline::of(&parts.extensions);
        Self { fallback, parts: Some(parts), body, call, log, deadline }
    }

    /// Asks until one answers.
    pub(super) async fn first(mut self) -> Result<Response<ReplyBody>, Box<CallFailed>> {
        let targets = self.fallback.settings().targets.clone();
        let mut last: Option<(Verdict, Option<BoxError>)> = None;
        let mut refusal: Option<Refusal> = None;

        for (at, target) in targets.iter().enumerate() {
            if let Some(why) = self.passes_by(target) {
                refusal = Some(why.or_sooner(refusal));
                continue;
            }
            if self.is_late() {
                last = Some((Class::Timeout.into(), Some(DeadlineExceeded::unsent().into())));
                break;
            }
            let rest = targets.get(at + 1..).unwrap_or_default();
            let next = self.any_of(rest);
            let model = self.model_of(target);
            let Some(request) = self.request(&model, next, rest.is_empty()) else { break };
            match ask(target, request).await {
                Outcome::Answered(response) => return Ok(self.answer(response, target, model, rest)),
                Outcome::Failed(verdict, Some(source))
                    if find_cause::<Untranslatable>(&*source).is_some() =>
                {
                    let why = Refusal::untranslatable(&verdict, source);
                    self.log.refused(why.entry(target, model));
                    refusal = Some(why.or_sooner(refusal));
                }
                Outcome::Failed(verdict, source) => {
                    let goes_on = verdict.falls_back();
                    self.note_failure(&targets, target, model, &verdict, source.as_ref());
                    if goes_on && next {
                        self.fallback.settings().observer.fallback(&target.name, verdict.class);
                        tracing::debug!(from = %target.name, class = %verdict.class, "falling back");
                    }
                    last = Some((verdict, source));
                    if !goes_on {
                        break;
                    }
                }
            }
        }
        Err(Box::new(match (last, refusal) {
            (Some((verdict, source)), _) => CallFailed::new(&self.log, verdict, source),
            (None, Some(refusal)) => refusal.into_failed(&self.log),
            (None, None) => {
                CallFailed::new(&self.log, Class::Rejected.into(), Some("the route has no targets".into()))
            }
        }))
    }

    /// The answer as the caller gets it.
    fn answer(
        self,
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
        let plan = Continue::new(self, target.name.clone(), rest);
        response.map(|body| RecoverBody::new(body, dialect, plan).boxed_unsync())
    }

    /// Why a target is not asked now, if it is not; that is listed.
    pub(in super::super) fn passes_by(&self, target: &Target) -> Option<Refusal> {
        let skip = target.skip(self.call.as_ref())?;
        let why = Refusal::of(&skip);
        self.log.refused(why.entry(target, self.model_of(target)));
        Some(why)
    }

    /// What others are to know of a failure.
    pub(in super::super) fn note_failure(
        &self,
        targets: &[Target],
        target: &Target,
        model: Arc<str>,
        verdict: &Verdict,
        source: Option<&BoxError>,
    ) {
        if verdict.class == Class::Rejected {
            self.log.refused(rejected(target, model, verdict, source));
        }
        let status = verdict.status.unwrap_or(StatusCode::TOO_MANY_REQUESTS);
        // Whoever else could answer meanwhile, wherever it stands in the order.
        let another =
            targets.iter().any(|other| other.name != target.name && other.skip(self.call.as_ref()).is_none());
        target.cooldown().begin(status, verdict, another, target.scope());
    }

    pub(in super::super) fn is_late(&self) -> bool {
        self.deadline.is_some_and(Deadline::has_passed)
    }

    /// Whether one of these would be asked now.
    pub(in super::super) fn any_of(&self, targets: &[Target]) -> bool {
        targets.iter().any(|target| target.skip(self.call.as_ref()).is_none())
    }

    pub(in super::super) fn model_of(&self, target: &Target) -> Arc<str> {
        target.model(self.call.as_ref().map(|call| &call.model))
    }

    /// What is known of the request.
    pub(in super::super) fn parts(&mut self) -> Option<&mut Parts> {
        self.parts.as_mut()
    }

    /// The request for one target: everything of its own, nothing left of the target before. Nothing is kept behind the
    /// last one.
    pub(in super::super) fn request(
        &mut self,
        model: &Arc<str>,
        next: bool,
        last: bool,
    ) -> Option<Request<RequestBody>> {
        let body = match &self.call {
            Some(call) => call.rename(&self.body, model),
            None => self.body.clone(),
        };
        let mut parts = if last { self.parts.take()? } else { self.parts.clone()? };
        parts.extensions.insert(NextTarget(next));
        parts.extensions.insert(AskedModel(model.clone()));
        Some(Request::from_parts(parts, body))
    }
}

pub(in super::super) async fn ask(target: &Target, request: Request<RequestBody>) -> Outcome {
    let classifier = HttpClassifier::new();
    match target.stack.clone().oneshot(request).await {
        Ok(response) => {
            let mut verdict = classifier.head(Head::of(&response));
            if verdict.is_success() {
                return Outcome::Answered(response);
            }
            verdict.status.get_or_insert(response.status());
            Outcome::Failed(verdict, None)
        }
        Err(error) => Outcome::Failed(classifier.error(&*error), Some(error)),
    }
}
