//! Where lines go: to stderr, the lines of requests several at a time.
//!
//! A busy worker ends some calls each time it wakes, and a write for each of them costs as much as all layers together,
//! more where two workers want the lock of stderr. So a worker [holds](hold) the lines of requests and [writes](write_held)
//! them before it sleeps, which is when it has done what there was to do: nobody waits for a line, and none is left behind.
//! Every other line is written at once, after those that are held. Threads that never said so hold nothing.

use crate::app::REQUEST_LINE;
use std::{
    cell::RefCell,
    io::{self, Write},
};
use tracing::Metadata;
use tracing_subscriber::fmt::MakeWriter;

/// How many bytes are written at once: a write of at most this to a pipe is never mixed with another thread's. Linux's
/// `PIPE_BUF`.
const MOST: usize = 4096;

thread_local! {
    static HELD: RefCell<Held<Stderr>> = const { RefCell::new(Held::none(Stderr)) };
}

/// This thread holds the lines of requests from now on, and promises to call [`write_held`] before it sleeps.
pub(crate) fn hold() {
    // Where the thread is ending there is nothing to hold any more.
    let _ = HELD.try_with(|held| held.borrow_mut().hold());
}

/// Writes what this thread holds.
pub(crate) fn write_held() {
    // A log that cannot be written ends nothing.
    let _ = HELD.try_with(|held| held.borrow_mut().write());
}

/// Makes writers to stderr.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines;

impl MakeWriter<'_> for Lines {
    type Writer = Line;

    fn make_writer(&self) -> Line {
        Line { may_wait: false }
    }

    fn make_writer_for(&self, meta: &Metadata<'_>) -> Line {
        Line { may_wait: meta.target() == REQUEST_LINE }
    }
}

/// Takes one line.
#[derive(Debug)]
pub(super) struct Line {
    may_wait: bool,
}

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match HELD.try_with(|held| held.borrow_mut().take(line, self.may_wait)) {
            Ok(taken) => taken.map(|()| line.len()),
            // The thread ends.
            Err(_) => Stderr.write(line),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Stderr as it is: without a buffer, and with the lock of the standard library.
#[derive(Debug)]
struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Lines that a thread has still to write. Dropped, it writes them.
#[derive(Debug)]
struct Held<W: Write> {
    lines: Vec<u8>,
    holds: bool,
    to: W,
}

impl<W: Write> Held<W> {
    const fn none(to: W) -> Self {
        Self { lines: Vec::new(), holds: false, to }
    }

    fn hold(&mut self) {
        self.holds = true;
        self.lines.reserve(MOST);
    }

    fn take(&mut self, line: &[u8], may_wait: bool) -> io::Result<()> {
        let waits = self.holds && may_wait && line.len() <= MOST;
        if !waits || self.lines.len() + line.len() > MOST {
            self.write()?;
        }
        if waits {
            self.lines.extend_from_slice(line);
            return Ok(());
        }
        self.to.write_all(line)
    }

    fn write(&mut self) -> io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let written = self.to.write_all(&self.lines);
        // What could not be written is not tried again: it would be there twice, or for ever.
        self.lines.clear();
        written
    }
}

impl<W: Write> Drop for Held<W> {
    fn drop(&mut self) {
        // Nobody is there to hear of an error.
        let _ = self.write();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was written, write by write.
    type Writes = Vec<String>;

    struct To<'a>(&'a mut Writes);

    impl Write for To<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(String::from_utf8(bytes.to_vec()).unwrap());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn holding(writes: &mut Writes) -> Held<To<'_>> {
        let mut held = Held::none(To(writes));
        held.hold();
        held
    }

    #[test]
    fn lines_of_requests_go_out_together() {
        let mut writes = Writes::new();
        let mut held = holding(&mut writes);
        held.take(b"one\n", true).unwrap();
        held.take(b"two\n", true).unwrap();
        held.write().unwrap();
        held.write().unwrap();
        held.take(b"three\n", true).unwrap();
        held.write().unwrap();
        drop(held);
        assert_eq!(writes, ["one\ntwo\n", "three\n"]);
    }

    #[test]
    fn what_may_not_wait_goes_out_at_once_and_in_its_place() {
        let mut writes = Writes::new();
        let mut held = holding(&mut writes);
        held.take(b"one\n", true).unwrap();
        held.take(b"a warning\n", false).unwrap();
        drop(held);
        assert_eq!(writes, ["one\n", "a warning\n"]);
    }

    #[test]
    fn a_thread_that_made_no_promise_holds_nothing() {
        let mut writes = Writes::new();
        let mut held = Held::none(To(&mut writes));
        held.take(b"one\n", true).unwrap();
        held.take(b"two\n", true).unwrap();
        drop(held);
        assert_eq!(writes, ["one\n", "two\n"]);
    }

    #[test]
    fn no_write_is_longer_than_a_pipe_takes_whole() {
        let mut writes = Writes::new();
        let mut held = holding(&mut writes);
        let line = format!("{}\n", "x".repeat(1499));
        for _ in 0..5 {
            held.take(line.as_bytes(), true).unwrap();
        }
        drop(held);
        let lengths: Vec<usize> = writes.iter().map(String::len).collect();
        assert_eq!(lengths, [3000, 3000, 1500]);
    }

    #[test]
    fn a_line_that_is_longer_still_goes_out_alone() {
        let mut writes = Writes::new();
        let mut held = holding(&mut writes);
        held.take(b"one\n", true).unwrap();
        held.take(&[b'x'; MOST + 1], true).unwrap();
        drop(held);
        assert_eq!(writes.len(), 2);
    }

    #[test]
    fn the_end_of_a_thread_leaves_nothing_behind() {
        let mut writes = Writes::new();
        let mut held = holding(&mut writes);
        held.take(b"the last\n", true).unwrap();
        drop(held);
        assert_eq!(writes, ["the last\n"]);
    }
}
