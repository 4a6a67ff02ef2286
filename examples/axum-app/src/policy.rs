//! What counts as what, here: Mainstay's own rules, and one of ours.

use mainstay::layers::classify::{Class, Classify, Head, HttpClassifier, Verdict};
use std::{error::Error, time::Duration};

/// As usual, but somebody is waiting: a rate limit that lasts longer than this is not waited out, as another provider can
/// answer meanwhile.
const PATIENCE: Duration = Duration::from_millis(500);

/// The policy of this app.
#[derive(Clone, Copy, Debug, Default)]
pub struct Impatient(HttpClassifier);

impl Classify for Impatient {
    fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
        self.0.error(error)
    }

    fn head(&self, head: Head<'_>) -> Verdict {
        let verdict = self.0.head(head);
        if verdict.class == Class::RateLimited && verdict.wait.is_some_and(|wait| wait > PATIENCE) {
            return verdict.with_retry(Some(false));
        }
        verdict
    }
}
