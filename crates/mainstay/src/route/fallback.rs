//! One call over a route's targets, in order, until one answers.

use super::{
    attempt::{AskedModel, Attempt, AttemptLog, Observe, TargetName},
    failed::CallFailed,
    target::{ReplyBody, Skip, Target},
};
use crate::{body::RequestBody, peek::Call, translate::Untranslatable};
use http::{Request, Response, StatusCode, request};
use mainstay_layers::{
    BoxError,
    breaker::CircuitOpen,
    classify::{Class, Classify, Head, HttpClassifier, Verdict},
    deadline::{Deadline, DeadlineExceeded},
    error::find_cause,
    retry::NextTarget,
};
use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tower::ServiceExt;
use tower_service::Service;

/// Who answered, in the extensions of a reply.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Served {
    /// The target that answered.
    pub target: Arc<TargetName>,
    /// The model that was asked of it.
    pub model: Arc<str>,
    /// How many tries were made, at all targets.
    pub tries: u32,
}

/// Asks one target after another until one answers.
///
/// Always ready: a target's own readiness is driven when it is asked, and an open circuit or a cooling target is passed by
/// in nanoseconds. The caller's own mistakes go back at once; see the table of [`Class`]. A request body is held in memory,
/// so each target gets the whole of it.
///
/// # Errors
/// [`CallFailed`], boxed, if none answers.
#[derive(Clone)]
pub struct Fallback {
    targets: Arc<[Target]>,
    observer: Arc<dyn Observe>,
}

impl Fallback {
    /// Asks `targets` in this order.
    pub fn new(targets: impl Into<Arc<[Target]>>) -> Self {
        Self { targets: targets.into(), observer: Arc::new(()) }
    }

    /// Tells `observer` when a call goes on to another target.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn Observe>) -> Self {
        self.observer = observer;
        self
    }

    /// The targets, in order.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback").field("targets", &self.targets).finish_non_exhaustive()
    }
}

impl Service<Request<RequestBody>> for Fallback {
    type Response = Response<ReplyBody>;
    type Error = BoxError;
    type Future = FallbackFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> FallbackFuture {
        let this = self.clone();
        FallbackFuture(Box::pin(async move { this.run(request).await.map_err(|failed| failed as BoxError) }))
    }
}

/// The future of [`Fallback`].
pub struct FallbackFuture(Pin<Box<dyn Future<Output = Result<Response<ReplyBody>, BoxError>> + Send>>);

impl fmt::Debug for FallbackFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FallbackFuture")
    }
}

impl Future for FallbackFuture {
    type Output = Result<Response<ReplyBody>, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

/// How one target ended.
enum Outcome {
    Answered(Response<ReplyBody>),
    Failed(Verdict, Option<BoxError>),
}

impl Fallback {
    async fn run(self, request: Request<RequestBody>) -> Result<Response<ReplyBody>, Box<CallFailed>> {
        let (mut parts, body) = request.into_parts();
        let log = parts.extensions.get_or_insert_default::<AttemptLog>().clone();
        let call = parts.extensions.get::<Call>().cloned();
        let mut last: Option<(Verdict, Option<BoxError>)> = None;
        let mut refusal: Option<Refusal> = None;

        for (at, target) in self.targets.iter().enumerate() {
            let model = target.model(call.as_ref().map(|call| &call.model));
            if let Some(skip) = target.skip(call.as_ref()) {
                let why = Refusal::of(&skip);
                log.refused(why.entry(target, model));
                refusal = Some(match refusal {
                    Some(other) => other.sooner(why),
                    None => why,
                });
                continue;
            }
            if let Some(deadline) = parts.extensions.get::<Deadline>() {
                if deadline.has_passed() {
                    last = Some((Class::Timeout.into(), Some(DeadlineExceeded::unsent().into())));
                    break;
                }
            }
            let next = self.next_available(at, call.as_ref());
            let request = self.request(&parts, &body, call.as_ref(), &model, next);
            match ask(target, request).await {
                Outcome::Answered(mut response) => {
                    let tries = log.tries();
                    response.extensions_mut().insert(Served { target: target.name.clone(), model, tries });
                    return Ok(response);
                }
                Outcome::Failed(verdict, Some(source))
                    if find_cause::<Untranslatable>(&*source).is_some() =>
                {
                    let why = Refusal::untranslatable(verdict, source);
                    log.refused(why.entry(target, model));
                    refusal = Some(match refusal {
                        Some(other) => other.sooner(why),
                        None => why,
                    });
                }
                Outcome::Failed(verdict, source) => {
                    if verdict.class == Class::Rejected {
                        log.refused(rejected(target, model, &verdict, source.as_ref()));
                    }
                    let status = verdict.status.unwrap_or(StatusCode::TOO_MANY_REQUESTS);
                    target.cooldown().begin(status, &verdict, next, target.scope());
                    let goes_on = verdict.falls_back();
                    if goes_on && next {
                        self.observer.fallback(&target.name, verdict.class);
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
            (Some((verdict, source)), _) => CallFailed::new(&log, verdict, source),
            (None, Some(refusal)) => refusal.into_failed(&log),
            (None, None) => {
                CallFailed::new(&log, Class::Rejected.into(), Some("the route has no targets".into()))
            }
        }))
    }

    /// Whether a target after `at` would be asked now.
    fn next_available(&self, at: usize, call: Option<&Call>) -> bool {
        self.targets.iter().skip(at + 1).any(|target| target.skip(call).is_none())
    }

    /// The request for one target: everything of its own, nothing left of the target before.
    fn request(
        &self,
        parts: &request::Parts,
        body: &RequestBody,
        call: Option<&Call>,
        model: &Arc<str>,
        next: bool,
    ) -> Request<RequestBody> {
        let body = match call {
            Some(call) => call.rename(body, model),
            None => body.clone(),
        };
        let mut parts = parts.clone();
        parts.extensions.insert(NextTarget(next));
        parts.extensions.insert(AskedModel(model.clone()));
        Request::from_parts(parts, body)
    }
}

async fn ask(target: &Target, request: Request<RequestBody>) -> Outcome {
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

/// The entry of a target whose own circuit or queue refused the call.
fn rejected(target: &Target, model: Arc<str>, verdict: &Verdict, source: Option<&BoxError>) -> Attempt {
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

/// Why a target was passed by, and what the caller is told if that holds for all.
struct Refusal {
    class: &'static str,
    status: StatusCode,
    verdict: Verdict,
    source: Option<BoxError>,
}

impl Refusal {
    fn of(skip: &Skip) -> Self {
        match skip {
            Skip::Unsupported => Self {
                class: "unsupported",
                status: StatusCode::BAD_REQUEST,
                verdict: Verdict::new(Class::InvalidRequest)
                    .with_code(Some("unsupported_by_target"))
                    .with_message(Some("the target does not have this endpoint")),
                source: None,
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
    fn untranslatable(verdict: Verdict, source: BoxError) -> Self {
        let verdict = Verdict::new(Class::InvalidRequest)
            .with_code(verdict.code.as_deref())
            .with_message(verdict.message.as_deref());
        Self { class: "unsupported", status: StatusCode::BAD_REQUEST, verdict, source: Some(source) }
    }

    /// Of two, the one that ends sooner; a target that does not speak the dialect counts only where all are so.
    fn sooner(self, other: Self) -> Self {
        match (self.verdict.wait, other.verdict.wait) {
            (Some(a), Some(b)) if b < a => other,
            (None, Some(_)) => other,
            _ => self,
        }
    }

    fn entry(&self, target: &Target, model: Arc<str>) -> Attempt {
        Attempt {
            provider: target.name.provider.clone(),
            model,
            status: None,
            class: self.class,
            message: self.verdict.message.clone(),
            took: Duration::ZERO,
        }
    }

    fn into_failed(self, log: &AttemptLog) -> CallFailed {
        let untranslatable = self
            .source
            .as_deref()
            .and_then(|source| find_cause::<Untranslatable>(source))
            .map(|why| why.code);
        let code = match self.class {
            "unsupported" => untranslatable.unwrap_or("unsupported_by_target"),
            "cooling" => self.verdict.class.as_str(),
            other => other,
        };
        CallFailed::new(log, self.verdict, self.source).with_status(self.status, code)
    }
}
