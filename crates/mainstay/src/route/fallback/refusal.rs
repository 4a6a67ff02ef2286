//! Targets that are passed by without being asked.

use super::super::{
    attempt::{Attempt, AttemptLog},
    capability::Incapable,
    failed::CallFailed,
    target::{Skip, Target},
};
use crate::translate::Untranslatable;
use http::StatusCode;
use mainstay_layers::{
    BoxError,
    breaker::CircuitOpen,
    classify::{Class, Verdict},
    error::find_cause,
};
use std::{sync::Arc, time::Duration};

/// Why a target was passed by, and what the caller is told if that holds for all.
pub(in super::super) struct Refusal {
    class: &'static str,
    status: StatusCode,
    verdict: Verdict,
    source: Option<BoxError>,
}

impl Refusal {
    pub(in super::super) fn of(skip: &Skip) -> Self {
        match skip {
            Skip::Unsupported => Self {
                class: "unsupported",
                status: StatusCode::BAD_REQUEST,
                verdict: Verdict::new(Class::InvalidRequest)
                    .with_code(Some("unsupported_by_target"))
                    .with_message(Some("the target does not have this endpoint")),
                source: None,
            },
            Skip::Incapable(why) => Self {
                class: "unsupported",
                status: StatusCode::BAD_REQUEST,
                verdict: Verdict::new(Class::InvalidRequest)
                    .with_code(Some(why.code()))
                    .with_message(Some(&*why.to_string())),
                source: Some(why.clone().into()),
            },
            Skip::Open { retry_in } => Self {
                class: "circuit_open",
                status: StatusCode::SERVICE_UNAVAILABLE,
                verdict: Verdict::new(Class::Rejected)
                    .with_wait(Some(*retry_in))
                    .with_message(Some("the provider's circuit is open after repeated failures")),
                source: None,
            },
            Skip::Cooling(cooling) => Self {
                class: "cooling",
                status: cooling.status,
                verdict: cooling.verdict.clone().with_wait(Some(cooling.left)),
                source: None,
            },
        }
    }

    /// The call cannot be written in the target's dialect.
    pub(super) fn untranslatable(verdict: &Verdict, source: BoxError) -> Self {
        let verdict = Verdict::new(Class::InvalidRequest)
            .with_code(verdict.code.as_deref())
            .with_message(verdict.message.as_deref());
        Self { class: "unsupported", status: StatusCode::BAD_REQUEST, verdict, source: Some(source) }
    }

    /// Of two, the one that ends sooner; a target that cannot take the call counts only where all are so.
    pub(super) fn soonest(known: Option<Self>, other: Self) -> Self {
        let Some(known) = known else { return other };
        match (known.verdict.wait, other.verdict.wait) {
            (Some(a), Some(b)) if b < a => other,
            (None, Some(_)) => other,
            _ => known,
        }
    }

    /// How long it holds, if it ends by itself.
    pub(super) fn wait(&self) -> Option<Duration> {
        self.verdict.wait
    }

    pub(in super::super) fn entry(&self, target: &Target, model: Arc<str>) -> Attempt {
        Attempt {
            provider: target.name.provider.clone(),
            model,
            status: None,
            class: self.class,
            message: self.verdict.message.clone(),
            took: Duration::ZERO,
        }
    }

    pub(in super::super) fn into_failed(self, log: &AttemptLog) -> CallFailed {
        let source = self.source.as_deref();
        let untranslatable =
            source.and_then(|source| find_cause::<Untranslatable>(source)).map(|why| why.code);
        let incapable = source.and_then(|source| find_cause::<Incapable>(source)).map(Incapable::code);
        let code = match self.class {
            "unsupported" => untranslatable.or(incapable).unwrap_or("unsupported_by_target"),
            "cooling" => self.verdict.class.as_str(),
            other => other,
        };
        CallFailed::new(log, self.verdict, self.source).with_status(self.status, code)
    }
}

/// The entry of a target whose own circuit or queue refused the call.
pub(super) fn rejected(
    target: &Target,
    model: Arc<str>,
    verdict: &Verdict,
    source: Option<&BoxError>,
) -> Attempt {
    let open = source.is_some_and(|error| find_cause::<CircuitOpen>(&**error).is_some());
    Attempt {
        provider: target.name.provider.clone(),
        model,
        status: None,
        class: if open { "circuit_open" } else { "overloaded" },
        message: verdict.message.clone().or_else(|| source.map(|error| error.to_string().into())),
        took: Duration::ZERO,
    }
}
