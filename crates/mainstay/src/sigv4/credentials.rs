//! A key pair.

use crate::secret::ApiKey;
use std::fmt;

/// An access key and its secret, and the session token that belongs to temporary ones. `Debug` shows none of it.
#[derive(Clone)]
pub struct Credentials {
    pub(super) access_key_id: ApiKey,
    pub(super) secret_access_key: ApiKey,
    pub(super) session_token: Option<ApiKey>,
}

impl Credentials {
    /// Credentials; `None` where one of them is empty, or could not stand in a header.
    pub fn new(access_key_id: &str, secret_access_key: &str, session_token: Option<&str>) -> Option<Self> {
        Some(Self {
            access_key_id: ApiKey::new(access_key_id)?,
            secret_access_key: ApiKey::new(secret_access_key)?,
            session_token: match session_token {
                Some(token) => Some(ApiKey::new(token)?),
                None => None,
            },
        })
    }

    /// What must be cut out of text that others see.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        [Some(&self.secret_access_key), self.session_token.as_ref()].into_iter().flatten().map(ApiKey::expose)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(..)")
    }
}
