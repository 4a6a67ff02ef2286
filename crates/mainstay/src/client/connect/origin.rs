//! Where to connect to, in the forms that the stages need.

use super::{super::ClientErrorKind, ConnectFailure};
use http::Uri;

/// Scheme, host and port, all known.
#[derive(Debug)]
pub(super) struct Origin {
    uri: Uri,
    /// `host:port`, for people and proxies.
    peer: String,
    https: bool,
}

impl Origin {
    pub(super) fn of(uri: &Uri) -> Result<Self, ConnectFailure> {
        let scheme = uri.scheme_str().unwrap_or_default();
        let default_port = match scheme {
            "https" => 443,
            "socks4" | "socks4a" | "socks5" | "socks5h" => 1080,
            _ => 80,
        };
        let peer = format!("{}:{}", uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(default_port));
        let full = Uri::builder().scheme(scheme).authority(peer.as_str()).path_and_query("/").build();
        match full {
            Ok(full) => Ok(Self { uri: full, peer, https: scheme == "https" }),
            Err(error) => Err(ConnectFailure::new(
                ClientErrorKind::InvalidRequest,
                format!("not a place to connect to: {error}"),
                Some(error.into()),
            )),
        }
    }

    /// The origin with an explicit port: a tunnel's default would be 443 for `http` too.
    pub(super) fn uri(&self) -> Uri {
        self.uri.clone()
    }

    /// The host, an IPv6 address without its brackets.
    pub(super) fn host(&self) -> &str {
        let host = self.uri.host().unwrap_or_default();
        host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host)
    }

    pub(super) fn peer(&self) -> &str {
        &self.peer
    }

    pub(super) fn is_https(&self) -> bool {
        self.https
    }
}
