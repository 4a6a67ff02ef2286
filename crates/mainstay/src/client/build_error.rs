//! Why a client could not be built.

use std::{fmt, path::PathBuf};

/// A setting that cannot be carried out. The words say what to change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// A file of trusted certificates cannot be used.
    RootFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The system's certificate store cannot be used.
    NativeRoots {
        /// What is wrong with it.
        reason: String,
    },
    /// No source of trusted certificates is left.
    NoRoots,
    /// A proxy's URL cannot be used. The URL is not shown: it may hold a password.
    Proxy {
        /// The variable, or the setting that has its place.
        name: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The TLS library refused its settings.
    Tls {
        /// Why.
        reason: String,
    },
    /// A number or duration out of its range.
    Setting {
        /// The builder's method.
        name: &'static str,
        /// What was expected.
        reason: &'static str,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RootFile { path, reason } => {
                write!(
                    f,
                    "trusted certificates from {}: {reason}; give a PEM file that can be read",
                    path.display()
                )
            }
            Self::NativeRoots { reason } => write!(
                f,
                "the system's certificate store: {reason}; install the system's CA certificates or turn native_roots off"
            ),
            Self::NoRoots => f.write_str(
                "no certificate would be trusted; leave webpki_roots on, or add native_roots or a root file",
            ),
            Self::Proxy { name, reason } => write!(f, "{name}: {reason}"),
            Self::Tls { reason } => write!(f, "TLS: {reason}"),
            Self::Setting { name, reason } => write!(f, "{name}: {reason}"),
        }
    }
}

impl std::error::Error for BuildError {}
