//! Which stack answers a call, and what happens when it does not.
//!
//! A [`Router`] chooses a [`Route`] by the model's name; a [`Fallback`] asks the route's [`Target`]s one after the other; each
//! target is a stack of layers over a client, with a circuit and a cooldown by which it is passed by while it is no use.
//!
//! What a route may do besides, each off unless it is set on its [`Fallback`]:
//!
//! | option | what it does | what it may cost |
//! | --- | --- | --- |
//! | [`Strategy`], [`Sticky`] | another order than the listed one, for each call anew | |
//! | [`Failover::AtOnce`] | no retries while another target is free | |
//! | [`WhenExhausted::Wait`] | waits while every target is open or cooling | the caller's time |
//! | [`Hedge`] | a second target while no content has come | a second bill |
//! | [`RecoverBody`] | the next target goes on where a stream of text was cut | the prompt is billed twice |
//! | [`AnswerCache`] | the last good answer while every target fails | it is old, and says so |
//!
//! A target may declare what its model can do ([`Capabilities`]): then no fallback drops tools, pictures or a schema silently.
//!
//! Retries and hedges draw from one budget per provider ([`Target::with_budget`]) and yield when it is empty. A fallback
//! after a failed try takes from the failed target's budget as well, but is never refused: it is the last way to an answer,
//! and there are at most as many as targets.
//!
//! [`AttemptLayer`] in each stack records the tries, so that a reply and an error can say honestly what happened.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use mainstay::{body::RequestBody, peek::{Call, peek}, route::{Fallback, Router, Target, TargetName}};
//! use tower::{ServiceExt, service_fn};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let well = service_fn(|_: Request<RequestBody>| async {
//!     Ok::<_, std::convert::Infallible>(Response::new(Full::new(Bytes::from_static(b"{}"))))
//! });
//! let target = Target::new(TargetName::parse("well"), well);
//! let router = Router::builder().route("gpt-*", Fallback::new([target])).build();
//!
//! let body = Bytes::from_static(br#"{"model": "gpt-9"}"#);
//! let call = Call::new("/v1/chat/completions", peek(&body).unwrap());
//! let reply = router.oneshot(call.into_request(Request::new(()), body)).await.unwrap();
//! assert!(reply.status().is_success());
//! # });
//! ```

mod attempt;
mod cache;
mod capability;
mod cooldown;
mod failed;
mod fallback;
mod fields;
mod options;
mod pace;
mod pattern;
mod recover;
mod router;
mod target;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub(crate) use self::attempt::AskedModel;
pub use self::attempt::{
    Attempt, AttemptBody, AttemptFuture, AttemptLayer, AttemptLog, AttemptService, LastReply, Observe, Spent,
    TargetName,
};
#[cfg(feature = "cache")]
pub use self::cache::MemoryStore;
pub use self::cache::{Answer, AnswerCache, AnswerStore, CacheKey, Cached, Serve, StoreFuture};
pub use self::capability::{Capabilities, Capability, Incapable};
pub use self::cooldown::{Cooldown, Cooling, Scope};
pub use self::failed::{CallFailed, own_words};
pub use self::fallback::{Fallback, FallbackFuture, Served};
pub use self::options::{Failover, Hedge, HedgeAfter, Sticky, Strategy, WhenExhausted};
pub use self::pace::Pace;
pub use self::pattern::{Pattern, Table};
pub use self::recover::{Prefill, RecoverBody, RecoveryFailed};
pub use self::router::{ModelNotFound, Route, Router, RouterBuilder, RouterFuture};
pub use self::target::{ReplyBody, Stack, Target};
