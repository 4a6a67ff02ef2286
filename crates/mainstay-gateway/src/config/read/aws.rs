//! `aws_*`: credentials in place of a key, from variables or a file, and the region.

use super::super::doc::{Table, Value, shown};
use super::super::settings::{Aws, AwsKeys};
use super::credentials::from_env;
use mainstay::{
    provider::Kind,
    sigv4::{self, CredentialsFile},
};

/// What a provider's table says of AWS, before its address is known.
pub(super) struct Keys<'v> {
    region: Option<Value<'v>>,
    id: Option<Value<'v>>,
    secret: Option<Value<'v>>,
    token: Option<Value<'v>>,
    file: Option<Value<'v>>,
    profile: Option<Value<'v>>,
}

impl<'v> Keys<'v> {
    pub(super) fn take(t: &mut Table<'v>) -> Self {
        Self {
            region: t.get("aws_region"),
            id: t.get("aws_access_key_id_env"),
            secret: t.get("aws_secret_access_key_env"),
            token: t.get("aws_session_token_env"),
            file: t.get("aws_credentials_file"),
            profile: t.get("aws_profile"),
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

    /// How requests are signed, if they are; the outer `None` is a refusal. `host` is the provider's.
    pub(super) fn read(self, kind: Option<Kind>, has_key: bool, host: Option<&str>) -> Option<Option<Aws>> {
        let all = [&self.region, &self.id, &self.secret, &self.token, &self.file, &self.profile];
        let Some(first) = all.into_iter().flatten().next() else { return Some(None) };
        if kind.is_some_and(|kind| !matches!(kind, Kind::BedrockConverse | Kind::Bedrock)) {
            return first
                .refuse("a key of AWS", "none for this kind: they are for bedrock and bedrock-converse");
        }
        let region = match &self.region {
            Some(_) => Some(self.region()?.to_owned()),
            None => host.and_then(sigv4::region_of).map(str::to_owned),
        };
        let Some((first, keys)) = self.keys()? else { return Some(None) };
        if has_key {
            return first.refuse("api_key_env or api_key_file as well", "a key, or credentials to sign with");
        }
        let keys = keys.read()?;
        let Some(region) = region else {
            return first.refuse("no region", "aws_region, where base_url does not tell the region");
        };
        Some(Some(Aws { keys, region }))
    }

    /// Where the keys are, and the setting that says so.
    fn keys(&self) -> Option<Option<(&Value<'v>, Whence<'_, 'v>)>> {
        if let Some(file) = &self.file {
            if let Some(other) = [&self.id, &self.secret, &self.token].into_iter().flatten().next() {
                return other
                    .refuse("aws_credentials_file as well", "a file of credentials, or a pair of keys");
            }
            return Some(Some((file, Whence::File { file, profile: self.profile.as_ref() })));
        }
        if let Some(profile) = &self.profile {
            return profile.refuse("a profile without its file", "aws_credentials_file as well");
        }
        match (&self.id, &self.secret) {
            (Some(id), Some(secret)) => {
                Some(Some((id, Whence::Variables { id, secret, token: self.token.as_ref() })))
            }
            (None, None) => match &self.token {
                Some(token) => token.refuse("a token without its keys", PAIR),
                None => Some(None),
            },
            (Some(one), None) | (None, Some(one)) => one.refuse("one of two keys", PAIR),
        }
    }
}

/// Where keys are.
enum Whence<'k, 'v> {
    Variables { id: &'k Value<'v>, secret: &'k Value<'v>, token: Option<&'k Value<'v>> },
    File { file: &'k Value<'v>, profile: Option<&'k Value<'v>> },
}

impl Whence<'_, '_> {
    fn read(self) -> Option<AwsKeys> {
        match self {
            Whence::Variables { id, secret, token } => {
                let session_token = match token {
                    Some(token) => Some(from_env(token)?),
                    None => None,
                };
                let (access_key_id, secret_access_key) = (from_env(id)?, from_env(secret)?);
                Some(AwsKeys::Given { access_key_id, secret_access_key, session_token })
            }
            Whence::File { file, profile } => {
                const EXPECTED: &str = "a readable file of credentials, as AWS's own tools write it";
                let profile = match profile {
                    Some(profile) => profile.text("the name of a profile in it, such as \"default\"")?,
                    None => "default",
                };
                let path = file.doc().file_beside(file.text(EXPECTED)?);
                match CredentialsFile::open(path, profile) {
                    Ok(file) => Some(AwsKeys::File(file)),
                    Err(error) => file.refuse(error.to_string(), EXPECTED),
                }
            }
        }
    }
}

const PAIR: &str = "aws_access_key_id_env and aws_secret_access_key_env, both";
