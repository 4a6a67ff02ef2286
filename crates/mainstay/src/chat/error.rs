//! Why there is no answer, or not all of one.

use super::{Answer, answer::Origin};
use crate::{
    judge::ReplyError,
    route::{Attempt, CallFailed, own_words},
    secret::Redactor,
};
use bytes::Bytes;
use http::StatusCode;
use mainstay_layers::{
    BoxError,
    classify::{Class, Classify, Failed, HttpClassifier, Sent, Verdict},
    error::find_cause,
};
use std::{error::Error, fmt, time::Duration};

/// Why there is no answer, or not all of one.
///
/// It has one [`Verdict`], whoever gave it: a provider's error reply, an error inside a 200, a timer, an open circuit, a
/// fallback that no target answered, a stream that was cut. What was said before a stream failed is
/// [kept](Self::partial). The chain of sources holds the typed cause ([`CallFailed`], [`ErrorReply`], a timeout, a
/// [`ReplyError`](crate::judge::ReplyError)), which [`find_cause`] finds.
///
/// ```
/// use mainstay::chat::ChatError;
///
/// fn what_now(error: &ChatError) -> String {
///     if let Some(partial) = error.partial() {
///         return format!("so far: {} (cut: {error})", partial.text);
///     }
///     match error.retry_after() {
///         Some(wait) => format!("again in {} s", wait.as_secs()),
///         None => format!("{}: {error}", error.class()),
///     }
/// }
/// ```
pub struct ChatError(Box<Inner>);

struct Inner {
    failed: Failed,
    message: String,
    status: Option<StatusCode>,
    body: Option<Bytes>,
    partial: Option<Answer>,
    origin: Origin,
}

impl ChatError {
    /// The judgement on it.
    pub fn verdict(&self) -> &Verdict {
        self.0.failed.verdict()
    }

    /// What kind of failure it is.
    pub fn class(&self) -> Class {
        self.verdict().class
    }

    /// The status of the provider's error reply; of an error inside a 200, the one that it stands for; of a call that no
    /// target answered, the one that it comes to.
    pub fn status(&self) -> Option<StatusCode> {
        self.0.status
    }

    /// The provider's code for it, such as `insufficient_quota`, or ours, such as `idle_timeout`.
    pub fn code(&self) -> Option<&str> {
        if let Some(failed) = self.call_failed() {
            return failed.code.or(failed.verdict.code.as_deref());
        }
        let verdict = self.verdict();
        match verdict.class {
            _ if verdict.code.is_some() => verdict.code.as_deref(),
            // The provider's own error, of which it gave no code.
            _ if self.0.body.is_some() => None,
            Class::InvalidRequest => Some("invalid_request"),
            _ => Some(own_words(verdict, Some(&self.0.failed)).1),
        }
    }

    /// The body of the provider's error reply or error event, with known keys cut out.
    pub fn body(&self) -> Option<&Bytes> {
        self.0.body.as_ref()
    }

    /// How long to wait before another call makes sense, if anyone said so.
    pub fn retry_after(&self) -> Option<Duration> {
        self.call_failed().map_or(self.verdict().wait, |failed| failed.retry_after)
    }

    /// What was said before the stream failed. `None` if that was nothing: then the call may simply be made again.
    pub fn partial(&self) -> Option<&Answer> {
        self.0.partial.as_ref()
    }

    /// What was said before the stream failed.
    pub fn into_partial(self) -> Option<Answer> {
        self.0.partial
    }

    /// The error of a router or fallback: what each target said.
    pub fn call_failed(&self) -> Option<&CallFailed> {
        find_cause(self.0.failed.source()?)
    }

    /// The tries that failed, where an [`AttemptLayer`](crate::route::AttemptLayer) below recorded them.
    pub fn attempts(&self) -> Vec<Attempt> {
        self.0.origin.log().failed()
    }

    fn new(verdict: Verdict, message: String, source: BoxError, origin: Origin) -> Self {
        Self(Box::new(Inner {
            status: verdict.status,
            failed: Failed::new(verdict, source),
            message,
            body: None,
            partial: None,
            origin,
        }))
    }

    /// The request cannot be written.
    pub(super) fn request(source: impl Into<BoxError>) -> Self {
        let source = source.into();
        let message = source.to_string();
        let verdict = Verdict::new(Class::InvalidRequest).with_sent(Sent::No).with_message(Some(&message));
        Self::new(verdict, message, source, Origin::default())
    }

    /// An error instead of a reply, or in the body of one.
    pub(super) fn call(error: BoxError, origin: Origin, redactor: &Redactor) -> Self {
        if let Some(failed) = find_cause::<CallFailed>(&*error) {
            let (verdict, message) = (failed.verdict.clone(), redactor.text(&failed.message()));
            let (status, reply) = (failed.status, failed.reply.as_ref());
            let body = reply.map(|reply| redactor.bytes(&reply.body));
            let mut this = Self::new(clean(verdict, redactor), message, error, origin);
            this.0.status = Some(status);
            this.0.body = body;
            return this;
        }
        let verdict = clean(HttpClassifier::new().error(&*error), redactor);
        let message = match &verdict.message {
            Some(said) => said.to_string(),
            None => redactor.text(&error.to_string()),
        };
        let said = match find_cause::<ReplyError>(&*error) {
            Some(ReplyError::Provider(event)) => Some(redactor.bytes(&event.data)),
            _ => None,
        };
        let mut this = Self::new(verdict, message, error, origin);
        this.0.body = said;
        this
    }

    /// An error reply.
    pub(super) fn reply(
        status: StatusCode,
        verdict: Verdict,
        body: &Bytes,
        origin: Origin,
        redactor: &Redactor,
    ) -> Self {
        let verdict = clean(verdict, redactor);
        let status = verdict.status.unwrap_or(status);
        let message = match &verdict.message {
            Some(said) => said.to_string(),
            None => ErrorReply { status }.to_string(),
        };
        let mut this = Self::new(verdict, message, ErrorReply { status }.into(), origin);
        this.0.status = Some(status);
        this.0.body = Some(redactor.bytes(body));
        this
    }

    /// A reply that is no answer.
    pub(super) fn judged(verdict: Verdict, source: impl Into<BoxError>, origin: Origin) -> Self {
        let source = source.into();
        let message = verdict.message.as_deref().map_or_else(|| source.to_string(), str::to_owned);
        Self::new(verdict, message, source, origin)
    }

    /// Keeps what was said.
    pub(super) fn with_partial(mut self, answer: Answer) -> Self {
        if !answer.is_empty() {
            let inner = &mut *self.0;
            let (verdict, source) = std::mem::replace(&mut inner.failed, placeholder()).into_parts();
            inner.failed = Failed::new(verdict.with_committed(true), source);
            inner.partial = Some(answer);
        }
        self
    }
}

fn placeholder() -> Failed {
    Failed::new(Class::Cancelled.into(), "")
}

/// The verdict without keys that a provider repeated in its words.
fn clean(mut verdict: Verdict, redactor: &Redactor) -> Verdict {
    if let Some(said) = verdict.message.take() {
        verdict.message = Some(redactor.text(&said).into());
    }
    verdict
}

impl fmt::Display for ChatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for ChatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatError")
            .field("class", &self.class())
            .field("status", &self.0.status)
            .field("code", &self.code())
            .field("message", &self.0.message)
            .field("partial", &self.0.partial)
            .finish_non_exhaustive()
    }
}

impl Error for ChatError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0.failed)
    }
}

/// A provider answered with an error; [`ChatError::body`] has its words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorReply {
    /// The status; of an error inside a 200, the one that it stands for.
    pub status: StatusCode,
}

impl fmt::Display for ErrorReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the provider answered with an error ({})", self.status)
    }
}

impl Error for ErrorReply {}
