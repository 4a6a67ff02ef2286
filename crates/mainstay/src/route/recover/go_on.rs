//! Asking the next target to go on.

use super::{
    super::{
        attempt::TargetName,
        fallback::{Outcome, Run, ask},
        target::{ReplyBody, Target},
    },
    request::{self, Prefill},
    text::Splice,
};
use crate::{dialect::Dialect, judge::UsageCell, peek::Call};
use http::{HeaderMap, Request, Response, header};
use mainstay_layers::{classify::Class, retry::RetryConfig};
use std::sync::Arc;

/// What it takes to ask the next target to go on.
pub(in super::super) struct Continue {
    run: Box<Run>,
    /// Who speaks now.
    pub(super) from: Arc<TargetName>,
    /// A target at which a try was made, to be charged if another call follows on its failure.
    asked: Option<Target>,
    rest: Vec<Target>,
    usage: UsageCell,
}

/// A target that goes on.
pub(super) struct Continued {
    pub(super) body: ReplyBody,
    pub(super) splice: Splice,
    pub(super) plan: Box<Continue>,
}

impl Continue {
    pub(in super::super) fn new(mut run: Box<Run>, from: &Target, rest: &[Target]) -> Box<Self> {
        let usage = run
            .parts()
            .map(|parts| parts.extensions.get_or_insert_default::<UsageCell>().clone())
            .unwrap_or_default();
        Box::new(Self { run, from: from.name.clone(), asked: Some(from.clone()), rest: rest.to_vec(), usage })
    }

    /// Why nobody can go on, whatever was said so far.
    pub(super) fn obstacle(&self) -> Option<&'static str> {
        if self.rest.is_empty() {
            return Some("no other target is left");
        }
        if self.run.is_late() {
            return Some("the deadline has passed");
        }
        let call = self.run.call.as_ref()?;
        request::obstacle(call, &self.run.body.to_bytes())
    }

    /// Tells who watches.
    pub(super) fn tell(&self, to: Option<&TargetName>) {
        self.run.fallback.settings().observer.recovery(&self.from, to);
    }

    /// Asks the targets that are left to go on behind `text`.
    pub(super) async fn go_on(mut self: Box<Self>, text: String) -> Result<Continued, Box<Self>> {
        // What the cut reply cost stays counted beside what comes.
        self.usage.begin_another();
        let all: Arc<[Target]> = self.run.fallback.settings().targets.clone();
        while !self.rest.is_empty() {
            let target = self.rest.remove(0);
            if self.run.passes_by(&target).is_some() {
                continue;
            }
            if self.run.is_late() {
                break;
            }
            let model = self.run.model_of(&target);
            let mut splice =
                if text.trim().is_empty() { Splice::Blanks(text.clone()) } else { Splice::going_on(&text) };
            let mut asked = self.prefilled(&target, &model, text.trim_end());
            if asked.is_none() && !text.trim().is_empty() {
                splice = Splice::from_start();
            }
            let mut again = false;
            loop {
                // To go on elsewhere is what a fallback is, and to ask once more what a retry is.
                if let Some(failed) = self.asked.take() {
                    self.run.charge(&failed);
                }
                let prefilled = asked.is_some();
                let Some(request) = asked.take().or_else(|| self.plain(&model, again)) else {
                    return Err(self);
                };
                match ask(&target, request).await {
                    Outcome::Answered(response) if is_stream(response.headers()) => {
                        let how = if prefilled { "behind the partial answer" } else { "from the start" };
                        tracing::info!(from = %self.from, to = %target.name, how, bytes = text.len(), "a cut stream goes on");
                        self.tell(Some(&target.name));
                        self.run.log.note_seam();
                        self.from = target.name.clone();
                        self.asked = Some(target);
                        let body = response.into_body();
                        return Ok(Continued { body, splice, plan: self });
                    }
                    // It was asked for a stream and gave none.
                    Outcome::Answered(_) => break,
                    Outcome::Failed(verdict, source) => {
                        self.run.note_failure(&all, &target, model.clone(), &verdict, source.as_ref());
                        self.asked = (verdict.class != Class::Rejected).then(|| target.clone());
                        if !prefilled || !matches!(verdict.class, Class::InvalidRequest) {
                            break;
                        }
                        splice = Splice::from_start();
                        again = true;
                    }
                }
            }
        }
        Err(self)
    }

    /// The request that ends in the partial answer; `None` where the target takes none.
    fn prefilled(
        &mut self,
        target: &Target,
        model: &Arc<str>,
        text: &str,
    ) -> Option<Request<crate::body::RequestBody>> {
        if target.prefill() == Prefill::Never {
            return None;
        }
        let call = self.run.call.clone()?;
        let body = request::prefilled(call.dialect, &self.run.body.to_bytes(), text, target.prefill())?;
        // The path names Gemini's models: there is nothing in the body to find again.
        let call: Call = if call.dialect == Dialect::Gemini { call } else { call.over(&body).ok()? };
        let body = call.rename(&body.into(), model);
        let request = self.request(model)?;
        let (mut parts, _) = request.into_parts();
        parts.extensions.insert(call);
        Some(Request::from_parts(parts, body))
    }

    /// The caller's own request. A target that is asked `again` gets one try.
    fn plain(&mut self, model: &Arc<str>, again: bool) -> Option<Request<crate::body::RequestBody>> {
        let mut request = self.request(model)?;
        if again {
            let mut once = RetryConfig::new();
            once.attempts = 1;
            request.extensions_mut().insert(once);
        }
        Some(request)
    }

    fn request(&mut self, model: &Arc<str>) -> Option<Request<crate::body::RequestBody>> {
        let next = self.run.any_of(&self.rest);
        let mut request = self.run.request(model, next, false)?;
        // It is another request than the one that the caller's key stands for.
        request.headers_mut().remove("idempotency-key");
        Some(request)
    }
}

/// Whether a reply is a stream of events.
pub(in super::super) fn is_stream<'a>(headers: impl Into<&'a HeaderMap>) -> bool {
    let kind = headers.into().get(header::CONTENT_TYPE).map(|kind| kind.as_bytes().trim_ascii_start());
    let stream = b"text/event-stream";
    kind.and_then(|kind| kind.get(..stream.len())).is_some_and(|kind| kind.eq_ignore_ascii_case(stream))
}

/// Whether a reply may be continued, as far as its head tells.
pub(super) fn takes<B>(call: &Call, response: &Response<B>) -> bool {
    use Dialect::{ChatCompletions, Gemini, Messages};
    call.stream
        && matches!(call.dialect, ChatCompletions | Messages | Gemini)
        && is_stream(response.headers())
}
