//! What all targets of a provider share: connections, places, the budget for retries.

use super::layers::places;
use crate::config::{Proxy, settings};
use http::Uri;
use mainstay::{
    BoxError,
    client::{BuildError, Client, Protocol},
    endpoint::EndpointLayer,
    layers::{concurrency::ConcurrencyLimit, retry::Budget},
    route::Cooldown,
    secret::ApiKey,
    sigv4::{Credentials, PayloadHashLayer, Signer},
};

pub(super) struct ProviderParts<'a> {
    pub(super) settings: &'a settings::Provider,
    pub(super) client: Client,
    pub(super) endpoint: EndpointLayer,
    /// On where the endpoint signs.
    pub(super) hash: PayloadHashLayer,
    pub(super) places: ConcurrencyLimit,
    pub(super) key_cooldown: Cooldown,
    pub(super) budget: Budget,
}

impl<'a> ProviderParts<'a> {
    pub(super) fn new(settings: &'a settings::Provider) -> Result<Self, BoxError> {
        let base: &Uri = settings.base_url.uri();
        let mut endpoint = EndpointLayer::new(settings.kind, base)
            .ok_or("base_url needs a scheme and a host")?
            .with_headers(settings.headers.clone());
        if let Some(key) = &settings.api_key {
            endpoint = endpoint.with_key(ApiKey::new(key.expose()).ok_or("the key fits into no header")?);
        }
        let mut hash = PayloadHashLayer::off();
        if let Some(aws) = &settings.aws {
            endpoint = endpoint.with_signer(signer(aws).ok_or("the keys fit into no header")?);
            hash = PayloadHashLayer::new();
        }
        let budget = &settings.retry.budget;
        Ok(Self {
            settings,
            client: client(settings)?,
            endpoint,
            hash,
            places: places(&settings.limits),
            key_cooldown: Cooldown::new(),
            budget: Budget::new(budget.ratio, budget.floor),
        })
    }
}

/// Signs for Bedrock.
fn signer(aws: &settings::Aws) -> Option<Signer> {
    const SERVICE: &str = "bedrock";
    Some(match &aws.keys {
        settings::AwsKeys::Given { access_key_id, secret_access_key, session_token } => {
            let token = session_token.as_ref().map(|token| token.expose());
            let credentials = Credentials::new(access_key_id.expose(), secret_access_key.expose(), token)?;
            Signer::new(credentials, &aws.region, SERVICE)
        }
        settings::AwsKeys::File(file) => {
            let file = file.clone();
            Signer::asking(move || file.current(), &aws.region, SERVICE)
        }
    })
}

fn client(settings: &settings::Provider) -> Result<Client, BuildError> {
    let mut client = Client::builder()
        .connect_timeout(settings.timeout.connect)
        .native_roots(settings.native_roots)
        .protocol(match settings.protocol {
            settings::Protocol::Auto => Protocol::Auto,
            settings::Protocol::Http1 => Protocol::Http1,
            settings::Protocol::H2 => Protocol::Http2,
        })
        .h2_connections(settings.h2_connections);
    if let Some(file) = &settings.ca_file {
        client = client.add_root_pem_file(file);
    }
    match &settings.proxy {
        Proxy::Env => {}
        Proxy::Off => client = client.no_proxy(),
        Proxy::Url(url) => client = client.proxy(mainstay::client::Proxy::new(url.expose())),
    }
    client.build()
}
