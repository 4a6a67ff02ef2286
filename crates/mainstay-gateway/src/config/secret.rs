//! Values that no log, error or listing may show.

use std::fmt;
use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};

/// A provider's key, with where it came from. `Debug` shows only the latter.
#[derive(Clone)]
pub struct ApiKey {
    source: KeySource,
    value: SecretString,
}

impl ApiKey {
    pub(super) fn new(source: KeySource, value: String) -> Self {
        Self { source, value: value.into() }
    }

    /// Where it came from.
    #[must_use]
    pub fn source(&self) -> &KeySource {
        &self.source
    }

    /// The key. It has been trimmed, is not empty and fits into a header.
    #[must_use]
    pub fn secret(&self) -> &SecretString {
        &self.value
    }

    /// The key's text, for the one place that puts it into a header.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.value.expose_secret()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey(set from {})", self.source)
    }
}

/// Where a key came from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySource {
    /// An environment variable.
    Env(String),
    /// A file.
    File(PathBuf),
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => f.write_str(name),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The way out to a provider.
#[derive(Clone, Debug)]
pub enum Proxy {
    /// What `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` say.
    Env,
    /// None, whatever the environment says.
    Off,
    /// This one.
    Url(ProxyUrl),
}

/// A proxy's address, which may hold a user and a password. `Debug` and `Display` hide them.
#[derive(Clone)]
pub struct ProxyUrl {
    shown: String,
    value: SecretString,
}

impl ProxyUrl {
    pub(super) fn new(shown: String, value: String) -> Self {
        Self { shown, value: value.into() }
    }

    /// The whole address, for the one place that connects.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.value.expose_secret()
    }
}

impl fmt::Display for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyUrl({})", self.shown)
    }
}
