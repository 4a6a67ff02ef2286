//! The stack of one provider, ready-made, for those who want no choice.
//!
//! A [`Provider`] knows its address and its key, from the environment as the provider's own SDK reads it, and makes of that
//! the whole [stack](Provider::stack), a [typed client](Provider::chat) over it, or a [target](Provider::target) of a
//! [`Fallback`](crate::route::Fallback). For anything that it has no setting for, put the layers together by hand: they
//! are the same.
//!
//! | layer | as set here |
//! | --- | --- |
//! | deadline | enforces the one that a request brings along |
//! | translate | to the provider's API; strict |
//! | idempotency, retry | 3 tries, 1 s doubling to 30 s, full jitter, waits of at most 60 s, all within 5 min; a budget of 0.2 retries per call and 10 a second |
//! | breaker | opens after 5 failures in a row, for 30 s |
//! | judge | by the provider's table |
//! | timeout | 2 min for a reply that is no stream, 30 s of silence in a stream |
//! | body limit | 64 MiB for a reply that is no stream |
//! | decompression | gzip, br, zstd, deflate |
//! | endpoint, client | see [`client`](crate::client) |
//!
//! ```no_run
//! use mainstay::{chat::{Chat, ChatRequest}, provider::Kind, route::Fallback, stack::Provider};
//!
//! # async fn example() -> Result<(), mainstay::BoxError> {
//! // OpenAI, and Claude when that fails.
//! let chat = Chat::new(Fallback::new([
//!     Provider::from_env(Kind::OpenAi)?.target("gpt-5")?,
//!     Provider::from_env(Kind::Anthropic)?.target("claude-sonnet-4-5")?,
//! ]));
//! let answer = chat.complete(&ChatRequest::new("any").user("Hello")).await?;
//! println!("{} says {}", answer.served().map_or("?", |served| &served.model), answer.text());
//! # Ok(()) }
//! ```

mod env;
mod provider;

#[cfg(test)]
mod tests;

pub use self::env::ProviderError;
pub use self::provider::Provider;
