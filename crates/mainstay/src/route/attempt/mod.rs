//! What happened at each try, for the error of all targets, for headers and for metrics.
//!
//! [`AttemptLayer`] stands inside retry and breaker and outside the judge, so that it sees each try once and whole: a
//! stream's try ends when the stream does.

mod body;
mod future;
mod layer;
mod log;
mod name;
mod observe;
mod record;
#[cfg(test)]
mod tests;

pub use self::body::AttemptBody;
pub use self::future::AttemptFuture;
pub use self::layer::{AttemptLayer, AttemptService};
pub use self::log::{Attempt, AttemptLog, LastReply, Spent};
pub(crate) use self::name::AskedModel;
pub use self::name::TargetName;
pub use self::observe::Observe;
