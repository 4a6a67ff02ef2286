//! The layer.

use super::{Api, TargetApi, Translate, target::Target};
use crate::{dialect::Dialect, peek::Call, provider::Kind, sse};
use std::sync::Arc;
use tower_layer::Layer;

/// Translates between callers and one provider. See the [module](super) for what it carries and what it refuses.
#[derive(Clone, Debug)]
pub struct TranslateLayer {
    pub(super) target: Arc<Target>,
    pub(super) strict: bool,
    pub(super) max_event: usize,
    pub(super) max_reply: usize,
}

impl TranslateLayer {
    /// Translates for a provider of `kind`. Strict; events of a stream are at most
    /// [`DEFAULT_MAX_EVENT`](sse::DEFAULT_MAX_EVENT) bytes, replies that are no stream 64 MiB.
    pub fn new(kind: Kind) -> Self {
        Self {
            target: Arc::new(Target::new(kind)),
            strict: true,
            max_event: sse::DEFAULT_MAX_EVENT,
            max_reply: 64 << 20,
        }
    }

    /// What the target is called in messages: its name in the configuration. Default: the provider's name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<Arc<str>>) -> Self {
        Arc::make_mut(&mut self.target).name = name.into();
        self
    }

    /// The `max_tokens` of a call that has none, where the provider demands it. Default: 8192.
    #[must_use]
    pub fn with_default_max_tokens(mut self, tokens: u32) -> Self {
        Arc::make_mut(&mut self.target).default_max_tokens = tokens;
        self
    }

    /// Asks a provider of OpenAI's family for Responses instead of chat completions, as some of its models demand.
    #[must_use]
    pub fn with_responses(mut self) -> Self {
        let target = Arc::make_mut(&mut self.target);
        if target.api == TargetApi::Chat {
            target.api = TargetApi::Responses;
            target.responses = true;
        }
        self
    }

    /// Drops what cannot be carried, and says so in the reply's `x-mainstay-dropped`, instead of refusing the call.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.strict = false;
        self
    }

    /// The largest event of a stream, in bytes.
    #[must_use]
    pub fn with_max_event(mut self, bytes: usize) -> Self {
        self.max_event = bytes;
        self
    }

    /// The largest reply that is no stream, in bytes.
    #[must_use]
    pub fn with_max_reply(mut self, bytes: usize) -> Self {
        self.max_reply = bytes;
        self
    }

    /// Whether the target has the endpoint that a call wants, or one that it can be translated to.
    pub fn takes(&self, call: &Call) -> bool {
        self.passes(call) || Api::of(call.dialect).is_some()
    }

    /// Whether the call is in the target's own dialect.
    pub(super) fn passes(&self, call: &Call) -> bool {
        if self.target.api.is_target_only() {
            return call.dialect == self.target.api.dialect();
        }
        let same = call.family == self.target.api.dialect().error_family();
        // A provider of OpenAI's family has chat completions, or is asked for Responses only.
        let lacks = match call.dialect {
            Dialect::Responses => !self.target.responses,
            Dialect::ChatCompletions => self.target.api == TargetApi::Responses,
            _ => false,
        };
        same && !lacks
    }
}

/// In a request's extensions: what cannot be carried is dropped in this call, whatever the layer is set to.
#[derive(Clone, Copy, Debug)]
pub struct Lenient;

impl<S> Layer<S> for TranslateLayer {
    type Service = Translate<S>;

    fn layer(&self, inner: S) -> Translate<S> {
        Translate::new(inner, self.clone())
    }
}
