//! The state machine against a slow, obvious reference: the same decisions for every history.
//!
//! The reference keeps everything that was said in the epoch that runs and works each answer out of it from scratch.

use crate::{
    breaker::{
        config::Rules,
        machine::{Ballot, Machine, Ticket},
        observe::State,
        window::BUCKETS,
    },
    classify::Vote,
};
use proptest::{option, prelude::*};
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
struct Said {
    at: Duration,
    failed: bool,
    slow: bool,
    wait: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Now {
    Closed,
    Open { until: Duration },
    HalfOpen,
    HeldClosed,
    HeldOpen,
}

#[derive(Clone, Copy, Debug)]
struct Pass {
    epoch: usize,
    number: usize,
    at: Duration,
    probe: bool,
}

struct Reference {
    rules: Rules,
    now: Now,
    epoch: usize,
    said: Vec<Said>,
    /// Every call that was ever let through, and whether it is gone.
    passes: Vec<(Pass, bool)>,
    relapses: i32,
    opened: u64,
    rejected: u64,
}

impl Reference {
    fn go(&mut self, now: Now) {
        self.now = now;
        self.epoch += 1;
        self.said.clear();
    }

    fn probes(&self, at: Duration) -> Vec<Pass> {
        let deadline = self.rules.probe_deadline;
        let here = |p: &Pass| p.probe && p.epoch == self.epoch && p.at + deadline > at;
        self.passes.iter().filter(|(p, gone)| !gone && here(p)).map(|(p, _)| *p).collect()
    }

    fn retry_in(&self, at: Duration) -> Option<Duration> {
        match self.now {
            Now::Closed | Now::HeldClosed => None,
            Now::HeldOpen => Some(self.rules.open_for),
            Now::Open { until } => (until > at).then(|| until - at),
            Now::HalfOpen => {
                let probes = self.probes(at);
                if probes.len() < self.rules.probes as usize {
                    return None;
                }
                let first = probes.iter().map(|p| p.at + self.rules.probe_deadline - at).min().unwrap();
                Some(first.min(Duration::from_secs(1)).min(self.rules.open_for))
            }
        }
    }

    fn state(&self, at: Duration) -> State {
        match self.now {
            Now::Closed | Now::HeldClosed => State::Closed,
            Now::HeldOpen => State::Open,
            Now::Open { until } if until > at => State::Open,
            Now::Open { .. } | Now::HalfOpen => State::HalfOpen,
        }
    }

    fn admit(&mut self, at: Duration) -> Result<Pass, Duration> {
        if let Some(wait) = self.retry_in(at) {
            self.rejected += 1;
            return Err(wait);
        }
        if matches!(self.now, Now::Open { .. }) {
            self.go(Now::HalfOpen);
        }
        let probe = self.now == Now::HalfOpen;
        let pass = Pass { epoch: self.epoch, number: self.passes.len(), at, probe };
        self.passes.push((pass, false));
        Ok(pass)
    }

    fn streak(&self) -> usize {
        self.said.iter().rev().take_while(|said| said.failed).count()
    }

    fn trip(&mut self, at: Duration) {
        let grown = self.rules.open_for.as_secs_f64() * self.rules.growth.powi(self.relapses);
        let open_for = Duration::from_secs_f64(grown).min(self.rules.max_open_for);
        let waits = self.said.iter().rev().take_while(|said| said.failed);
        let floor = waits.filter_map(|said| Some(said.at + said.wait?.min(self.rules.max_wait))).max();
        let until = (at + open_for).max(floor.unwrap_or_default());
        self.opened += 1;
        self.go(Now::Open { until });
    }

    fn vote(&mut self, epoch: usize, said: Said) {
        if epoch != self.epoch {
            return;
        }
        match self.now {
            Now::HalfOpen if said.failed => {
                self.said.push(said);
                self.relapses += 1;
                self.trip(said.at);
            }
            Now::HalfOpen => {
                self.relapses = 0;
                self.go(Now::Closed);
            }
            Now::Closed => {
                self.said.push(said);
                let width = self.rules.window / BUCKETS as u32;
                let slice = |said: &Said| said.at.as_nanos() / width.as_nanos();
                let first = (slice(&said) + 1).saturating_sub(BUCKETS.into());
                let recent: Vec<_> = self.said.iter().filter(|said| slice(said) >= first).collect();
                let share = |part: usize| part as f64 / recent.len() as f64;
                let enough = recent.len() >= self.rules.min_calls as usize;
                let failures = share(recent.iter().filter(|said| said.failed).count());
                let slow = share(recent.iter().filter(|said| said.slow).count());
                let in_a_row = self.rules.failures > 0 && self.streak() >= self.rules.failures as usize;
                let by_failures = enough && self.rules.failure_rate.is_some_and(|rate| failures >= rate);
                let by_slowness = enough && self.rules.slow_rate.is_some_and(|rate| slow >= rate);
                if (said.failed && in_a_row) || by_failures || by_slowness {
                    self.relapses = 0;
                    self.trip(said.at);
                }
            }
            _ => {}
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Admit,
    Vote { who: usize, failed: bool, slow: bool, wait: Option<u64> },
    Leave { who: usize },
    Advance { ms: u64 },
    Force(Option<bool>),
    FailOutside,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => Just(Op::Admit),
        8 => (any::<usize>(), any::<bool>(), any::<bool>(), option::weighted(0.2, 0..900u64))
            .prop_map(|(who, failed, slow, wait)| Op::Vote { who, failed, slow, wait }),
        2 => any::<usize>().prop_map(|who| Op::Leave { who }),
        4 => prop_oneof![0..20u64, 0..700u64, Just(86_400_000)].prop_map(|ms| Op::Advance { ms }),
        1 => prop_oneof![
            1 => Just(Some(true)), 1 => Just(Some(false)), 4 => Just(None)
        ].prop_map(Op::Force),
        1 => Just(Op::FailOutside),
    ]
}

fn rules() -> impl Strategy<Value = Rules> {
    // Quarters, so that a share never lies a rounding error beside a rate.
    let rate = || option::of((1..=4u32).prop_map(|quarters| f64::from(quarters) / 4.0));
    let ms = |range: std::ops::Range<u64>| range.prop_map(Duration::from_millis);
    (
        (0..4u32, rate(), rate(), ms(100..1_000), 1..6u32),
        (ms(10..500), prop_oneof![Just(1.0), Just(2.0)], ms(500..2_000)),
        (1..4u32, ms(20..600), ms(0..1_000)),
    )
        .prop_map(|((failures, failure_rate, slow_rate, window, min_calls), open, half)| Rules {
            failures,
            failure_rate,
            slow_rate,
            window,
            min_calls,
            open_for: open.0,
            growth: open.1,
            max_open_for: open.2,
            jitter: 0.0,
            probes: half.0,
            probe_deadline: half.1,
            max_wait: half.2,
        })
}

fn check(rules: Rules, ops: Vec<Op>) -> Result<(), TestCaseError> {
    let machine = Machine::new(rules.clone());
    let mut reference = Reference {
        rules,
        now: Now::Closed,
        epoch: 0,
        said: Vec::new(),
        passes: Vec::new(),
        relapses: 0,
        opened: 0,
        rejected: 0,
    };
    let mut out: Vec<(Ticket, Pass)> = Vec::new();
    let mut at = Duration::ZERO;
    for (n, op) in ops.into_iter().enumerate() {
        let epoch_before = reference.epoch;
        let mut change = None;
        match op {
            Op::Admit => {
                let (ours, changed) = machine.admit(at);
                change = changed;
                match (ours, reference.admit(at)) {
                    (Ok(ticket), Ok(pass)) => {
                        prop_assert_eq!(ticket.is_probe(), pass.probe, "step {}", n);
                        out.push((ticket, pass));
                    }
                    (Err(ours), Err(theirs)) => prop_assert_eq!(ours, theirs, "step {}", n),
                    (ours, theirs) => prop_assert!(false, "step {n}: {ours:?}, reference {theirs:?}"),
                }
            }
            Op::Vote { who, failed, slow, wait } if !out.is_empty() => {
                let (ticket, pass) = out.swap_remove(who % out.len());
                let vote = if failed { Vote::Failure } else { Vote::Success };
                let wait = wait.map(Duration::from_millis).filter(|_| failed);
                reference.passes[pass.number].1 = true;
                reference.vote(pass.epoch, Said { at, failed, slow, wait });
                // As the handle does it.
                if failed || !machine.is_settled(ticket) {
                    change = machine.vote(ticket, Ballot { vote, slow, wait }, at);
                }
            }
            Op::Leave { who } if !out.is_empty() => {
                let (ticket, pass) = out.swap_remove(who % out.len());
                reference.passes[pass.number].1 = true;
                machine.release(ticket);
            }
            Op::Vote { .. } | Op::Leave { .. } => {}
            Op::Advance { ms } => at += Duration::from_millis(ms),
            Op::Force(open) => {
                let held = matches!(reference.now, Now::HeldClosed | Now::HeldOpen);
                let to = match open {
                    Some(true) => Now::HeldOpen,
                    Some(false) => Now::HeldClosed,
                    None => Now::Closed,
                };
                if reference.now != to && (held || open.is_some()) {
                    reference.relapses = 0;
                    reference.go(to);
                }
                change = machine.force(open, at);
            }
            Op::FailOutside => {
                reference.vote(reference.epoch, Said { at, failed: true, slow: false, wait: None });
                change = machine.fail(Ballot { vote: Vote::Failure, slow: false, wait: None }, at);
            }
        }
        let seen = machine.snapshot(at);
        prop_assert_eq!(change.is_some(), reference.epoch != epoch_before, "step {} {:?}", n, op);
        prop_assert_eq!(seen.state, reference.state(at), "step {} {:?}", n, op);
        prop_assert_eq!(seen.retry_in, reference.retry_in(at), "step {} {:?}", n, op);
        prop_assert_eq!(seen.streak as usize, reference.streak(), "step {} {:?}", n, op);
        prop_assert_eq!(seen.opened, reference.opened, "step {} {:?}", n, op);
        prop_assert_eq!(seen.rejected, reference.rejected, "step {} {:?}", n, op);
        prop_assert_eq!(seen.probes as usize, reference.probes(at).len(), "step {} {:?}", n, op);
    }
    // Whatever happened, once all have left and time has passed, a call passes (unless held open by hand).
    for (ticket, _) in out {
        machine.release(ticket);
    }
    machine.force(None, at);
    at += Duration::from_secs(86_400);
    let (admitted, _) = machine.admit(at);
    prop_assert!(admitted.is_ok());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decides_as_the_reference_does(rules in rules(), ops in proptest::collection::vec(op(), 0..200)) {
        check(rules, ops)?;
    }
}
