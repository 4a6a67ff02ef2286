//! Why there is no connection, said where it is known: at the stage that failed.

use super::{super::ClientErrorKind, dns::NotResolved};
use mainstay_layers::{BoxError, error::find_cause};
use std::{error::Error, fmt, io, time::Duration};

/// A failed connect. Found again in the chain of hyper's error and made into a [`ClientError`](super::super::ClientError).
#[derive(Debug)]
pub(in super::super) struct ConnectFailure {
    pub(in super::super) kind: ClientErrorKind,
    pub(in super::super) message: String,
    source: Option<BoxError>,
}

impl ConnectFailure {
    pub(super) fn new(kind: ClientErrorKind, message: String, source: Option<BoxError>) -> Self {
        Self { kind, message, source }
    }

    pub(super) fn timed_out(after: Duration, peer: &str) -> Self {
        Self::new(ClientErrorKind::ConnectTimeout, format!("no connection within {after:?} ({peer})"), None)
    }

    /// DNS and TCP, which come as one error from hyper-util's connector.
    pub(super) fn tcp(host: &str, peer: &str, source: BoxError) -> Self {
        if find_cause::<NotResolved>(&*source).is_some() {
            return Self::new(ClientErrorKind::Dns, format!("name not resolved: {host}"), Some(source));
        }
        let io = find_cause::<io::Error>(&*source);
        if io.is_some_and(|e| e.kind() == io::ErrorKind::ConnectionRefused) {
            return Self::new(ClientErrorKind::Refused, format!("connection refused ({peer})"), Some(source));
        }
        let reason = io.map_or_else(|| source.to_string(), io::Error::to_string);
        Self::new(ClientErrorKind::Connect, format!("no connection: {reason} ({peer})"), Some(source))
    }

    pub(super) fn tls(host: &str, source: io::Error) -> Self {
        Self::new(ClientErrorKind::Tls, tls_message(host, &source), Some(source.into()))
    }

    /// Whatever went wrong on the way to or at a proxy.
    pub(super) fn proxy(peer: &str, reason: impl fmt::Display, source: Option<BoxError>) -> Self {
        Self::new(ClientErrorKind::Proxy, format!("proxy {peer}: {reason}"), source)
    }
}

/// The words for a failed handshake: what is wrong with whose certificate is worth more than rustls's names for it.
fn tls_message(host: &str, error: &io::Error) -> String {
    use rustls::{CertificateError as Cert, Error as Tls};
    let reason = match find_cause::<Tls>(error) {
        Some(Tls::InvalidCertificate(Cert::UnknownIssuer)) => {
            "certificate not trusted: unknown issuer".into()
        }
        Some(Tls::InvalidCertificate(Cert::NotValidForName | Cert::NotValidForNameContext { .. })) => {
            "certificate is for another name".into()
        }
        Some(Tls::InvalidCertificate(Cert::Expired | Cert::ExpiredContext { .. })) => {
            "certificate has expired".into()
        }
        Some(Tls::InvalidCertificate(Cert::NotValidYet | Cert::NotValidYetContext { .. })) => {
            "certificate is not valid yet".into()
        }
        Some(Tls::InvalidCertificate(other)) => format!("certificate not trusted: {other}"),
        Some(Tls::AlertReceived(alert)) => format!("refused by the server: {alert:?}"),
        Some(Tls::InvalidMessage(_)) => "the server does not speak TLS".into(),
        Some(other) => other.to_string(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => "connection closed in the handshake".into(),
        None => error.to_string(),
    };
    format!("TLS: {reason} ({host})")
}

impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ConnectFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|e| &**e as _)
    }
}
