//! Every interleaving of a few threads, by loom:
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p mainstay-layers --lib --features breaker model`

use crate::{
    breaker::{
        config::Rules,
        machine::{Ballot, Machine, Ticket},
        observe::State,
    },
    classify::Vote,
};
use loom::{sync::Arc, thread};
use std::time::Duration;

const OPEN_FOR: Duration = Duration::from_secs(30);
const START: Duration = Duration::ZERO;

fn machine(failures: u32, probes: u32) -> Arc<Machine> {
    Arc::new(Machine::new(Rules { failures, probes, open_for: OPEN_FOR, ..Rules::default() }))
}

fn say(machine: &Machine, ticket: Ticket, vote: Vote, now: Duration) {
    // As the handle does it.
    if vote != Vote::Success || !machine.is_settled(ticket) {
        machine.vote(ticket, Ballot { vote, slow: false, wait: None }, now);
    }
}

fn enter(machine: &Machine, now: Duration) -> Option<Ticket> {
    machine.admit(now).0.ok()
}

fn open(machine: &Machine) {
    let ticket = enter(machine, START).unwrap();
    say(machine, ticket, Vote::Failure, START);
    assert_eq!(machine.state(START), State::Open);
}

#[test]
fn at_half_open_exactly_the_probes_pass() {
    loom::model(|| {
        let machine = machine(1, 1);
        open(&machine);
        let other = machine.clone();
        let theirs = thread::spawn(move || enter(&other, OPEN_FOR));
        let ours = enter(&machine, OPEN_FOR);
        let theirs = theirs.join().unwrap();
        assert!(ours.is_some() != theirs.is_some());
        assert_eq!(machine.snapshot(OPEN_FOR).probes, 1);
    });
}

#[test]
fn a_dropped_probe_frees_its_slot_whoever_comes_meanwhile() {
    loom::model(|| {
        let machine = machine(1, 1);
        open(&machine);
        let probe = enter(&machine, OPEN_FOR).unwrap();
        let other = machine.clone();
        let theirs = thread::spawn(move || {
            if let Some(ticket) = enter(&other, OPEN_FOR) {
                other.release(ticket);
            }
        });
        machine.release(probe);
        theirs.join().unwrap();
        assert_eq!(machine.snapshot(OPEN_FOR).probes, 0);
        assert!(enter(&machine, OPEN_FOR).is_some());
    });
}

#[test]
fn two_probes_that_disagree_leave_a_state_that_goes_on() {
    loom::model(|| {
        let machine = machine(1, 2);
        open(&machine);
        let (a, b) = (enter(&machine, OPEN_FOR).unwrap(), enter(&machine, OPEN_FOR).unwrap());
        let other = machine.clone();
        let theirs = thread::spawn(move || say(&other, a, Vote::Success, OPEN_FOR));
        say(&machine, b, Vote::Failure, OPEN_FOR);
        theirs.join().unwrap();
        // The first vote decided, the other came from an epoch that was over.
        assert_ne!(machine.state(OPEN_FOR), State::HalfOpen);
        assert_eq!(machine.snapshot(OPEN_FOR).probes, 0);
        assert!(enter(&machine, OPEN_FOR * 2).is_some());
    });
}

#[test]
fn failures_of_two_threads_are_both_counted() {
    loom::model(|| {
        let machine = machine(2, 1);
        let other = machine.clone();
        let theirs = thread::spawn(move || {
            let ticket = enter(&other, START).unwrap();
            say(&other, ticket, Vote::Failure, START);
        });
        let ticket = enter(&machine, START).unwrap();
        say(&machine, ticket, Vote::Failure, START);
        theirs.join().unwrap();
        assert_eq!(machine.state(START), State::Open);
    });
}

#[test]
fn a_success_resets_the_failures_that_came_before_it() {
    loom::model(|| {
        let machine = machine(2, 1);
        let tickets = [(); 3].map(|()| enter(&machine, START).unwrap());
        say(&machine, tickets[0], Vote::Failure, START);
        let other = machine.clone();
        let theirs = thread::spawn(move || say(&other, tickets[1], Vote::Success, START));
        theirs.join().unwrap();
        say(&machine, tickets[2], Vote::Failure, START);
        assert_eq!(machine.state(START), State::Closed);
    });
}

#[test]
fn a_success_beside_a_failure_never_closes_what_that_opened() {
    loom::model(|| {
        let machine = machine(1, 1);
        let (a, b) = (enter(&machine, START).unwrap(), enter(&machine, START).unwrap());
        let other = machine.clone();
        let theirs = thread::spawn(move || say(&other, a, Vote::Success, START));
        say(&machine, b, Vote::Failure, START);
        theirs.join().unwrap();
        assert_eq!(machine.state(START), State::Open);
        assert!(enter(&machine, START).is_none());
    });
}

#[test]
fn a_hand_on_the_circuit_wins_over_votes() {
    loom::model(|| {
        let machine = machine(1, 1);
        open(&machine);
        let probe = enter(&machine, OPEN_FOR).unwrap();
        let other = machine.clone();
        let theirs = thread::spawn(move || {
            other.force(Some(true), OPEN_FOR);
        });
        say(&machine, probe, Vote::Success, OPEN_FOR);
        theirs.join().unwrap();
        assert_eq!(machine.state(OPEN_FOR * 100), State::Open);
        assert!(enter(&machine, OPEN_FOR * 100).is_none());
        machine.force(None, OPEN_FOR);
        assert!(enter(&machine, OPEN_FOR).is_some());
    });
}

#[test]
fn a_probe_that_lapses_gives_its_slot_once() {
    loom::model(|| {
        let machine = machine(1, 1);
        open(&machine);
        let hung = enter(&machine, OPEN_FOR).unwrap();
        let later = OPEN_FOR + Rules::default().probe_deadline;
        let other = machine.clone();
        let theirs = thread::spawn(move || other.release(hung));
        let ours = enter(&machine, later).unwrap();
        theirs.join().unwrap();
        assert_eq!(machine.snapshot(later).probes, 1);
        assert!(enter(&machine, later).is_none());
        machine.release(ours);
        assert!(enter(&machine, later).is_some());
    });
}
