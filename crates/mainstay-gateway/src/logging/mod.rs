//! The log: lines on stderr, as text or as JSON.
//!
//! Everything goes through `tracing`, so that `RUST_LOG` decides what is written (default `info`). The line of a request is
//! written by a [formatter](line) of its own, in the same form as every other: there is one for each request, and the
//! general formatter would take more time over it than all layers together.

mod line;
mod time;
mod writer;

pub(crate) use writer::{hold, write_held};

use crate::cli::LogFormat;
use line::RequestLines;
use std::io::{self, IsTerminal};
use tracing_subscriber::{EnvFilter, fmt::format::Format};
use writer::Lines;

/// Writes what is logged to stderr from now on.
pub fn to_stderr(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(Lines);
    match format {
        LogFormat::Text => {
            let lines = RequestLines::text(Format::default());
            log.with_ansi(io::stderr().is_terminal()).event_format(lines).init();
        }
        LogFormat::Json => log.json().map_event_format(RequestLines::json).init(),
    }
}
