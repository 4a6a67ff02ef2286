//! The signature.

use super::{
    Credentials, PayloadHash,
    canonical::{self, hex},
};
use http::{HeaderName, HeaderValue, header, request::Parts};
use sha2::{Digest, Sha256};
use std::{fmt, sync::Arc, time::SystemTime};

const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Signs requests to one service in one region. A clone is cheap.
#[derive(Clone)]
pub struct Signer {
    source: Source,
    region: Arc<str>,
    service: Arc<str>,
    clock: Option<Arc<Clock>>,
}

type Clock = dyn Fn() -> SystemTime + Send + Sync;

/// Where its credentials come from.
#[derive(Clone)]
enum Source {
    Given(Credentials),
    Asked(Arc<dyn Fn() -> Credentials + Send + Sync>),
}

impl Signer {
    /// Signs for `service` (Bedrock's is `bedrock`) in `region`.
    pub fn new(credentials: Credentials, region: &str, service: &str) -> Self {
        Self {
            source: Source::Given(credentials),
            region: region.into(),
            service: service.into(),
            clock: None,
        }
    }

    /// Signs with what `credentials` says, which is asked for every try, so it should be quick: for temporary ones, which
    /// expire. [`CredentialsFile`](super::CredentialsFile) has them from a file.
    pub fn asking(
        credentials: impl Fn() -> Credentials + Send + Sync + 'static,
        region: &str,
        service: &str,
    ) -> Self {
        let source = Source::Asked(Arc::new(credentials));
        Self { source, region: region.into(), service: service.into(), clock: None }
    }

    /// Another clock than the system's, for tests.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// The credentials that it signs with now.
    pub fn credentials(&self) -> Credentials {
        match &self.source {
            Source::Given(credentials) => credentials.clone(),
            Source::Asked(source) => source(),
        }
    }

    /// Signs the head of a request that is complete: its address is absolute, and no header that is signed will change.
    /// The time, the session token and the signature are put into its headers.
    ///
    /// # Errors
    /// [`SignError`] where the hash of the body is not known, or the time is none that can be told.
    pub fn sign(&self, parts: &mut Parts) -> Result<(), SignError> {
        let payload = parts.extensions.get::<PayloadHash>().ok_or(SignError::NoHash)?.clone();
        let now = self.clock.as_ref().map_or_else(SystemTime::now, |clock| clock());
        let time = timestamp(now).ok_or(SignError::NoTime)?;
        let date = time.get(..8).ok_or(SignError::NoTime)?;
        let credentials = self.credentials();
        parts.headers.remove(TOKEN);
        parts.headers.insert(DATE, HeaderValue::from_str(&time).map_err(|_| SignError::NoTime)?);
        if let Some(token) = credentials.session_token.as_ref().and_then(|token| token.header("")) {
            parts.headers.insert(TOKEN, token);
        }
        let (lines, names) = canonical::headers(&parts.uri, &parts.headers);
        let request = format!(
            "{}\n{}\n{}\n{lines}\n{names}\n{}",
            parts.method,
            canonical::path(&parts.uri),
            canonical::query(&parts.uri),
            payload.0,
        );
        let scope = format!("{date}/{}/{}/aws4_request", self.region, self.service);
        let text = format!("{ALGORITHM}\n{time}\n{scope}\n{}", hex(&Sha256::digest(request)));
        let signature = hex(&hmac(&self.key(&credentials, date), text.as_bytes()));
        let key = credentials.access_key_id.expose();
        let value =
            format!("{ALGORITHM} Credential={key}/{scope}, SignedHeaders={names}, Signature={signature}");
        let mut value = HeaderValue::from_str(&value).map_err(|_| SignError::NoHeader)?;
        value.set_sensitive(true);
        parts.headers.insert(header::AUTHORIZATION, value);
        Ok(())
    }

    /// The key of a day, region and service.
    fn key(&self, credentials: &Credentials, date: &str) -> [u8; 32] {
        let secret = format!("AWS4{}", credentials.secret_access_key.expose());
        let steps = [date, &self.region, &self.service, "aws4_request"];
        let mut key = secret.into_bytes();
        for step in steps {
            key = hmac(&key, step.as_bytes()).to_vec();
        }
        key.try_into().unwrap_or_default()
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("region", &self.region)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

/// Why a request was not signed, and so not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignError {
    /// The hash of the body is not in the extensions: no [`PayloadHashLayer`](super::PayloadHashLayer) stands above.
    NoHash,
    /// The clock tells a time that cannot be written.
    NoTime,
    /// The region or the service cannot stand in a header.
    NoHeader,
}

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SignError::NoHash => "the request cannot be signed: the hash of its body is not known",
            SignError::NoTime => "the request cannot be signed: the system's clock tells no usable time",
            SignError::NoHeader => "the request cannot be signed: its region or service fits into no header",
        })
    }
}

impl std::error::Error for SignError {}

/// `20150830T123600Z`.
fn timestamp(time: SystemTime) -> Option<String> {
    // Its formatter panics outside these.
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    const YEAR_9999: u64 = 253_370_764_800;
    (seconds < YEAR_9999).then(|| {
        let text = humantime::format_rfc3339_seconds(time).to_string();
        text.chars().filter(|c| !matches!(c, '-' | ':')).collect()
    })
}

/// HMAC-SHA-256 (RFC 2104).
pub(super) fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    const BLOCK: usize = 64;
    let mut block = [0u8; BLOCK];
    let digest;
    let short = if key.len() > BLOCK {
        digest = Sha256::digest(key);
        digest.as_slice()
    } else {
        key
    };
    block.iter_mut().zip(short).for_each(|(place, byte)| *place = *byte);
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}
