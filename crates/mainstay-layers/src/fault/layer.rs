//! The layer, and who gets which fault.

use super::{Fault, FaultInjector};
use parking_lot::Mutex;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tower_layer::Layer;

/// Injects faults. See the [module](super).
#[derive(Clone, Debug)]
pub struct FaultLayer {
    pub(super) plan: Plan,
}

#[derive(Clone, Debug)]
pub(super) struct Plan {
    faults: Faults,
    repeat_last: bool,
    state: Arc<State>,
}

#[derive(Clone, Debug)]
enum Faults {
    Script(Arc<[Fault]>),
    Chance(Arc<[(f64, Fault)]>),
}

/// Shared by all clones: calls are numbered over all of them.
#[derive(Debug)]
struct State {
    calls: AtomicU64,
    dice: Mutex<fastrand::Rng>,
}

impl FaultLayer {
    /// The first call meets the first fault, and so on; calls after the last pass.
    pub fn script(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self::new(Faults::Script(faults.into_iter().collect()), 0)
    }

    /// Each call meets each fault with its probability, in [0, 1]; what is left to one is the probability that it
    /// passes. The same seed gives the same faults to the same order of calls.
    pub fn chance(seed: u64, faults: impl IntoIterator<Item = (f64, Fault)>) -> Self {
        Self::new(Faults::Chance(faults.into_iter().collect()), seed)
    }

    fn new(faults: Faults, seed: u64) -> Self {
        let dice = Mutex::new(fastrand::Rng::with_seed(seed));
        let state = Arc::new(State { calls: AtomicU64::new(0), dice });
        Self { plan: Plan { faults, repeat_last: false, state } }
    }

    /// Calls after the end of the script meet its last fault again, and do not pass.
    #[must_use]
    pub fn repeat_last(mut self) -> Self {
        self.plan.repeat_last = true;
        self
    }

    /// How many calls there were so far.
    pub fn calls(&self) -> u64 {
        self.plan.state.calls.load(Ordering::Relaxed)
    }
}

impl Plan {
    /// The fault of the call that begins now, and a seed for what is random in it.
    pub(super) fn next(&self) -> (Fault, u64) {
        let call = self.state.calls.fetch_add(1, Ordering::Relaxed);
        match &self.faults {
            Faults::Script(script) => {
                let nth = usize::try_from(call).unwrap_or(usize::MAX);
                let last = if self.repeat_last { script.last() } else { None };
                (script.get(nth).or(last).cloned().unwrap_or(Fault::pass()), call)
            }
            Faults::Chance(chances) => {
                // One lock for both, so that two calls at a time take whole turns.
                let (roll, seed) = {
                    let mut dice = self.state.dice.lock();
                    (dice.f64(), dice.u64(..))
                };
                let mut upto = 0.0;
                let hit = chances.iter().find(|(chance, _)| {
                    upto += chance;
                    roll < upto
                });
                (hit.map_or(Fault::pass(), |(_, fault)| fault.clone()), seed)
            }
        }
    }
}

impl<S> Layer<S> for FaultLayer {
    type Service = FaultInjector<S>;

    fn layer(&self, inner: S) -> Self::Service {
        FaultInjector { inner, plan: self.plan.clone() }
    }
}
