//! What a call does with one target.

use super::{
    super::{
        super::{attempt::AskedModel, options::Failover, target::Target},
        Refusal,
        refusal::rejected,
    },
    Outcome, Run,
};
use crate::body::RequestBody;
use http::{Request, StatusCode, request::Parts};
use mainstay_layers::{
    BoxError,
    classify::{Class, Classify, Head, HttpClassifier, Verdict},
    deadline::Deadline,
    retry::{NextTarget, RetryConfig},
};
use std::{future::Future, sync::Arc};
use tower::{Service, ServiceExt};

impl Run {
    /// Why a target is not asked now, if it is not; that is listed.
    pub(in super::super::super) fn passes_by(&self, target: &Target) -> Option<Refusal> {
        let skip = target.skip(self.asks())?;
        let why = Refusal::of(&skip);
        self.log.refused(why.entry(target, self.model_of(target)));
        Some(why)
    }

    /// What others are to know of a failure.
    pub(in super::super::super) fn note_failure(
        &self,
        targets: &[Target],
        target: &Target,
        model: Arc<str>,
        verdict: &Verdict,
        source: Option<&BoxError>,
    ) {
        if verdict.class == Class::Rejected {
            self.log.refused(rejected(target, model.clone(), verdict, source));
        }
        let status = verdict.status.unwrap_or(StatusCode::TOO_MANY_REQUESTS);
        // Whoever else could answer meanwhile, wherever it stands in the order.
        let another =
            targets.iter().any(|other| other.name != target.name && other.skip(self.asks()).is_none());
        target.cool(status, verdict, another, &model);
    }

    /// Takes from the budget of a target for what follows on a failed try there.
    pub(in super::super::super) fn charge(&self, target: &Target) {
        if let Some(parts) = &self.parts {
            target.charge(parts, &self.body);
        }
    }

    /// Whether there is the budget for a hedge to this target; if so it is paid for.
    pub(in super::super) fn may_hedge(&self, target: &Target) -> bool {
        self.parts.as_ref().is_some_and(|parts| target.may_hedge(parts, &self.body))
    }

    pub(in super::super::super) fn is_late(&self) -> bool {
        self.deadline.is_some_and(Deadline::has_passed)
    }

    /// Whether one of these would be asked now.
    pub(in super::super::super) fn any_of(&self, targets: &[Target]) -> bool {
        targets.iter().any(|target| target.skip(self.asks()).is_none())
    }

    pub(in super::super::super) fn model_of(&self, target: &Target) -> Arc<str> {
        target.model(self.call.as_ref().map(|call| &call.model))
    }

    /// What is known of the request.
    pub(in super::super::super) fn parts(&mut self) -> Option<&mut Parts> {
        self.parts.as_mut()
    }

    /// The request for one target: everything of its own, nothing left of the target before. Nothing is kept behind the
    /// last one.
    pub(in super::super::super) fn request(
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
        if next && self.fallback.settings().failover == Failover::AtOnce {
            let mut once = RetryConfig::new();
            once.attempts = 1;
            parts.extensions.insert(once);
        }
        parts.extensions.insert(AskedModel(model.clone()));
        Some(Request::from_parts(parts, body))
    }
}

/// Asks one target.
pub(in super::super::super) fn ask(
    target: &Target,
    request: Request<RequestBody>,
) -> impl Future<Output = Outcome> + Send + use<> {
    let mut stack = target.stack.clone();
    // No `async fn`: that would keep a second place for the request.
    async move {
        let answer = match stack.ready().await {
            Ok(ready) => ready.call(request).await,
            Err(error) => Err(error),
        };
        let classifier = HttpClassifier::new();
        match answer {
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
}
