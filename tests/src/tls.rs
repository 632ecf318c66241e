//! Certificates for a test, and a client over TLS.

use crate::client::{Client, Wire, connected};
use lockwheel::{Server, TlsParameters};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A client's connection over TLS.
pub type TlsStream = StreamOwned<ClientConnection, TcpStream>;

impl Wire for TlsStream {
    fn socket(&self) -> &TcpStream {
        &self.sock
    }
}

/// A directory with its own certificates, removed when dropped. `ca` has signed those of `server`, `other-server` and
/// `client`, and `other-ca` that of `stranger`. Each is `<name>.crt`, and its key `<name>.key`.
#[derive(Debug)]
pub struct Certificates {
    directory: PathBuf,
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _already_gone = fs::remove_dir_all(&self.directory);
    }
}

impl Certificates {
    /// Creates the certificates.
    ///
    /// # Panics
    /// Panics if the system has no place for temporary files.
    pub fn new() -> Certificates {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("lockwheel-tls-{}-{number}", std::process::id()));
        fs::create_dir_all(&directory).expect("the system has a place for temporary files");
        let made = Certificates { directory };
        let (ca, other_ca) = (made.authority("ca"), made.authority("other-ca"));
        made.signed("server", &ca, ExtendedKeyUsagePurpose::ServerAuth);
        made.signed("other-server", &ca, ExtendedKeyUsagePurpose::ServerAuth);
        made.signed("client", &ca, ExtendedKeyUsagePurpose::ClientAuth);
        made.signed("stranger", &other_ca, ExtendedKeyUsagePurpose::ClientAuth);
        made
    }

    fn authority(&self, name: &str) -> Issuer<'static, KeyPair> {
        let mut parameters = named(name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = parameters.self_signed(&key).expect("a certificate can be signed");
        self.write(name, &certificate.pem(), &key);
        Issuer::new(parameters, key)
    }

    fn signed(&self, name: &str, issuer: &Issuer<'_, KeyPair>, purpose: ExtendedKeyUsagePurpose) {
        let mut parameters = named(name);
        parameters.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = parameters.signed_by(&key, issuer).expect("a certificate can be signed");
        self.write(name, &certificate.pem(), &key);
    }

    fn write(&self, name: &str, certificate: &str, key: &KeyPair) {
        fs::write(self.path(&format!("{name}.crt")), certificate).expect("the directory is there");
        fs::write(self.path(&format!("{name}.key")), key.serialize_pem()).expect("the directory is there");
    }

    /// The path of a file of the directory; the file need not exist.
    pub fn path(&self, name: &str) -> String {
        self.directory.join(name).to_str().expect("the path is text").to_owned()
    }

    /// The parameters of a server with these certificates, on a free port. Clients must show a certificate.
    pub fn parameters(&self) -> TlsParameters {
        TlsParameters {
            port: Some(0),
            cert_file: self.path("server.crt"),
            key_file: self.path("server.key"),
            ca_cert_file: self.path("ca.crt"),
            ..TlsParameters::default()
        }
    }

    /// The configuration of a client that trusts `ca`, speaks these versions, and shows the certificate of this name.
    ///
    /// # Panics
    /// Panics if there is no such certificate.
    pub fn client_config(
        &self,
        identity: Option<&str>,
        versions: &[&'static SupportedProtocolVersion],
    ) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate("ca")).expect("it is a certificate");
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_protocol_versions(versions).expect("these are known");
        let builder = builder.with_root_certificates(roots);
        let Some(name) = identity else { return builder.with_no_client_auth() };
        let key = PrivateKeyDer::from_pem_file(self.path(&format!("{name}.key"))).expect("it is a key");
        builder.with_client_auth_cert(vec![self.certificate(name)], key).expect("they belong together")
    }

    fn certificate(&self, name: &str) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(self.path(&format!("{name}.crt"))).expect("it is a certificate")
    }

    /// Connects to a server over TLS as `client`, with the newest version that both support.
    ///
    /// # Panics
    /// Panics if the server does not listen for clients over TLS.
    #[track_caller]
    pub fn connect(&self, server: &Server) -> Client {
        Client::over(stream(address(server), self.client_config(Some("client"), rustls::ALL_VERSIONS)))
    }
}

impl Default for Certificates {
    fn default() -> Self {
        Certificates::new()
    }
}

fn named(name: &str) -> CertificateParams {
    let names = vec!["localhost".to_owned(), Ipv4Addr::LOCALHOST.to_string()];
    let mut parameters = CertificateParams::new(names).expect("these are names");
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters
}

/// The address on which a server listens for clients over TLS.
///
/// # Panics
/// Panics if the server does not listen for them.
#[track_caller]
pub fn address(server: &Server) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, server.tls_port().expect("it listens for clients over TLS")).into()
}

/// A connection over TLS, whose handshake happens at its first use.
///
/// # Panics
/// Panics if nothing listens there.
#[track_caller]
pub fn stream(address: SocketAddr, config: ClientConfig) -> TlsStream {
    let name = ServerName::from(address.ip());
    let connection = ClientConnection::new(Arc::new(config), name).expect("the name fits");
    StreamOwned::new(connection, connected(address))
}
