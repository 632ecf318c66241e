//! Certificates and keys from their files, in the PEM format.

use super::encrypted_key;
use crate::net::tls_error::TlsError;
use lockwheel_engine::config::{TlsParameters, system_reason};
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use std::fmt::Display;
use std::fs;
use std::io;

/// The line that names the cipher in a key that OpenSSL has encrypted in its format before PKCS8.
const OLD_ENCRYPTION: &str = "Proc-Type: 4,ENCRYPTED";
/// The first and the last line of a key that is encrypted by PKCS8.
const ENCRYPTED: [&str; 2] = ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "-----END ENCRYPTED PRIVATE KEY-----"];

/// Reads the certificate of the server, with the chain to a trusted one, and the key.
pub(super) fn identity(
    parameters: &TlsParameters,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, TlsError> {
    let path = &parameters.cert_file;
    let chain = certificates(path).map_err(|reason| failed("load certificate", path, &reason))?;
    // An unused file must exist if it is named, as in Redis.
    let unused = &parameters.dh_params_file;
    if !unused.is_empty() {
        let read = fs::metadata(unused);
        read.map_err(|error| TlsError::new(format!("Failed to load {unused}: {}", system_reason(&error))))?;
    }
    let path = &parameters.key_file;
    let key = private_key(path, &parameters.key_file_pass).and_then(|key| {
        let key = provider.key_provider.load_private_key(key).map_err(|error| error.to_string())?;
        let certified = CertifiedKey::new(chain, key);
        if belong_together(&certified) { Ok(certified) } else { Err("key values mismatch".to_owned()) }
    });
    key.map_err(|reason| failed("load private key", path, &reason))
}

fn failed(to: &str, path: &str, reason: &str) -> TlsError {
    TlsError::new(format!("Failed to {to}: {path}: {reason}"))
}

/// Reads the certificates that the server trusts for clients.
pub(super) fn roots(parameters: &TlsParameters) -> Result<RootCertStore, TlsError> {
    let failed = |reason: &dyn Display| {
        TlsError::new(format!("Failed to configure CA certificate(s) file/directory: {reason}"))
    };
    let mut roots = RootCertStore::empty();
    let mut add = |certificates: Vec<CertificateDer<'static>>| {
        certificates
            .into_iter()
            .try_for_each(|certificate| roots.add(certificate).map_err(|error| failed(&error)))
    };
    if !parameters.ca_cert_file.is_empty() {
        add(certificates(&parameters.ca_cert_file).map_err(|reason| failed(&reason))?)?;
    }
    if !parameters.ca_cert_dir.is_empty() {
        let files = fs::read_dir(&parameters.ca_cert_dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        for file in files.map_err(|error| failed(&system_reason(&error)))? {
            // Other files may lie beside the certificates.
            add(certificates(&file.path().to_string_lossy()).unwrap_or_default())?;
        }
    }
    Ok(roots)
}

/// Returns the certificates of a file, at least one, or the reason why there is none.
fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = fs::read(path).map_err(|error| system_reason(&error))?;
    let found = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(|error| error.to_string())?;
    if found.is_empty() { Err("no certificate found".to_owned()) } else { Ok(found) }
}

fn private_key(path: &str, password: &str) -> Result<PrivateKeyDer<'static>, String> {
    let bytes = fs::read(path).map_err(|error| system_reason(&error))?;
    let text = String::from_utf8_lossy(&bytes);
    if let Some(begin) = text.find(ENCRYPTED[0])
        && let Some(len) = text[begin..].find(ENCRYPTED[1])
    {
        if password.is_empty() {
            return Err("it is encrypted, and there is no tls-key-file-pass".to_owned());
        }
        return encrypted_key::decrypt(&text[begin..begin + len + ENCRYPTED[1].len()], password);
    }
    if text.contains(OLD_ENCRYPTION) {
        return Err("encrypted in an old format; `openssl pkcs8 -topk8` converts it".to_owned());
    }
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| error.to_string())
}

/// Whether the key belongs to the first certificate. [`CertifiedKey::keys_match`] supports only version 3, but
/// OpenSSL's default is version 1.
fn belong_together(certified: &CertifiedKey) -> bool {
    let mut store = RootCertStore::empty();
    let (Some(public), Some(first)) = (certified.key.public_key(), certified.cert.first()) else {
        return true;
    };
    if store.add(first.clone()).is_err() {
        return false;
    }
    // One key lacks the tag and the length at the beginning of the other.
    store.roots.iter().all(|root| public.ends_with(&root.subject_public_key_info))
}
