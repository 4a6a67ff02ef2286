//! The log: lines on stderr, as text or as JSON.
//!
//! Everything goes through `tracing`, so that `RUST_LOG` decides what is written (default `info`). The line of a request is
//! written by a [formatter](line) of its own, in the same form as every other: there is one for each request, and the
//! general formatter would take more time over it than all layers together.

mod line;
mod time;

use crate::cli::LogFormat;
use line::RequestLines;
use std::io::{self, IsTerminal};
use tracing_subscriber::{
    EnvFilter,
    fmt::{format::Format, writer::BoxMakeWriter},
};

/// Writes what is logged to stderr from now on.
pub fn to_stderr(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr());
    match format {
        LogFormat::Text => {
            let lines = RequestLines::text(Format::default());
            log.with_ansi(io::stderr().is_terminal()).event_format(lines).init();
        }
        LogFormat::Json => log.json().map_event_format(RequestLines::json).init(),
    }
}

/// Stderr without the standard library's lock, for which busy workers would wait on each other: a line is written by one call,
/// and calls are not mixed (POSIX; on a pipe as long as a line has no more than 4096 bytes, which a request's has not).
#[cfg(unix)]
fn stderr() -> BoxMakeWriter {
    use std::{fs::File, os::fd::AsFd};
    match io::stderr().as_fd().try_clone_to_owned() {
        Ok(own) => BoxMakeWriter::new(File::from(own)),
        // It is closed.
        Err(_) => BoxMakeWriter::new(io::stderr),
    }
}

#[cfg(not(unix))]
fn stderr() -> BoxMakeWriter {
    BoxMakeWriter::new(io::stderr)
}
