//! One connection.

use super::{
    super::{
        connect::{ConnectionInfo, Connector},
        request_body::RequestBody,
    },
    Failure,
};
use http::{Extensions, HeaderValue, Uri, uri};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::client::legacy::connect::Connection as _;
use std::sync::Arc;
use tokio::time::Instant;
use tower_service::Service;

/// A connection without a call.
pub(super) struct Connection {
    pub(super) sender: SendRequest<RequestBody>,
    pub(super) info: Option<ConnectionInfo>,
    pub(super) host: HeaderValue,
    pub(super) origin: Arc<Origin>,
    pub(super) absolute_form: bool,
    pub(super) used: bool,
    pub(super) since: Instant,
}

pub(super) struct Origin {
    pub(super) https: bool,
    pub(super) authority: uri::Authority,
}

/// A new connection.
pub(super) async fn connect(connector: &mut Connector, uri: &Uri) -> Result<Connection, Failure> {
    let io = connector.call(uri.clone()).await.map_err(Failure::Connect)?;
    let connected = io.inner().connected();
    let mut extensions = Extensions::new();
    connected.get_extras(&mut extensions);
    let unusable = |error| Failure::Http { error, info: None };
    let (mut sender, driver) = Builder::new().handshake(io).await.map_err(unusable)?;
    tokio::spawn(async move {
        if let Err(error) = driver.with_upgrades().await {
            tracing::debug!(%error, "connection to a server ended");
        }
    });
    sender.ready().await.map_err(unusable)?;
    let authority = uri.authority().cloned().unwrap_or_else(|| uri::Authority::from_static("localhost"));
    let https = uri.scheme() == Some(&uri::Scheme::HTTPS);
    Ok(Connection {
        sender,
        info: extensions.remove(),
        host: host(&authority, https),
        origin: Arc::new(Origin { https, authority }),
        absolute_form: connected.is_proxied(),
        used: false,
        since: Instant::now(),
    })
}

/// The value of `Host`: without the port where the scheme says it (RFC 9110 §7.2).
fn host(authority: &uri::Authority, https: bool) -> HeaderValue {
    let usual = if https { 443 } else { 80 };
    let text = match authority.port_u16() {
        Some(port) if port == usual => authority.host(),
        _ => authority.as_str(),
    };
    // An authority has only characters that a header can hold.
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("localhost"))
}

pub(super) fn origin_form(uri: &Uri) -> Uri {
    uri.path_and_query().map_or_else(|| Uri::from_static("/"), |path| Uri::from(path.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_names_the_port_where_the_scheme_does_not() {
        for (authority, https, expected) in [
            ("h", false, "h"),
            ("h:80", false, "h"),
            ("h:443", true, "h"),
            ("h:80", true, "h:80"),
            ("[::1]:8080", false, "[::1]:8080"),
            ("[::1]:443", true, "[::1]"),
        ] {
            assert_eq!(host(&uri::Authority::from_static(authority), https), expected, "{authority}");
        }
    }

    #[test]
    fn a_request_names_its_path_alone() {
        for (uri, expected) in [("http://h/a?b=c", "/a?b=c"), ("http://h", "/"), ("https://h:1/", "/")] {
            assert_eq!(origin_form(&Uri::from_static(uri)), expected);
        }
    }
}
