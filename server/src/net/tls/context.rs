//! The TLS configuration from the parameters: certificates, versions and ciphers, read once for all connections.

use super::resumption::SessionCache;
use super::socket::TlsSocket;
use super::{ciphers, files};
use crate::net::tls_error::TlsError;
use lockwheel_engine::config::{AuthClients, TlsParameters};
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{NoServerSessionStorage, ServerConfig, StoresServerSessions, WebPkiClientVerifier};
use rustls::sign::SingleCertAndKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConnection, SupportedProtocolVersion};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The configuration of TLS connections, cheap to clone. A connection keeps the one that it was made with.
#[derive(Clone, Debug)]
pub(in crate::net) struct TlsContext(Arc<ServerConfig>);

impl TlsContext {
    /// Reads the files and checks the parameters. Does not change anything.
    pub(in crate::net) fn load(parameters: &TlsParameters) -> Result<Self, TlsError> {
        let wants_roots = parameters.auth_clients != AuthClients::No;
        for (is_missing, text) in [
            (parameters.cert_file.is_empty(), "No tls-cert-file configured!"),
            (parameters.key_file.is_empty(), "No tls-key-file configured!"),
            (
                wants_roots && parameters.ca_cert_file.is_empty() && parameters.ca_cert_dir.is_empty(),
                "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-cluster, tls-replication or \
                 tls-auth-clients are enabled!",
            ),
        ] {
            if is_missing {
                return Err(TlsError::new(text));
            }
        }
        let versions = versions(&parameters.protocols)?;
        let provider = Arc::new(CryptoProvider {
            cipher_suites: ciphers::chosen(&parameters.ciphers, &parameters.ciphersuites)?,
            ..ring::default_provider()
        });
        let identity = files::identity(parameters, &provider)?;
        let roots = Arc::new(files::roots(parameters)?);
        let failed =
            |error: &dyn std::error::Error| TlsError::new(format!("Failed to configure TLS: {error}"));
        let builder = ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(&versions);
        let builder = builder.map_err(|error| failed(&error))?;
        let builder = if wants_roots {
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            let verifier = match parameters.auth_clients {
                AuthClients::Optional => verifier.allow_unauthenticated(),
                _ => verifier,
            };
            builder.with_client_cert_verifier(verifier.build().map_err(|error| failed(&error))?)
        } else {
            builder.with_no_client_auth()
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(identity)));
        config.ignore_client_order = parameters.prefer_server_ciphers;
        config.session_storage = storage(parameters);
        Ok(TlsContext(Arc::new(config)))
    }

    /// Starts a connection over an accepted stream, which must not block.
    pub(in crate::net) fn accept(&self, stream: std::net::TcpStream) -> io::Result<TlsSocket> {
        let connection = ServerConnection::new(self.0.clone()).map_err(io::Error::other)?;
        Ok(TlsSocket::new(stream, connection))
    }
}

/// Returns the versions that `tls-protocols` names. Versions before 1.2 may be named but are not supported.
fn versions(protocols: &str) -> Result<Vec<&'static SupportedProtocolVersion>, TlsError> {
    const INVALID: &str = "Invalid tls-protocols specified. Use a combination of 'TLSv1', 'TLSv1.1', 'TLSv1.2' and \
                           'TLSv1.3'.";
    const OLD: &str = "Invalid tls-protocols specified. 'TLSv1' and 'TLSv1.1' are not supported: add 'TLSv1.2' or \
                       'TLSv1.3'.";
    if protocols.is_empty() {
        return Ok(vec![&TLS13, &TLS12]);
    }
    let mut versions = Vec::new();
    for word in protocols.split_ascii_whitespace() {
        match word.to_ascii_lowercase().as_str() {
            "tlsv1.3" => versions.push(&TLS13),
            "tlsv1.2" => versions.push(&TLS12),
            "tlsv1" | "tlsv1.1" => {}
            _ => return Err(TlsError::new(INVALID)),
        }
    }
    if versions.is_empty() { Err(TlsError::new(OLD)) } else { Ok(versions) }
}

/// Returns the storage of sessions that clients may resume.
fn storage(parameters: &TlsParameters) -> Arc<dyn StoresServerSessions> {
    if !parameters.session_caching {
        return Arc::new(NoServerSessionStorage {});
    }
    let most = usize::try_from(parameters.session_cache_size).unwrap_or(usize::MAX);
    let lifetime = Duration::from_secs(parameters.session_cache_timeout.into());
    Arc::new(SessionCache::new(most, lifetime))
}
