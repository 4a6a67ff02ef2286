//! The error of a fault.

use std::{error::Error, fmt, io};

/// A fault that was asked for. Its source is an [`io::Error`] of the kind that the real one would be.
#[derive(Debug)]
pub struct Injected {
    fault: &'static str,
    as_if: io::Error,
}

impl Injected {
    pub(super) fn new(fault: &'static str, kind: io::ErrorKind) -> Self {
        Self { fault, as_if: kind.into() }
    }

    /// Which fault: `drop_before`, `drop_after`, `lost_reply` or `body_error`.
    pub fn fault(&self) -> &'static str {
        self.fault
    }

    /// The kind of the error that it stands for.
    pub fn kind(&self) -> io::ErrorKind {
        self.as_if.kind()
    }
}

impl fmt::Display for Injected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "injected fault: {}", self.fault)
    }
}

impl Error for Injected {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.as_if)
    }
}
