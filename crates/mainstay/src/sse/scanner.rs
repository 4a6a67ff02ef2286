//! The incremental scanner.

use super::{Block, SseError, line::BOM, line::Draft};
use bytes::{Buf, Bytes};
use memchr::memchr2;
use serde::de::IgnoredAny;
use std::collections::VecDeque;

/// The most bytes of one block unless set otherwise: 8 MiB. Single events of several MiB (images, tool arguments) exist.
pub const DEFAULT_MAX_EVENT: usize = 8 * 1024 * 1024;

/// Cuts a stream of bytes into [`Block`]s. See the [module](super) for what it promises.
///
/// After each [`push`](Self::push), call [`next_block`](Self::next_block) until it gives `None`; at the end of the
/// body, call [`finish`](Self::finish) until it gives `None`. A block of complete comment lines is handed back as soon
/// as the frame ends, so that keep-alives are not held up.
#[derive(Debug)]
pub struct Scanner {
    max: usize,
    /// Frames that were not looked at yet.
    queue: VecDeque<Bytes>,
    /// The frame that is being looked at.
    frame: Bytes,
    /// How much of `frame` was looked at; that much belongs to the block, after `held`.
    pos: usize,
    /// The block's bytes from earlier frames.
    held: Vec<u8>,
    /// Where in the block the line starts.
    line: usize,
    /// The last line ended with CR at the end of a frame: an LF that follows belongs to it.
    after_cr: bool,
    /// No line of the stream has ended yet: it may start with a BOM.
    at_start: bool,
    draft: Draft,
    failed: bool,
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}

impl Scanner {
    /// A scanner at the head of a stream, with a bound of [`DEFAULT_MAX_EVENT`].
    pub fn new() -> Self {
        Self {
            max: DEFAULT_MAX_EVENT,
            queue: VecDeque::new(),
            frame: Bytes::new(),
            pos: 0,
            held: Vec::new(),
            line: 0,
            after_cr: false,
            at_start: true,
            draft: Draft::default(),
            failed: false,
        }
    }

    /// Sets the most bytes of one block, its line ends included; exactly as many pass.
    #[must_use]
    pub fn with_max_event(mut self, bytes: usize) -> Self {
        self.max = bytes;
        self
    }

    /// Takes the next frame, without copying it.
    pub fn push(&mut self, frame: Bytes) {
        if self.failed || frame.is_empty() {
            return;
        }
        if self.frame.is_empty() {
            self.frame = frame;
        } else {
            self.queue.push_back(frame);
        }
    }

    /// The next block; `None` until more is pushed.
    ///
    /// # Errors
    ///
    /// [`SseError::EventTooLarge`]; from then on always.
    pub fn next_block(&mut self) -> Result<Option<Block>, SseError> {
        loop {
            self.check()?;
            if self.pos >= self.frame.len() {
                if self.is_comment() {
                    return Ok(Some(self.take(None)));
                }
                self.held.extend_from_slice(&self.frame);
                self.pos = 0;
                self.frame = self.queue.pop_front().unwrap_or_default();
                if self.frame.is_empty() {
                    return Ok(None);
                }
            }
            let rest = self.frame.get(self.pos..).unwrap_or_default();
            if std::mem::take(&mut self.after_cr) && rest.first() == Some(&b'\n') {
                self.pos += 1;
                self.line = self.len();
                // The LF of a blank line's CRLF: its block is gone already, and readers may wait for it.
                if self.line == 1 {
                    return Ok(Some(self.take(None)));
                }
                continue;
            }
            let Some(end) = memchr2(b'\r', b'\n', rest) else {
                self.pos = self.frame.len();
                continue;
            };
            let at = self.line..self.len() + end;
            self.pos += end + 1;
            if rest.get(end) == Some(&b'\r') {
                match rest.get(end + 1) {
                    Some(b'\n') => self.pos += 1,
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            self.check()?;
            if !self.held.is_empty() {
                self.held.extend_from_slice(self.frame.get(..self.pos).unwrap_or_default());
                self.frame.advance(self.pos);
                self.pos = 0;
            }
            self.line = self.len();
            let block = if self.held.is_empty() { &self.frame[..] } else { &self.held[..] };
            let at = skip_bom(&mut self.at_start, block, at);
            if at.is_empty() {
                let draft = std::mem::take(&mut self.draft);
                return Ok(Some(self.take(Some(draft))));
            }
            self.draft.line(block, at);
        }
    }

    /// At the end of the body: the blocks that are left, and at last the unfinished rest, if any. The rest is not
    /// `complete`; its event is there if its data is whole (see the [module](super)).
    ///
    /// # Errors
    ///
    /// As [`next_block`](Self::next_block).
    pub fn finish(&mut self) -> Result<Option<Block>, SseError> {
        if let Some(block) = self.next_block()? {
            return Ok(Some(block));
        }
        if self.held.is_empty() {
            return Ok(None);
        }
        let at = skip_bom(&mut self.at_start, &self.held, self.line..self.held.len());
        let mut draft = std::mem::take(&mut self.draft);
        // Of a line that was cut only data can be known to be whole.
        if self.held.get(at.clone()).unwrap_or_default().starts_with(b"data") {
            draft.line(&self.held, at);
        }
        let mut block = self.take(Some(draft));
        block.complete = false;
        block.event = block.event.filter(|event| event.is_done() || is_whole_json(event.data()));
        Ok(Some(block))
    }

    /// Whether bytes were pushed that no block has handed back yet.
    pub fn has_partial(&self) -> bool {
        !(self.held.is_empty() && self.frame.is_empty())
    }

    /// What the next block begins with: all of the frame at hand, if nothing of it was looked at, and nothing that came
    /// before belongs to it. `None` too at the head of the stream, where a BOM may stand.
    pub(crate) fn ahead(&self) -> Option<&[u8]> {
        (self.is_between_blocks() && !self.frame.is_empty()).then_some(&self.frame[..])
    }

    /// Whether the next byte that is pushed, or that lies in the frame at hand, begins a block.
    pub(crate) fn is_between_blocks(&self) -> bool {
        let looked_at = self.pos > 0 || self.line > 0 || self.draft.begun || !self.held.is_empty();
        !(looked_at || self.after_cr || self.at_start || self.failed)
    }

    /// Hands back so many bytes of what is [`ahead`](Self::ahead): whole blocks, which somebody else has read.
    pub(crate) fn skip(&mut self, len: usize) -> Bytes {
        let skipped = self.frame.split_to(len.min(self.frame.len()));
        if self.frame.is_empty() {
            self.frame = self.queue.pop_front().unwrap_or_default();
        }
        skipped
    }

    /// The block's length so far.
    fn len(&self) -> usize {
        self.held.len() + self.pos
    }

    fn check(&mut self) -> Result<(), SseError> {
        if self.failed || self.len() > self.max {
            self.failed = true;
            self.queue = VecDeque::new();
            self.frame = Bytes::new();
            self.held = Vec::new();
            self.pos = 0;
            return Err(SseError::EventTooLarge { limit: self.max });
        }
        Ok(())
    }

    /// Whether the block is nothing but whole comment lines, so far.
    fn is_comment(&self) -> bool {
        !self.draft.begun && self.len() > 0 && self.line == self.len()
    }

    /// Hands the block back and begins the next one.
    fn take(&mut self, draft: Option<Draft>) -> Block {
        let raw = if self.held.is_empty() {
            self.frame.split_to(self.pos)
        } else {
            self.held.extend_from_slice(self.frame.get(..self.pos).unwrap_or_default());
            self.frame.advance(self.pos);
            Bytes::from(std::mem::take(&mut self.held))
        };
        self.pos = 0;
        self.line = 0;
        if self.frame.is_empty() {
            self.frame = self.queue.pop_front().unwrap_or_default();
        }
        let event = draft.and_then(|draft| draft.event(&raw));
        Block { raw, event, complete: true }
    }
}

/// The line without the BOM that the stream may start with.
fn skip_bom(at_start: &mut bool, block: &[u8], at: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let first = std::mem::take(at_start);
    let bom = first && block.get(at.clone()).unwrap_or_default().starts_with(BOM);
    if bom { at.start + BOM.len()..at.end } else { at }
}

/// Whether this is one whole JSON object or array. A number or a word could be cut and still be one.
fn is_whole_json(data: &[u8]) -> bool {
    matches!(data.trim_ascii_start().first(), Some(b'{' | b'['))
        && serde_json::from_slice::<IgnoredAny>(data).is_ok()
}
