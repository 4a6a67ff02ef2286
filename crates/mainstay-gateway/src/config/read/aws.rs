//! `aws_*`: a key pair in place of a key, and the region.

use super::super::doc::{Table, Value, shown};
use super::super::settings::Aws;
use super::credentials::from_env;
use mainstay::{provider::Kind, sigv4};

/// What a provider's table says of AWS, before its address is known.
pub(super) struct Keys<'v> {
    region: Option<Value<'v>>,
    id: Option<Value<'v>>,
    secret: Option<Value<'v>>,
    token: Option<Value<'v>>,
}

impl<'v> Keys<'v> {
    pub(super) fn take(t: &mut Table<'v>) -> Self {
        Self {
            region: t.get("aws_region"),
            id: t.get("aws_access_key_id_env"),
            secret: t.get("aws_secret_access_key_env"),
            token: t.get("aws_session_token_env"),
        }
    }

    /// The region that is named, if it can be one.
    fn region(&self) -> Option<&str> {
        const EXPECTED: &str = "the name of an AWS region, such as \"us-east-1\"";
        let value = self.region.as_ref()?;
        let region = value.text(EXPECTED)?;
        match sigv4::bedrock_runtime(region) {
            Some(_) => Some(region),
            None => value.refuse(shown(region), EXPECTED),
        }
    }

    /// Where that region's Bedrock lives.
    pub(super) fn base_url(&self, kind: Option<Kind>) -> Option<String> {
        if kind? != Kind::BedrockConverse {
            return None;
        }
        sigv4::bedrock_runtime(self.region.as_ref()?.raw_text()?)
    }

    /// The key pair, if there is one; the outer `None` is a refusal. `host` is the provider's.
    pub(super) fn read(self, kind: Option<Kind>, has_key: bool, host: Option<&str>) -> Option<Option<Aws>> {
        let all = [&self.region, &self.id, &self.secret, &self.token];
        let Some(first) = all.into_iter().flatten().next() else { return Some(None) };
        if kind.is_some_and(|kind| !matches!(kind, Kind::BedrockConverse | Kind::Bedrock)) {
            return first
                .refuse("a key of AWS", "none for this kind: they are for bedrock and bedrock-converse");
        }
        let region = match &self.region {
            Some(_) => Some(self.region()?.to_owned()),
            None => host.and_then(sigv4::region_of).map(str::to_owned),
        };
        let (id, secret) = match (&self.id, &self.secret) {
            (Some(id), Some(secret)) => (id, secret),
            (None, None) => {
                return match &self.token {
                    Some(token) => token.refuse("a token without its keys", PAIR),
                    None => Some(None),
                };
            }
            (Some(one), None) | (None, Some(one)) => return one.refuse("one of two keys", PAIR),
        };
        if has_key {
            return id.refuse("api_key_env or api_key_file as well", "a key, or a pair of keys to sign with");
        }
        let session_token = match &self.token {
            Some(token) => Some(from_env(token)?),
            None => None,
        };
        let (access_key_id, secret_access_key) = (from_env(id)?, from_env(secret)?);
        let Some(region) = region else {
            return id.refuse("no region", "aws_region, where base_url does not tell the region");
        };
        Some(Some(Aws { access_key_id, secret_access_key, session_token, region }))
    }
}

const PAIR: &str = "aws_access_key_id_env and aws_secret_access_key_env, both";
