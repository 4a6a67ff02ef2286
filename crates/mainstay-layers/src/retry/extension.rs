//! What travels in a request's extensions, to this layer and from it.

use http::Extensions;

/// Which try of its call a request is; the first is 1. For layers below the retry layer.
///
/// The layer sets it anew for each try. A request without one is a first try: read it by [`Attempt::of`]. (The first
/// try goes without, as in an empty set of extensions the first entry costs three allocations.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Attempt {
    /// The number of the try, from 1.
    pub number: u32,
}

impl Attempt {
    /// The try with this number.
    pub const fn new(number: u32) -> Self {
        Self { number }
    }

    /// Which try the request with these extensions is.
    pub fn of(extensions: &Extensions) -> Self {
        extensions.get().copied().unwrap_or(Self::new(1))
    }
}

/// Says whether another target is left for this call. Whoever chooses targets sets it.
///
/// With `true`, a timeout is not tried again at the same target: one that was silent once is likely to be silent
/// again, and the caller has waited long enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextTarget(pub bool);
