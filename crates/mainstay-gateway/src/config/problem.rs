//! What is wrong with a configuration, for the person who has to mend it.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// The way to the key, as `providers.openai.retry.attempts`; empty where the syntax is wrong.
    pub key: String,
    /// What stands there. Never a secret.
    pub found: String,
    /// What would be right.
    pub expected: String,
}

/// Something that works but is hardly meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Counted from 1.
    pub line: usize,
    /// The way to the key.
    pub key: String,
    /// What is odd about it. Never a secret.
    pub message: String,
}

/// `LINE: KEY: MESSAGE`, to follow a file's name and a colon.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.line, self.key, self.message)
    }
}

/// Why a configuration was refused. `Display` has one block for each problem.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    Read {
        /// Which.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What it says cannot be used.
    Invalid {
        /// The file, as it was named.
        file: String,
        /// At least one, in the order of the file.
        problems: Vec<Problem>,
        /// How many more there are than `problems` holds.
        more: usize,
    },
}

impl ConfigError {
    /// The problems; none if the file could not be read.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Read { .. } => &[],
            Self::Invalid { problems, .. } => problems,
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { file, source } => write!(
                f,
                "{}: the configuration cannot be read: {source}\n  expected: a readable file of TOML in UTF-8",
                file.display()
            ),
            Self::Invalid { file, problems, more } => {
                for (at, problem) in problems.iter().enumerate() {
                    if at > 0 {
                        f.write_str("\n\n")?;
                    }
                    let Problem { line, column, key, found, expected } = problem;
                    write!(f, "{file}:{line}:{column}: {}", if key.is_empty() { "not TOML" } else { key })?;
                    write!(f, "\n  found:    {found}\n  expected: {expected}")?;
                }
                match more {
                    0 => Ok(()),
                    more => write!(f, "\n\nand {more} more"),
                }
            }
        }
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            Self::Invalid { .. } => None,
        }
    }
}
