//! What the environment says of a provider.

use super::Provider;
use crate::{
    chat::Chat,
    client::BuildError,
    provider::Kind,
    route::Stack,
    secret::ApiKey,
    sigv4::{Credentials, Signer, bedrock_runtime},
};
use http::Uri;
use std::{error::Error, fmt};

/// Why there is no stack. Its words name variables, never what is in them.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProviderError {
    /// The variable with the key is not set, or empty.
    NoKey {
        /// Which provider.
        kind: Kind,
        /// Which variable.
        variable: &'static str,
    },
    /// The key fits into no header.
    BadKey {
        /// Which provider.
        kind: Kind,
    },
    /// This kind has no address of its own; give one with [`Provider::with_base_url`].
    NoBaseUrl {
        /// Which provider.
        kind: Kind,
    },
    /// The address has no scheme or no host, or is none.
    BadBaseUrl {
        /// Which provider.
        kind: Kind,
    },
    /// The client cannot be built.
    Client(BuildError),
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProviderError::NoKey { kind, variable } => {
                write!(f, "no key for {}: set {variable}", kind.profile().name)
            }
            ProviderError::BadKey { kind } => {
                write!(f, "the key for {} fits into no header", kind.profile().name)
            }
            ProviderError::NoBaseUrl { kind } => {
                write!(f, "{} has an address of your own: give its base URL", kind.profile().name)
            }
            ProviderError::BadBaseUrl { kind } => {
                let name = kind.profile().name;
                write!(f, "the base URL for {name} is none: it needs a scheme and a host")
            }
            ProviderError::Client(error) => error.fmt(f),
        }
    }
}

impl Error for ProviderError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ProviderError::Client(error) => error.source(),
            _ => None,
        }
    }
}

impl From<BuildError> for ProviderError {
    fn from(error: BuildError) -> Self {
        ProviderError::Client(error)
    }
}

impl Provider {
    /// A provider as the environment has it: its key in the variable that its own SDK reads, such as `OPENAI_API_KEY`,
    /// and its address, if it is another than the usual one, in the variable of the same beginning, such as
    /// `OPENAI_BASE_URL`. A kind that asks for no key, such as Ollama, needs neither.
    ///
    /// Bedrock's Converse takes `AWS_BEARER_TOKEN_BEDROCK` or else `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
    /// `AWS_SESSION_TOKEN`, and lives in `AWS_REGION` or `AWS_DEFAULT_REGION`.
    ///
    /// # Errors
    /// Where the key is missing, or the address is none.
    pub fn from_env(kind: Kind) -> Result<Self, ProviderError> {
        Self::from_vars(kind, &|name| std::env::var(name).ok())
    }

    pub(super) fn from_vars(kind: Kind, var: &dyn Fn(&str) -> Option<String>) -> Result<Self, ProviderError> {
        let mut provider = Self::new(kind);
        if kind == Kind::BedrockConverse {
            return provider.of_aws(var);
        }
        let Some(variable) = kind.profile().key_env else { return Ok(provider) };
        let key = var(variable).filter(|key| !key.trim().is_empty());
        let key = key.ok_or(ProviderError::NoKey { kind, variable })?;
        provider = provider.with_key(ApiKey::new(&key).ok_or(ProviderError::BadKey { kind })?);
        let base = variable.strip_suffix("_API_KEY").and_then(|name| var(&format!("{name}_BASE_URL")));
        if let Some(base) = base.filter(|base| !base.trim().is_empty()) {
            let base: Uri = base.trim().parse().map_err(|_| ProviderError::BadBaseUrl { kind })?;
            provider = provider.with_base_url(base);
        }
        Ok(provider)
    }
}

impl Provider {
    /// Bedrock as AWS's own tools find it.
    fn of_aws(mut self, var: &dyn Fn(&str) -> Option<String>) -> Result<Self, ProviderError> {
        let kind = Kind::BedrockConverse;
        let filled = |name: &str| var(name).filter(|value| !value.trim().is_empty());
        let region = filled("AWS_REGION").or_else(|| filled("AWS_DEFAULT_REGION"));
        if let Some(region) = &region {
            let base = bedrock_runtime(region.trim()).ok_or(ProviderError::BadBaseUrl { kind })?;
            self = self.with_base_url(base.parse().map_err(|_| ProviderError::BadBaseUrl { kind })?);
        }
        const BEARER: &str = "AWS_BEARER_TOKEN_BEDROCK";
        if let Some(key) = filled(BEARER) {
            return Ok(self.with_key(ApiKey::new(&key).ok_or(ProviderError::BadKey { kind })?));
        }
        let pair = (filled("AWS_ACCESS_KEY_ID"), filled("AWS_SECRET_ACCESS_KEY"));
        let (Some(id), Some(secret)) = pair else {
            return Err(ProviderError::NoKey { kind, variable: BEARER });
        };
        let region = region.ok_or(ProviderError::NoBaseUrl { kind })?;
        let credentials = Credentials::new(&id, &secret, filled("AWS_SESSION_TOKEN").as_deref());
        let credentials = credentials.ok_or(ProviderError::BadKey { kind })?;
        Ok(self.with_signer(Signer::new(credentials, region.trim(), "bedrock")))
    }
}

/// Ready-made stacks of the main providers, with keys from the environment; see [`Provider::from_env`].
impl Chat<Stack> {
    /// A client for any provider, over [its ready-made stack](crate::stack).
    ///
    /// # Errors
    /// As [`Provider::from_env`], and where the client cannot be built.
    pub fn from_env(kind: Kind) -> Result<Self, ProviderError> {
        Provider::from_env(kind)?.chat()
    }

    /// OpenAI, with `OPENAI_API_KEY`.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    pub fn openai_from_env() -> Result<Self, ProviderError> {
        Self::from_env(Kind::OpenAi)
    }

    /// Anthropic, with `ANTHROPIC_API_KEY`.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    pub fn anthropic_from_env() -> Result<Self, ProviderError> {
        Self::from_env(Kind::Anthropic)
    }
}
