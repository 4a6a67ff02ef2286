//! The layer.

use super::{Judge, JudgeConfig};
use crate::provider::{ErrorBody, Kind, ProviderClassifier, finish};
use mainstay_layers::classify::{Classify, Head, Verdict};
use std::{error::Error, fmt, sync::Arc};
use tower_layer::Layer;

/// The longest reason that is looked up.
const LONGEST_REASON: usize = 128;

/// Judges the replies of a provider. See the [module](super) for what it reads and hands on.
#[derive(Clone)]
pub struct JudgeLayer {
    // One word: each call carries it from its request to the last frame of its reply.
    settings: Arc<Settings>,
}

/// What was set, shared by all clones.
#[derive(Clone)]
struct Settings {
    kind: Kind,
    classifier: ProviderClassifier,
    policy: Option<Arc<Policy>>,
    config: JudgeConfig,
}

/// A user's last word on a failure.
type Policy = dyn Fn(Evidence<'_>, Verdict) -> Verdict + Send + Sync;

/// What a verdict was given on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Evidence<'a> {
    /// An error instead of a reply, or in the middle of one.
    Error(&'a (dyn Error + 'static)),
    /// An error reply, with its body as far as it was read.
    Reply(Head<'a>, &'a [u8]),
    /// An error inside a success: the error itself, as the provider wrote it.
    Inside(Head<'a>, &'a [u8]),
    /// A success without an answer in it.
    Empty(Head<'a>),
}

impl JudgeLayer {
    /// Judges by the table of `kind`, within the default bounds.
    pub fn new(kind: Kind) -> Self {
        let classifier = ProviderClassifier::new(kind);
        let settings = Settings { kind, classifier, policy: None, config: JudgeConfig::default() };
        Self { settings: Arc::new(settings) }
    }

    /// Gives `policy` the last word on every failure. It gets what the failure was judged on and the verdict of the
    /// provider's table, and returns that or another one: it overrides what it knows better and delegates the rest.
    ///
    /// ```
    /// use mainstay::{judge::{Evidence, JudgeLayer}, layers::classify::{Class, Verdict}, provider::Kind};
    ///
    /// // Behind our proxy a 404 is a deployment that is being rolled out: worth another try.
    /// let judge = JudgeLayer::new(Kind::OpenAi).with_policy(|evidence, verdict| match evidence {
    ///     Evidence::Reply(head, _) if head.status.as_u16() == 404 => Verdict::new(Class::Overloaded),
    ///     _ => verdict,
    /// });
    /// ```
    #[must_use]
    pub fn with_policy(
        mut self,
        policy: impl Fn(Evidence<'_>, Verdict) -> Verdict + Send + Sync + 'static,
    ) -> Self {
        Arc::make_mut(&mut self.settings).policy = Some(Arc::new(policy));
        self
    }

    /// Sets the bounds.
    #[must_use]
    pub fn with_config(mut self, config: JudgeConfig) -> Self {
        Arc::make_mut(&mut self.settings).config = config;
        self
    }
}

impl JudgeLayer {
    /// The bounds.
    pub(super) fn config(&self) -> &JudgeConfig {
        &self.settings.config
    }

    fn last_word(&self, evidence: Evidence<'_>, verdict: Verdict) -> Verdict {
        match &self.settings.policy {
            Some(policy) => policy(evidence, verdict),
            None => verdict,
        }
    }

    /// The verdict on an error instead of a reply, or in the middle of one.
    pub(super) fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        self.last_word(Evidence::Error(error), self.settings.classifier.error(error))
    }

    /// The verdict on an error reply.
    pub(super) fn reply(&self, head: Head<'_>, body: &[u8]) -> Verdict {
        self.last_word(Evidence::Reply(head, body), self.settings.classifier.body(head, body))
    }

    /// The verdict on a success without an answer in it.
    pub(super) fn empty(&self, head: Head<'_>) -> Verdict {
        self.last_word(Evidence::Empty(head), self.settings.classifier.empty_answer())
    }

    /// The verdict on an error that came inside a success: `object` as the provider wrote it, and the reason for the end
    /// of the answer where that made it one.
    pub(super) fn inside(&self, head: Head<'_>, object: &[u8], reason: Option<&str>) -> Verdict {
        // "error" says only that there is one; other reasons say more than the chunk that they stand in.
        let by_reason = reason
            .filter(|reason| *reason != "error")
            .and_then(|reason| finish(self.settings.kind, reason).verdict(true))
            .map(|verdict| verdict.with_code(reason));
        let verdict = by_reason.unwrap_or_else(|| {
            let mut body = ErrorBody::read(object);
            // An exception of an AWS event stream has its type beside it.
            if body.kind.is_none() {
                body.kind = reason.map(|reason| reason.chars().take(LONGEST_REASON).collect());
            }
            self.settings.classifier.error_in_reply(head, &body)
        });
        self.last_word(Evidence::Inside(head, object), verdict)
    }
}

impl fmt::Debug for JudgeLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JudgeLayer")
            .field("kind", &self.settings.kind)
            .field("policy", &self.settings.policy.is_some())
            .field("config", &self.settings.config)
            .finish()
    }
}

impl<S> Layer<S> for JudgeLayer {
    type Service = Judge<S>;

    fn layer(&self, inner: S) -> Judge<S> {
        Judge::new(inner, self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http::{Request, Response};
    use http_body_util::Full;
    use mainstay_layers::classify::Class;
    use std::convert::Infallible;
    use tower::{ServiceExt, service_fn};

    async fn judged(status: u16, body: &'static str) -> Class {
        let service = service_fn(move |_: Request<()>| async move {
            let reply = Response::builder().status(status).header("content-type", "application/json");
            Ok::<_, Infallible>(reply.body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap())
        });
        let judge = JudgeLayer::new(Kind::OpenAi).with_policy(|evidence, verdict| match evidence {
            Evidence::Reply(head, _) if head.status.as_u16() == 404 => Verdict::new(Class::Overloaded),
            Evidence::Inside(_, object) if object.windows(5).any(|word| word == b"quota") => {
                Verdict::new(Class::QuotaExhausted)
            }
            _ => verdict,
        });
        let request = Request::post("/v1/chat/completions").body(()).unwrap();
        let reply = judge.layer(service).oneshot(request).await.unwrap();
        reply.extensions().get::<Verdict>().unwrap().class
    }

    #[tokio::test]
    async fn a_policy_overrides_what_it_knows_and_delegates_the_rest() {
        assert_eq!(judged(404, "{}").await, Class::Overloaded);
        assert_eq!(judged(401, "{}").await, Class::Auth);
        assert_eq!(
            judged(200, r#"{"error": {"message": "your quota, alas", "code": 500}}"#).await,
            Class::QuotaExhausted
        );
        assert_eq!(judged(200, r#"{"error": {"message": "boom", "code": 500}}"#).await, Class::ServerError);
    }
}
