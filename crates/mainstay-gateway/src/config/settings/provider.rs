//! `[providers.NAME]`

use std::path::PathBuf;

use http::{HeaderMap, Uri};

use super::super::secret::{ApiKey, Proxy};
use super::{Breaker, Limits, Retry, Tables, Timeout};
use mainstay::{provider::Kind, route::Capabilities, sigv4::CredentialsFile};

/// `[providers.NAME]` with the defaults merged in.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The NAME: ASCII letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// Which API it speaks.
    pub kind: Kind,
    /// Where it lives. Without a trailing slash.
    pub base_url: BaseUrl,
    /// Its key; `None` passes the caller's own credentials on, unless requests are signed.
    pub api_key: Option<ApiKey>,
    /// How requests are signed, in place of a key.
    pub aws: Option<Aws>,
    /// Sent with every request. All are marked sensitive, so that `Debug` shows no value.
    pub headers: HeaderMap,
    /// What `GET /v1/models` lists for it.
    pub models: Vec<String>,
    /// `max_tokens` where the provider demands one and the caller named none. Default 8192.
    pub default_max_tokens: u32,
    /// A file of PEM certificates that are trusted besides the usual roots.
    pub ca_file: Option<PathBuf>,
    /// Trust the system's roots too. Default false: the compiled-in ones alone.
    pub native_roots: bool,
    /// Which HTTP is spoken. Default [`Protocol::Auto`].
    pub protocol: Protocol,
    /// HTTP/2 connections that the calls are spread over, as many as it takes. Default 4.
    pub h2_connections: usize,
    /// The way out. Default [`Proxy::Env`].
    pub proxy: Proxy,
    /// What its models can do, where that is declared. Default: nothing is.
    pub capabilities: Capabilities,
    /// Tries.
    pub retry: Retry,
    /// Clocks.
    pub timeout: Timeout,
    /// The circuit.
    pub breaker: Breaker,
    /// Bounds.
    pub limits: Limits,
}

impl Provider {
    /// Every secret of it that may be in text, to be cut out there, but those of [`credentials_file`](Self::credentials_file).
    pub fn keys(&self) -> impl Iterator<Item = &ApiKey> {
        let signing = self.aws.iter().flat_map(|aws| match &aws.keys {
            AwsKeys::Given { access_key_id, secret_access_key, session_token } => {
                [Some(access_key_id), Some(secret_access_key), session_token.as_ref()]
            }
            AwsKeys::File(_) => [None; 3],
        });
        self.api_key.iter().chain(signing.flatten())
    }

    /// The file of credentials that change, which are secrets too.
    #[must_use]
    pub fn credentials_file(&self) -> Option<&CredentialsFile> {
        match self.aws.as_ref().map(|aws| &aws.keys) {
            Some(AwsKeys::File(file)) => Some(file),
            _ => None,
        }
    }

    /// Its four tables, for a target to start from.
    #[must_use]
    pub fn tables(&self) -> Tables {
        Tables {
            retry: self.retry.clone(),
            timeout: self.timeout.clone(),
            breaker: self.breaker.clone(),
            limits: self.limits.clone(),
        }
    }
}

/// How requests to AWS are signed.
#[derive(Clone, Debug)]
pub struct Aws {
    /// With which keys.
    pub keys: AwsKeys,
    /// The region that requests are signed for.
    pub region: String,
}

/// Keys that requests to AWS are signed with.
#[derive(Clone, Debug)]
pub enum AwsKeys {
    /// A pair that was read at the start.
    Given {
        /// The key's id.
        access_key_id: ApiKey,
        /// Its secret.
        secret_access_key: ApiKey,
        /// The token that belongs to temporary credentials.
        session_token: Option<ApiKey>,
    },
    /// Those of a file that somebody else keeps fresh.
    File(CredentialsFile),
}

/// Which HTTP is spoken to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// What ALPN agrees on; HTTP/1.1 without TLS.
    Auto,
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, without TLS by prior knowledge.
    H2,
}

/// An address that requests are sent below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    pub(in crate::config) uri: Uri,
    pub(in crate::config) text: String,
}

impl BaseUrl {
    /// Parsed; scheme and host are there, no query, no user.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// As written, without a trailing slash.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}
