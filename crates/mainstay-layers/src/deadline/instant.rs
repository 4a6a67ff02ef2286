//! The deadline itself.

use http::Extensions;
use std::time::Duration;
use tokio::time::Instant;

/// Further off than this is the same as this: some 30 years, which every clock can still add up.
const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);

/// The time by which a call must be over. Lives in the extensions of a request; see the [module](super).
///
/// ```
/// use mainstay_layers::deadline::Deadline;
/// use std::time::Duration;
///
/// let call = Deadline::after(Duration::from_secs(30));
/// let step = call.min(Deadline::after(Duration::from_secs(10)));
/// assert!(step < call && step.remaining() <= Duration::from_secs(10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deadline(Instant);

impl Deadline {
    /// The deadline at `instant`.
    pub const fn at(instant: Instant) -> Self {
        Self(instant)
    }

    /// The deadline that is `remaining` from now. More than 30 years are 30 years.
    pub fn after(remaining: Duration) -> Self {
        Self(Instant::now() + remaining.min(FAR))
    }

    /// When it is.
    pub const fn instant(self) -> Instant {
        self.0
    }

    /// What is left of it; zero once it has passed.
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether nothing is left of it.
    pub fn has_passed(self) -> bool {
        self.0 <= Instant::now()
    }

    /// The earlier of two.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Ord::min(self, other)
    }

    /// The deadline that these extensions carry.
    pub fn of(extensions: &Extensions) -> Option<Self> {
        extensions.get().copied()
    }

    /// Puts this deadline into `extensions` unless there is an earlier one; returns the one that holds now.
    pub fn tighten(self, extensions: &mut Extensions) -> Self {
        let earliest = Self::of(extensions).map_or(self, |there| there.min(self));
        extensions.insert(earliest);
        earliest
    }
}

impl From<Instant> for Deadline {
    fn from(instant: Instant) -> Self {
        Self(instant)
    }
}
