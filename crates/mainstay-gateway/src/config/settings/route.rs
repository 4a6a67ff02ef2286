//! `[[routes]]`

use http::HeaderName;
use std::time::Duration;

use super::Target;

/// `[[routes]]`
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Exact names, or patterns with `*`. At least one.
    pub models: Vec<String>,
    /// Where such calls go, in order. At least one; every provider is there.
    pub targets: Vec<Target>,
    /// How a target is chosen. Default [`Strategy::Order`].
    pub strategy: Strategy,
    /// What becomes of a stream that was cut. Default [`Recovery::Off`].
    pub recovery: Recovery,
    /// When the next target is asked. Default [`Failover::AfterRetries`].
    pub failover: Failover,
    /// What keeps a caller's calls at one target, where the strategy has a choice. Default: nothing.
    pub sticky: Option<Sticky>,
    /// What happens while every target is open or cooling. Default [`WhenExhausted::Fail`].
    pub when_exhausted: WhenExhausted,
    /// The longest wait under [`WhenExhausted::Wait`]. Default 60 s.
    pub max_wait: Duration,
    /// When a second target is asked while no content has come. Default: never.
    pub hedge: Option<Hedge>,
    /// Answers that are kept. Default: none.
    pub cache: Option<Cache>,
    /// What becomes of fields that a target's dialect has no place for. Default [`Translation::Strict`].
    pub translation: Translation,
    /// Where the route stands in the file.
    pub line: usize,
}

/// How a route chooses among its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// As written.
    Order,
    /// By weight.
    Weighted,
    /// By time to first event.
    Latency,
}

/// What becomes of a stream that was cut after content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// It ends with an error event.
    Off,
    /// The next target goes on.
    Continue,
}

/// When the next target is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failover {
    /// When the tries at this one are used up.
    AfterRetries,
    /// At the first failure.
    AtOnce,
}

/// What keeps a caller's calls at one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sticky {
    /// The field `user` of the request, or in Messages `metadata.user_id`.
    User,
    /// The value of a header.
    Header(HeaderName),
}

/// What happens while every target is open or cooling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenExhausted {
    /// The call fails at once.
    Fail,
    /// It waits for the one that comes back first.
    Wait,
}

/// A second target while no content has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hedge {
    /// When; `None`: after the time within which 95 % of the first target's answers came.
    pub after: Option<Duration>,
    /// How many more than one may run for a call. Default 1.
    pub max: usize,
}

/// Answers that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Bytes, all answers of the route together.
    pub max: u64,
    /// The largest answer that is kept, in bytes. Default 1 MiB.
    pub max_entry: u64,
    /// How long each is kept. Default 1 h.
    pub ttl: Duration,
    /// When one is given. Default [`Serve::OnFailure`].
    pub serve: Serve,
}

impl Cache {
    /// What `max_entry` is where it is not set.
    pub(in crate::config) const MAX_ENTRY: u64 = super::MIB;
}

/// When a kept answer is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serve {
    /// When every target has failed.
    OnFailure,
    /// Before any target is asked, too.
    Always,
}

/// What becomes of a call's fields that the dialect of a target has no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translation {
    /// The target is passed by; if none takes the call, it is refused.
    Strict,
    /// They are dropped, and listed in the reply's `x-mainstay-dropped`.
    Lenient,
}
