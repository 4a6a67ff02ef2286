//! What happened at each try, for the error of all targets, for headers and for metrics.
//!
//! [`AttemptLayer`] stands inside retry and breaker and outside the judge, so that it sees each try once and whole: a
//! stream's try ends when the stream does.

use super::pace::Pace;
use crate::{
    dialect::{self, Usage},
    judge::UsageCell,
};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use mainstay_layers::{
    BoxError,
    classify::{Class, Classify, Head, HttpClassifier, Verdict},
    retry,
};
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

/// More tries than this are counted, but not listed.
const MAX_LISTED: usize = 64;

/// The names of a target, as configuration gave them. Labels of metrics come from here and never from callers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TargetName {
    /// The provider's name.
    pub provider: Arc<str>,
    /// The model that is asked of it, where the target names one.
    pub model: Option<Arc<str>>,
}

impl TargetName {
    /// Splits `provider/model` or `provider`: exactly the first segment is the provider.
    pub fn parse(text: &str) -> Self {
        match text.split_once('/') {
            Some((provider, model)) => Self { provider: provider.into(), model: Some(model.into()) },
            None => Self { provider: text.into(), model: None },
        }
    }
}

impl std::fmt::Display for TargetName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.provider)?;
        match &self.model {
            Some(model) => write!(f, "/{model}"),
            None => Ok(()),
        }
    }
}

/// The model that a fallback asks of a target, in the request's extensions.
#[derive(Clone, Debug)]
pub(crate) struct AskedModel(pub(crate) Arc<str>);

/// The end of one try.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attempt {
    /// The provider's name.
    pub provider: Arc<str>,
    /// The model that was asked of it.
    pub model: Arc<str>,
    /// The status of its reply, if it replied; of an error inside a 200, the status that it stands for.
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
            message: self.message.as_deref().unwrap_or_default().to_owned(),
            ms: u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
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

    /// Lists something that was no try: a refusal of our own.
    pub fn refused(&self, attempt: Attempt) {
        let mut inner = self.0.lock();
        if inner.listed.len() < MAX_LISTED {
            inner.listed.push(attempt);
        }
    }

    fn begin(&self) {
        let mut inner = self.0.lock();
        inner.tries = inner.tries.saturating_add(1);
    }

    fn fail(&self, attempt: Attempt, reply: Option<LastReply>) {
        let mut inner = self.0.lock();
        if reply.is_some() {
            inner.last = reply;
        }
        if inner.listed.len() < MAX_LISTED {
            inner.listed.push(attempt);
        }
    }
}

/// Who is told of each try.
pub trait Observe: Send + Sync {
    /// A try ended. For a stream that is its end, not its head.
    fn attempt(&self, target: &TargetName, class: Class, took: Duration) {
        let _ = (target, class, took);
    }
    /// A try that is not the first one at its target began.
    fn retry(&self, target: &TargetName) {
        let _ = target;
    }
    /// The first content came.
    fn first_content(&self, target: &TargetName, took: Duration) {
        let _ = (target, took);
    }
    /// A call went on to another target after `class` at this one.
    fn fallback(&self, from: &TargetName, class: Class) {
        let _ = (from, class);
    }
    /// A second call for the same one was begun at `to`, since no content had come.
    fn hedge(&self, to: &TargetName) {
        let _ = to;
    }
    /// A try failed, or was given up, before anything of its reply had reached the caller, and had told its tokens.
    /// Told only of calls that have a [`UsageCell`].
    fn wasted(&self, target: &TargetName, usage: &Usage) {
        let _ = (target, usage);
    }
    /// A stream was cut at `from` after its first content, and `to` goes on with it; `None`: nobody could.
    fn recovery(&self, from: &TargetName, to: Option<&TargetName>) {
        let _ = (from, to);
    }
}

/// Nobody.
impl Observe for () {}

/// Records each try at a target in the request's [`AttemptLog`] and tells an [`Observe`]r.
#[derive(Clone)]
pub struct AttemptLayer {
    target: Arc<TargetName>,
    observer: Arc<dyn Observe>,
    pace: Pace,
}

impl AttemptLayer {
    /// Records tries at `target`.
    pub fn new(target: Arc<TargetName>, observer: Arc<dyn Observe>) -> Self {
        Self { target, observer, pace: Pace::default() }
    }

    /// Writes the times to first content down in `pace`.
    #[must_use]
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }
}

impl std::fmt::Debug for AttemptLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AttemptLayer").field("target", &self.target).finish_non_exhaustive()
    }
}

impl<S> Layer<S> for AttemptLayer {
    type Service = AttemptService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        AttemptService { inner, layer: self.clone() }
    }
}

/// The service of [`AttemptLayer`].
#[derive(Clone, Debug)]
pub struct AttemptService<S> {
    inner: S,
    layer: AttemptLayer,
}

impl<S, B, RB> Service<Request<B>> for AttemptService<S>
where
    S: Service<Request<B>, Response = Response<RB>>,
    S::Error: Into<BoxError>,
    RB: Body,
{
    type Response = Response<AttemptBody<RB>>;
    type Error = BoxError;
    type Future = AttemptFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let usage = request.extensions_mut().get_mut::<UsageCell>().map(TryUsage::new);
        let extensions = request.extensions();
        let log = extensions.get::<AttemptLog>().cloned().unwrap_or_default();
        let model = match extensions.get::<AskedModel>() {
            Some(AskedModel(model)) => model.clone(),
            None => self.layer.target.model.clone().unwrap_or_else(|| Arc::from("")),
        };
        if extensions.get::<retry::Attempt>().is_some_and(|attempt| attempt.number > 1) {
            self.layer.observer.retry(&self.layer.target);
        }
        log.begin();
        let record =
            Record { layer: self.layer.clone(), log, model, since: Instant::now(), open: true, usage };
        AttemptFuture { inner: self.inner.call(request), record: Some(record) }
    }
}

/// A verdict that says what happened, in the error's own words where it has none.
fn in_words(mut verdict: Verdict, error: &BoxError) -> Verdict {
    verdict.message.get_or_insert_with(|| error.to_string().into());
    verdict
}

/// One try that is under way. Dropped while open, it was the caller who left.
#[derive(Debug)]
struct Record {
    layer: AttemptLayer,
    log: AttemptLog,
    model: Arc<str>,
    since: Instant,
    open: bool,
    usage: Option<TryUsage>,
}

/// The tokens of one try, apart from those of the call: what a failed try used is not the answer's.
#[derive(Debug)]
struct TryUsage {
    call: UsageCell,
    own: UsageCell,
    /// Something of the reply goes to the caller.
    handed_on: bool,
}

impl TryUsage {
    /// Puts a cell of the try's own in place of the call's, for the judge below to write to.
    fn new(cell: &mut UsageCell) -> Self {
        let own = UsageCell::default();
        Self { call: std::mem::replace(cell, own.clone()), own, handed_on: false }
    }
}

impl Record {
    fn succeed(&mut self) {
        self.hand_on();
        self.end(Class::Success);
    }

    /// From now on the reply is the caller's.
    fn hand_on(&mut self) {
        if let Some(usage) = &mut self.usage {
            usage.handed_on = true;
        }
    }

    fn fail(&mut self, verdict: &Verdict, status: Option<StatusCode>, reply: Option<LastReply>) {
        if !self.open {
            return;
        }
        self.log.fail(
            Attempt {
                provider: self.layer.target.provider.clone(),
                model: self.model.clone(),
                status,
                class: verdict.class.as_str(),
                message: verdict.message.clone(),
                took: self.since.elapsed(),
            },
            reply,
        );
        tracing::debug!(
            provider = &*self.layer.target.provider,
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
            self.layer.observer.attempt(&self.layer.target, class, self.since.elapsed());
        }
    }

    fn settle_usage(&mut self) {
        let Some(TryUsage { call, own, handed_on }) = self.usage.take() else { return };
        let usage = own.get();
        if usage == Usage::default() {
            return;
        }
        if handed_on {
            call.set(usage);
        } else {
            self.layer.observer.wasted(&self.layer.target, &usage);
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.end(Class::Cancelled);
    }
}

pin_project! {
    /// The future of [`AttemptService`].
    #[derive(Debug)]
    pub struct AttemptFuture<F> {
        #[pin]
        inner: F,
        record: Option<Record>,
    }
}

impl<F, E, RB> Future for AttemptFuture<F>
where
    F: Future<Output = Result<Response<RB>, E>>,
    E: Into<BoxError>,
    RB: Body,
{
    type Output = Result<Response<AttemptBody<RB>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let outcome = ready!(this.inner.poll(cx));
        let mut record = this.record.take();
        let classifier = HttpClassifier::new();
        match outcome {
            Err(error) => {
                let error = error.into();
                if let Some(record) = &mut record {
                    record.fail(&in_words(classifier.error(&*error), &error), None, None);
                }
                Poll::Ready(Err(error))
            }
            Ok(response) => {
                let verdict = classifier.head(Head::of(&response));
                if let Some(record) = &mut record {
                    if !verdict.is_success() {
                        let status = verdict.status.unwrap_or(response.status());
                        let body = response.extensions().get::<crate::judge::ErrorBody>();
                        let reply = body.map(|body| LastReply {
                            provider: record.layer.target.provider.clone(),
                            status,
                            headers: response.headers().clone(),
                            body: body.0.clone(),
                            verdict: verdict.clone(),
                        });
                        record.fail(&verdict, Some(status), reply);
                    } else if response.body().size_hint().exact().is_some() {
                        // It is here whole: what the caller does with it says nothing about the provider.
                        record.layer.pace.record(false, record.since.elapsed());
                        record.succeed();
                    } else {
                        let took = record.since.elapsed();
                        record.hand_on();
                        record.layer.pace.record(true, took);
                        record.layer.observer.first_content(&record.layer.target, took);
                    }
                }
                let record = record.filter(|record| record.open);
                Poll::Ready(Ok(response.map(|inner| AttemptBody { inner, record })))
            }
        }
    }
}

pin_project! {
    /// A body whose end ends the record of its try.
    #[derive(Debug)]
    pub struct AttemptBody<B> {
        #[pin]
        inner: B,
        record: Option<Record>,
    }
}

impl<B> Body for AttemptBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let mut this = self.project();
        match ready!(this.inner.as_mut().poll_frame(cx)) {
            Some(Ok(frame)) => {
                if this.inner.is_end_stream() {
                    if let Some(mut record) = this.record.take() {
                        record.succeed();
                    }
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => {
                let error = error.into();
                if let Some(mut record) = this.record.take() {
                    record.fail(&in_words(HttpClassifier::new().error(&*error), &error), None, None);
                }
                Poll::Ready(Some(Err(error)))
            }
            None => {
                if let Some(mut record) = this.record.take() {
                    record.succeed();
                }
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{body::RequestBody, judge::JudgeLayer, provider::Kind};
    use http_body_util::BodyExt;
    use mainstay_layers::retry::RetryLayer;
    use mainstay_testkit::{
        bodies,
        memory::{FaultBody, Reply, ScriptedService},
    };
    use tower::{ServiceBuilder, ServiceExt};

    #[derive(Default)]
    struct Wasted(Mutex<Usage>);

    impl Observe for Wasted {
        fn wasted(&self, _: &TargetName, usage: &Usage) {
            let mut all = self.0.lock();
            *all = *all + *usage;
        }
    }

    /// The tokens of the answer, and those that were wasted, as input and output.
    async fn counted(replies: impl IntoIterator<Item = Reply>, read_to_the_end: bool) -> [Option<u64>; 4] {
        let wasted = Arc::new(Wasted::default());
        let stack = ServiceBuilder::new()
            .layer(RetryLayer::new())
            .layer(AttemptLayer::new(Arc::new("a".into()), wasted.clone()))
            .layer(JudgeLayer::new(Kind::Anthropic))
            .service(ScriptedService::new(replies));
        let cell = UsageCell::default();
        let mut request = Request::post("/v1/messages").body(RequestBody::default()).unwrap();
        request.extensions_mut().insert(cell.clone());
        let reply = stack.oneshot(request).await.unwrap();
        if read_to_the_end {
            let _ = reply.into_body().collect().await;
        } else {
            drop(reply);
        }
        let (answer, wasted) = (cell.get(), *wasted.0.lock());
        [answer.input, answer.output, wasted.input, wasted.output]
    }

    fn stream(events: usize, end: FaultBody) -> Reply {
        Reply::sse(bodies::anthropic_events(["Hel", "lo"]).into_iter().take(events), end)
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_failed_try_used_is_told_apart_from_the_answer() {
        let [input, output, ..] = counted([stream(99, FaultBody::new())], true).await;
        assert!(input.is_some() && output.is_some());
        // The question is told with the head of the stream, before anything of the answer.
        let cut = stream(1, FaultBody::new().fail("reset"));
        let counts = counted([cut, stream(99, FaultBody::new())], true).await;
        assert_eq!((counts[..2].to_vec(), counts[2]), (vec![input, output], input));
    }

    #[tokio::test(start_paused = true)]
    async fn what_reached_the_caller_is_not_wasted_however_it_ended() {
        for (end, read) in [(FaultBody::new().fail("reset"), true), (FaultBody::new().silence(), false)] {
            let [input, _, wasted, _] = counted([stream(4, end)], read).await;
            assert!(input.is_some() && wasted.is_none(), "{read}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_tokens_of_a_whole_reply_are_known_with_its_head() {
        let [input, output, ..] = counted([Reply::json(200, &bodies::anthropic_message("hi"))], false).await;
        assert!(input.is_some() && output.is_some());
    }
}
