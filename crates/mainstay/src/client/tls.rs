//! TLS settings: whom to trust, and with which cryptography.

use super::BuildError;
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_pki_types::{CertificateDer, pem::PemObject};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Where trusted certificates come from; all that are chosen are trusted.
#[derive(Clone, Debug)]
pub(super) struct Roots {
    pub(super) webpki: bool,
    #[cfg(feature = "native-roots")]
    pub(super) native: bool,
    pub(super) pem_files: Vec<PathBuf>,
}

impl Roots {
    pub(super) fn load(&self) -> Result<RootCertStore, BuildError> {
        let mut store = RootCertStore::empty();
        if self.webpki {
            store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        #[cfg(feature = "native-roots")]
        if self.native {
            add_native(&mut store)?;
        }
        for path in &self.pem_files {
            add_pem_file(&mut store, path)?;
        }
        if store.is_empty() {
            return Err(BuildError::NoRoots);
        }
        Ok(store)
    }
}

/// Single certificates that cannot be read are passed over, as in every store there are some; none at all is an error.
#[cfg(feature = "native-roots")]
fn add_native(store: &mut RootCertStore) -> Result<(), BuildError> {
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = store.add_parsable_certificates(found.certs);
    if added > 0 {
        return Ok(());
    }
    let reason = match found.errors.first() {
        Some(error) => error.to_string(),
        None => "it holds no certificate".into(),
    };
    Err(BuildError::NativeRoots { reason })
}

fn add_pem_file(store: &mut RootCertStore, path: &Path) -> Result<(), BuildError> {
    let failed = |reason: String| BuildError::RootFile { path: path.to_owned(), reason };
    let certificates = CertificateDer::pem_file_iter(path)
        .map_err(|e| failed(pem_reason(e)))?
        .collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|e| failed(pem_reason(e)))?;
    if certificates.is_empty() {
        return Err(failed("there is no certificate in it (expected -----BEGIN CERTIFICATE-----)".into()));
    }
    for (n, certificate) in certificates.into_iter().enumerate() {
        store.add(certificate).map_err(|e| failed(format!("certificate {}: {e}", n + 1)))?;
    }
    Ok(())
}

fn pem_reason(error: rustls_pki_types::pem::Error) -> String {
    match error {
        rustls_pki_types::pem::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// TLS 1.2 and 1.3 with ring. The provider is named: a process default would be ambiguous as soon as another crate
/// turns a second one on.
pub(super) fn config(roots: &Arc<RootCertStore>, alpn: &[&[u8]]) -> Result<Arc<ClientConfig>, BuildError> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(|e| BuildError::Tls { reason: e.to_string() })?
        .with_root_certificates(Arc::clone(roots))
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|p| p.to_vec()).collect();
    Ok(Arc::new(config))
}
