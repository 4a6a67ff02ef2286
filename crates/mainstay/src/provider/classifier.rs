//! Applies the tables.

use super::{ErrorBody, Kind, Rule, common, error_body::clip, reply};
use http::{HeaderMap, StatusCode, header};
use mainstay_layers::classify::{Class, Classify, Head, HttpClassifier, Verdict, Vote, hint};
use std::{error::Error, time::Duration};

/// Judges the replies of one kind of provider by status, headers and body.
///
/// Waits are read in this order: `retry-after-ms`, `Retry-After` and the like; what the body asks for; the reset of a
/// rate limit's empty windows; the words of the message.
///
/// ```
/// use http::Response;
/// use mainstay::provider::{Kind, ProviderClassifier};
/// use mainstay_layers::classify::{Class, Classify, Head};
///
/// let classifier = ProviderClassifier::new(Kind::Groq);
/// let reply = Response::builder().status(498).body(()).unwrap();
/// assert_eq!(classifier.head(Head::of(&reply)).class, Class::Overloaded);
///
/// let reply = Response::builder().status(400).body(()).unwrap();
/// let body = br#"{"error": {"code": "tool_use_failed", "message": "Failed to call a function."}}"#;
/// let verdict = classifier.body(Head::of(&reply), body);
/// assert!(verdict.is_retryable());
/// assert_eq!(verdict.code.as_deref(), Some("tool_use_failed"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderClassifier {
    kind: Kind,
}

/// A hint shorter than this beside a daily quota or an empty account is that of some shorter window.
const LONG: Duration = Duration::from_secs(3600);

impl ProviderClassifier {
    /// The classifier of providers of this kind.
    pub const fn new(kind: Kind) -> Self {
        Self { kind }
    }

    /// The kind of provider that it judges.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Judges a reply of which the whole body is here.
    ///
    /// For an error it is [`body`](Classify::body). A 2xx is looked through: an error in it, HTML, an empty or a cut
    /// body, no choices, an answer without anything in it.
    pub fn whole(&self, head: Head<'_>, body: &[u8]) -> Verdict {
        if head.status.is_success() { reply::whole(*self, head, body) } else { self.body(head, body) }
    }

    /// Judges an error that came inside a 2xx: `data` is the JSON body, the data of an event, or the event as it came.
    ///
    /// Its class is that which its code would have as a status; [`Verdict::status`] is the status that it stands for.
    pub fn error_object(&self, head: Head<'_>, data: &[u8]) -> Verdict {
        self.error_in_reply(head, &ErrorBody::read(data))
    }

    /// The same for an error that was read already.
    pub fn error_in_reply(&self, head: Head<'_>, body: &ErrorBody) -> Verdict {
        let known = body.number;
        let rule = self.rule(known, body);
        let mut verdict = match (rule, known.and_then(|number| StatusCode::from_u16(number).ok())) {
            (Some(rule), _) => rule.verdict(),
            (None, Some(status)) => Verdict::new(HttpClassifier::class_of_status(status)),
            // It fails, and does not say at what.
            (None, None) => Verdict::new(Class::ServerError),
        };
        let number = known.or(rule.and_then(Rule::status)).unwrap_or(stands_for(verdict.class));
        verdict.status = StatusCode::from_u16(number).ok();
        self.complete(verdict, rule, head.headers, number, body)
    }

    /// The verdict on an answer without text, tool call, tokens or a reason to be empty.
    pub fn empty_answer(&self) -> Verdict {
        let verdict = Verdict::new(Class::Malformed).with_message(Some("the answer is empty"));
        if self.kind.profile().empty_is_overflow {
            verdict.with_retry(Some(false)).with_vote(Some(Vote::Neutral))
        } else {
            verdict
        }
    }

    fn error_reply(&self, head: Head<'_>, mut body: ErrorBody) -> Verdict {
        if body.kind.is_none() {
            body.kind = smithy_type(head.headers);
        }
        let status = head.status.as_u16();
        let rule = self.rule(Some(status), &body);
        let verdict = rule.map_or_else(|| HttpClassifier::class_of_status(head.status).into(), Rule::verdict);
        self.complete(verdict, rule, head.headers, status, &body)
    }

    fn rule(&self, status: Option<u16>, body: &ErrorBody) -> Option<&'static Rule> {
        let tables = [self.kind.profile().rules, common::WORDS, common::PHRASES, common::TYPES];
        tables.into_iter().flatten().find(|rule| rule.matches(status, body))
    }

    fn complete(
        &self,
        verdict: Verdict,
        rule: Option<&Rule>,
        headers: &HeaderMap,
        status: u16,
        body: &ErrorBody,
    ) -> Verdict {
        let long = verdict.class == Class::QuotaExhausted || rule.is_some_and(Rule::is_daily);
        let wait = wait(verdict.class, headers, status, body).filter(|wait| !long || *wait >= LONG);
        let retry = hint::should_retry(headers).or(verdict.retry);
        verdict.with_wait(wait).with_retry(retry).with_code(body.code()).with_message(body.message.as_deref())
    }
}

impl Classify for ProviderClassifier {
    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        HttpClassifier::new().error(error)
    }

    fn head(&self, head: Head<'_>) -> Verdict {
        if let Some(verdict) = head.extensions.get::<Verdict>() {
            return verdict.clone();
        }
        if head.status.as_u16() < 400 {
            return HttpClassifier::class_of_status(head.status).into();
        }
        self.error_reply(head, ErrorBody::default())
    }

    /// An error's body is read whole. Of a 2xx these may be the first bytes only: a page or an error is seen, all else
    /// is taken for an answer; [`whole`](Self::whole) looks closer.
    fn body(&self, head: Head<'_>, first_bytes: &[u8]) -> Verdict {
        if head.extensions.get::<Verdict>().is_some() {
            return self.head(head);
        }
        if head.status.is_success() {
            return reply::first(*self, head, first_bytes);
        }
        if head.status.as_u16() < 400 {
            return self.head(head);
        }
        self.error_reply(head, ErrorBody::read(first_bytes))
    }
}

/// The wait that a failure asks for.
fn wait(class: Class, headers: &HeaderMap, status: u16, body: &ErrorBody) -> Option<Duration> {
    let now = hint::reference_time(headers);
    let slow_down = matches!(class, Class::RateLimited | Class::Overloaded);
    hint::from_headers(headers)
        .or(body.wait)
        .or_else(|| hint::from_headers_at(&body.headers, now))
        .or_else(|| {
            let limited = slow_down && status == 429;
            let windows = || hint::reset_at(&body.headers, now).or_else(|| hint::reset_at(headers, now));
            limited.then(windows).flatten()
        })
        .or_else(|| slow_down.then(|| body.texts().find_map(hint::from_text)).flatten())
}

/// `x-amzn-errortype`: the type of an AWS error, before a colon and a namespace (Smithy, awsJson1.1 and restJson1).
fn smithy_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("x-amzn-errortype")?.to_str().ok()?;
    let name = value.split(':').next()?;
    let name = name.rsplit('#').next()?.trim();
    (!name.is_empty()).then(|| clip(name, 128).to_owned())
}

/// The status that a class stands for where the provider named none.
fn stands_for(class: Class) -> u16 {
    match class {
        Class::RateLimited | Class::QuotaExhausted => 429,
        Class::Overloaded => 503,
        Class::Timeout => 504,
        Class::Auth => 401,
        Class::NotFound => 404,
        Class::TooLarge => 413,
        Class::ContextLength | Class::ContentPolicy | Class::InvalidRequest => 400,
        Class::Cancelled => 499,
        Class::ServerError => 500,
        _ => 502,
    }
}

/// Judges a reply whose whole body is at hand, for people who handle errors themselves.
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use mainstay::provider::{Kind, judge_reply};
///
/// let body = br#"{"error": {"code": 429, "message": "busy", "status": "RESOURCE_EXHAUSTED", "details": [
///     {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]}}"#;
/// let verdict = judge_reply(Kind::Gemini, StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new(), body);
/// assert_eq!(verdict.wait.unwrap().as_secs(), 34);
/// ```
pub fn judge_reply(kind: Kind, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Verdict {
    ProviderClassifier::new(kind).whole(Head::new(status, headers, &http::Extensions::new()), body)
}

/// Judges an error that came instead of a reply.
pub fn judge_error(error: &(dyn Error + 'static)) -> Verdict {
    HttpClassifier::new().error(error)
}

/// The media type of a reply, without parameters, in lower case.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
