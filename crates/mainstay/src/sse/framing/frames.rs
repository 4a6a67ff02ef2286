//! Frames that were pushed, and the beginning of a unit that spans them.

use bytes::{Buf, Bytes};
use std::collections::VecDeque;

/// Bytes that came in frames and are taken in units of known length.
#[derive(Debug, Default)]
pub(super) struct Frames {
    queue: VecDeque<Bytes>,
    frame: Bytes,
    held: Vec<u8>,
}

impl Frames {
    pub(super) fn push(&mut self, frame: Bytes) {
        if frame.is_empty() {
        } else if self.frame.is_empty() {
            self.frame = frame;
        } else {
            self.queue.push_back(frame);
        }
    }

    /// Bytes of the unit that were held back from earlier frames.
    pub(super) fn held(&self) -> &[u8] {
        &self.held
    }

    /// The frame at hand; what follows `held`.
    pub(super) fn frame(&self) -> &[u8] {
        &self.frame
    }

    /// Moves the first `n` bytes of the frame at hand to those held; the next frame, if it was used up.
    pub(super) fn hold(&mut self, n: usize) {
        let n = n.min(self.frame.len());
        self.held.extend_from_slice(self.frame.get(..n).unwrap_or_default());
        self.advance(n);
    }

    /// Takes what is held and the first `n` bytes of the frame at hand as one.
    pub(super) fn take(&mut self, n: usize) -> Bytes {
        let n = n.min(self.frame.len());
        if self.held.is_empty() {
            let unit = self.frame.split_to(n);
            self.advance(0);
            return unit;
        }
        self.hold(n);
        Bytes::from(std::mem::take(&mut self.held))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && self.frame.is_empty()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn advance(&mut self, n: usize) {
        self.frame.advance(n);
        if self.frame.is_empty() {
            self.frame = self.queue.pop_front().unwrap_or_default();
        }
    }
}
