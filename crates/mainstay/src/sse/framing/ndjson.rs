//! Lines of JSON (`application/x-ndjson`), as Ollama's own API streams them.
//!
//! ```
//! use mainstay::sse::framing::ndjson::Scanner;
//!
//! let mut scanner = Scanner::new();
//! scanner.push("{\"done\":false}\r\n{\"done\":".into());
//! assert_eq!(scanner.next_line().unwrap().unwrap().data, "{\"done\":false}");
//! assert!(scanner.next_line().unwrap().is_none());
//! scanner.push("true}".into());
//! let last = scanner.finish().unwrap().unwrap();
//! assert_eq!(last.data, "{\"done\":true}");
//! assert!(!last.complete);
//! ```

use super::frames::Frames;
use crate::sse::DEFAULT_MAX_EVENT;
use bytes::Bytes;
use std::{error::Error, fmt};

/// One line, with the bytes it was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The bytes as they came, line end included.
    pub raw: Bytes,
    /// The line without the blanks around it; empty for a blank line.
    pub data: Bytes,
    /// Whether the line had its end. `false` only for the rest at the end of the file.
    pub complete: bool,
}

/// A line is longer than the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineTooLarge {
    /// The limit in bytes; exactly as many pass.
    pub limit: usize,
}

impl fmt::Display for LineTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a line of the stream is over {} bytes", self.limit)
    }
}

impl Error for LineTooLarge {}

/// Cuts a stream into lines, each at most 8 MiB unless set otherwise. All `raw` in order are the stream.
#[derive(Debug)]
pub struct Scanner {
    max: usize,
    frames: Frames,
    failed: bool,
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}

impl Scanner {
    /// A scanner with a bound of [`DEFAULT_MAX_EVENT`].
    pub fn new() -> Self {
        Self { max: DEFAULT_MAX_EVENT, frames: Frames::default(), failed: false }
    }

    /// Sets the most bytes of one line, its end included; exactly as many pass.
    #[must_use]
    pub fn with_max_line(mut self, bytes: usize) -> Self {
        self.max = bytes;
        self
    }

    /// Takes the next frame, without copying it.
    pub fn push(&mut self, frame: Bytes) {
        if !self.failed {
            self.frames.push(frame);
        }
    }

    /// The next line; `None` until more is pushed.
    ///
    /// # Errors
    ///
    /// [`LineTooLarge`]; from then on always.
    pub fn next_line(&mut self) -> Result<Option<Line>, LineTooLarge> {
        while !self.failed && !self.frames.frame().is_empty() {
            let frame = self.frames.frame();
            let end = memchr::memchr(b'\n', frame);
            let n = end.map_or(frame.len(), |end| end + 1);
            if self.frames.held().len() + n > self.max {
                self.failed = true;
                self.frames.clear();
            } else if end.is_some() {
                return Ok(Some(line(self.frames.take(n), true)));
            } else {
                self.frames.hold(n);
            }
        }
        if self.failed { Err(LineTooLarge { limit: self.max }) } else { Ok(None) }
    }

    /// At the end of the body: the lines that are left, and at last the rest without a line end.
    ///
    /// # Errors
    ///
    /// As [`next_line`](Self::next_line).
    pub fn finish(&mut self) -> Result<Option<Line>, LineTooLarge> {
        match self.next_line()? {
            None if self.has_partial() => Ok(Some(line(self.frames.take(0), false))),
            found => Ok(found),
        }
    }

    /// Whether bytes were pushed that no line has handed back yet.
    pub fn has_partial(&self) -> bool {
        !self.frames.is_empty()
    }
}

fn line(raw: Bytes, complete: bool) -> Line {
    let data = raw.slice_ref(raw.trim_ascii());
    Line { raw, data, complete }
}
