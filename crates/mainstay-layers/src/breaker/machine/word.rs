//! Epoch and mode in one word, so that a closed circuit admits with one load.

use super::super::observe::State;

const MODE_BITS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Closed = 0,
    HalfOpen = 1,
    Open = 2,
    HeldClosed = 3,
    HeldOpen = 4,
}

impl Mode {
    pub(super) fn state(self) -> State {
        match self {
            Mode::Closed | Mode::HeldClosed => State::Closed,
            Mode::HalfOpen => State::HalfOpen,
            Mode::Open | Mode::HeldOpen => State::Open,
        }
    }
}

pub(super) fn pack(epoch: u64, mode: Mode) -> u64 {
    epoch << MODE_BITS | mode as u64
}

#[inline]
pub(super) fn epoch_of(word: u64) -> u64 {
    word >> MODE_BITS
}

#[inline]
pub(super) fn is_closed(word: u64) -> bool {
    matches!(mode_of(word), Mode::Closed | Mode::HeldClosed)
}

#[inline]
pub(super) fn mode_of(word: u64) -> Mode {
    match word & ((1 << MODE_BITS) - 1) {
        1 => Mode::HalfOpen,
        2 => Mode::Open,
        3 => Mode::HeldClosed,
        4 => Mode::HeldOpen,
        _ => Mode::Closed,
    }
}
