//! `[[routes]]`

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
    /// What becomes of fields that a target's dialect has no place for. Default [`Translation::Strict`].
    pub translation: Translation,
    /// Where the route stands in the file.
    pub line: usize,
}

/// One target of a route.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The provider's name.
    pub provider: String,
    /// What the model is called there; `None`: what the caller called it.
    pub model: Option<String>,
    /// Its share under [`Strategy::Weighted`]. Default 1.
    pub weight: u32,
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

/// What becomes of a call's fields that the dialect of a target has no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translation {
    /// The target is passed by; if none takes the call, it is refused.
    Strict,
    /// They are dropped, and listed in the reply's `x-mainstay-dropped`.
    Lenient,
}
