//! Where a request goes: a provider's address, its credentials, and the headers that may go there.
//!
//! [`EndpointLayer`] stands just outside the client and rebuilds the head of a request for every try. Nothing of the caller's
//! head reaches a provider but what the allow-list names: no cookies, no hop-by-hop headers, and none of the caller's
//! credentials where the provider has a key of its own. A provider without a key gets the caller's own, in the form that
//! the provider takes (`Authorization: Bearer`, `x-api-key`, ...), whichever form it came in.
//!
//! | allowed towards | headers |
//! | --- | --- |
//! | all | `content-type`, `accept`, `accept-encoding`, `user-agent`, `x-request-id`, `traceparent`, `tracestate`, `x-stainless-*`, [`x-mainstay-hops`](HOPS) |
//! | all but Bedrock, where AWS has its own way | `idempotency-key` |
//! | OpenAI and what speaks its API | `openai-*`, `http-referer`, `x-title` |
//! | Anthropic | `anthropic-*` |
//! | Gemini | `x-goog-api-client`, `x-goog-user-project` |
//!
//! Where AWS wants requests signed instead ([`EndpointLayer::with_signer`]), that is done here too, for every try.
//!
//! Headers of the configuration come last and win. `accept-encoding` is for the layer that decodes replies, between here and the
//! judge; take the caller's own off before it, or a provider may answer in a coding that nobody here can read.

mod headers;
mod layer;
mod service;
mod settings;
#[cfg(test)]
mod tests;

pub use self::headers::{HOPS, caller_key};
pub use self::layer::EndpointLayer;
pub use self::service::{Endpoint, ResponseFuture};
