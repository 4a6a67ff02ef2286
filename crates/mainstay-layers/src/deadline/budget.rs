//! A deadline split over the steps of a pipeline.

use super::Deadline;
use std::time::Duration;

/// Splits what is left of a deadline over the steps of a pipeline, by fractions.
///
/// Each step gets its fraction of what is left *when it starts*, measured against the fractions of the steps that are
/// still to come: what a quick step leaves over flows on to all that follow, and what a step overran is missing to all
/// of them alike. The last step gets all that is left.
///
/// Fractions are weights: `[0.5, 0.3, 0.2]` and `[5.0, 3.0, 2.0]` say the same. One that is negative or not a number
/// counts as zero.
///
/// # Three LLM calls, one answer
///
/// A draft, a critique and a rewrite, 60 s for all of it:
///
/// ```
/// use http::Request;
/// use mainstay_layers::deadline::{Deadline, TimeBudget};
/// use std::time::Duration;
///
/// # async fn call(request: Request<&'static str>, takes: u64) {
/// #     assert!(request.extensions().get::<Deadline>().is_some());
/// #     tokio::time::advance(Duration::from_secs(takes)).await;
/// # }
/// # fn ask(prompt: &'static str, deadline: Deadline) -> Request<&'static str> {
/// #     let mut request = Request::new(prompt);
/// #     request.extensions_mut().insert(deadline);
/// #     request
/// # }
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let mut budget = TimeBudget::new(Deadline::after(Duration::from_secs(60)), [0.5, 0.2, 0.3]);
///
/// let draft = budget.next_step();
/// assert_eq!(draft.remaining(), Duration::from_secs(30));
/// call(ask("draft", draft), 10).await; // 20 s less than it had
///
/// // 50 s are left, for 0.2 and 0.3: what the draft did not need is shared out.
/// let critique = budget.next_step();
/// assert_eq!(critique.remaining(), Duration::from_secs(20));
/// call(ask("critique", critique), 20).await;
///
/// let rewrite = budget.next_step();
/// assert_eq!(rewrite.remaining(), Duration::from_secs(30)); // all that is left
/// call(ask("rewrite", rewrite), 5).await;
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TimeBudget {
    deadline: Deadline,
    /// Last step first, so that a step is taken by `pop`.
    fractions: Vec<f64>,
}

impl TimeBudget {
    /// Splits `deadline` over as many steps as there are fractions.
    pub fn new(deadline: Deadline, fractions: impl IntoIterator<Item = f64>) -> Self {
        let mut fractions: Vec<f64> =
            fractions.into_iter().map(|f| if f.is_finite() { f.max(0.0) } else { 0.0 }).collect();
        fractions.reverse();
        Self { deadline, fractions }
    }

    /// The deadline of the step that starts now, never later than the whole. When all steps are used up, the whole.
    pub fn next_step(&mut self) -> Deadline {
        let to_come: f64 = self.fractions.iter().sum();
        match self.fractions.pop() {
            Some(fraction) if !self.fractions.is_empty() && to_come > 0.0 => self.share(fraction / to_come),
            // Steps of which none has a weight share alike.
            Some(_) if !self.fractions.is_empty() => self.share(1.0 / (self.fractions.len() as f64 + 1.0)),
            _ => self.deadline,
        }
    }

    /// A deadline at `fraction` of what is left now, for a step that is not one of the list; takes no step.
    /// Under 0 is 0, over 1 is 1, not a number is 0.
    pub fn share(&self, fraction: f64) -> Deadline {
        let fraction = if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) };
        Deadline::after(self.remaining().mul_f64(fraction)).min(self.deadline)
    }

    /// What is left for all steps together.
    pub fn remaining(&self) -> Duration {
        self.deadline.remaining()
    }

    /// The deadline of the whole.
    pub fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// How many steps are still to come.
    pub fn steps_left(&self) -> usize {
        self.fractions.len()
    }
}
