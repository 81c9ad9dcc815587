//! Owns TLS towards the server: a certificate is checked whenever there is one. It connects to
//! nothing.

use std::path::Path;
use std::sync::Arc;

use piton_store::StoreError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Makes what connections negotiate TLS with, trusting a file's authorities or else the system's.
pub(crate) fn connector(authorities: Option<&Path>) -> Result<MakeRustlsConnect, StoreError> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(path) => {
            let certificates = CertificateDer::pem_file_iter(path)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|_| unfit("the file that sslrootcert names can't be read as PEM"))?;
            let (added, _) = roots.add_parsable_certificates(certificates);
            if added == 0 {
                return Err(unfit(
                    "the file that sslrootcert names holds no certificate",
                ));
            }
        }
        None => {
            // An authority that can't be read is one that isn't trusted.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| unfit("TLS is not to be had"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn unfit(reason: &str) -> StoreError {
    StoreError::Unfit {
        action: "preparing TLS",
        workflow: None,
        reason: reason.to_owned(),
    }
}
