//! The trust of a TLS client in servers, and the client's own certificate.

use std::path::PathBuf;

/// The TLS options of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trust {
    pub(crate) ca_file: Option<PathBuf>,
    /// Whether any server is trusted.
    pub(crate) insecure: bool,
    pub(crate) cert_file: Option<PathBuf>,
    pub(crate) key_file: Option<PathBuf>,
}

#[cfg(feature = "tls")]
pub(super) use over_tls::connect;

#[cfg(not(feature = "tls"))]
pub(super) fn connect(
    _: std::net::TcpStream,
    _: &str,
    _: &Trust,
) -> std::io::Result<impl std::io::Read + std::io::Write + use<>> {
    Err::<std::net::TcpStream, _>(std::io::Error::other("This program was built without TLS."))
}

#[cfg(feature = "tls")]
mod over_tls {
    use super::Trust;
    use lockwheel_engine::config::system_reason;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
    use rustls::pki_types::pem::{self, PemObject};
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
    use rustls::{
        CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
        SignatureScheme, StreamOwned,
    };
    use std::io;
    use std::net::TcpStream;
    use std::path::Path;
    use std::sync::Arc;

    pub(in super::super) fn connect(
        mut stream: TcpStream,
        host: &str,
        trust: &Trust,
    ) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let mut connection = ClientConnection::new(config(trust)?.into(), name).map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream)?;
        }
        Ok(StreamOwned::new(connection, stream))
    }

    fn config(trust: &Trust) -> io::Result<ClientConfig> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Arc::new(Verifier::new(trust, provider.clone())?);
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(io::Error::other)?;
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        match (&trust.cert_file, &trust.key_file) {
            (None, None) => Ok(builder.with_no_client_auth()),
            (Some(cert), Some(key)) => {
                let chain = certificates(cert)?;
                let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
                builder.with_client_auth_cert(chain, key).map_err(io::Error::other)
            }
            _ => Err(io::Error::other("--cert and --key are given together")),
        }
    }

    fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
        let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let found = read.map_err(|error| unreadable(path, &error))?;
        if found.is_empty() { Err(unreadable(path, &pem::Error::NoItemsFound)) } else { Ok(found) }
    }

    fn unreadable(path: &Path, error: &pem::Error) -> io::Error {
        let reason = match error {
            pem::Error::Io(error) => system_reason(error),
            other => other.to_string(),
        };
        io::Error::other(format!("{}: {reason}", path.display()))
    }

    /// A verifier that trusts any server with a trusted certificate chain, whatever its name, as redis-cli does.
    #[derive(Debug)]
    struct Verifier {
        /// The verifier of the chain. `None` trusts every server.
        chain: Option<Arc<WebPkiServerVerifier>>,
        provider: Arc<CryptoProvider>,
    }

    impl Verifier {
        fn new(trust: &Trust, provider: Arc<CryptoProvider>) -> io::Result<Self> {
            let chain = match &trust.ca_file {
                _ if trust.insecure => None,
                None => {
                    return Err(io::Error::other("whom to trust over TLS, --cacert FILE or --insecure says"));
                }
                Some(path) => {
                    let mut roots = RootCertStore::empty();
                    for certificate in certificates(path)? {
                        roots.add(certificate).map_err(io::Error::other)?;
                    }
                    let built =
                        WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone()).build();
                    Some(built.map_err(io::Error::other)?)
                }
            };
            Ok(Verifier { chain, provider })
        }
    }

    impl ServerCertVerifier for Verifier {
        fn verify_server_cert(
            &self,
            first: &CertificateDer<'_>,
            others: &[CertificateDer<'_>],
            name: &ServerName<'_>,
            ocsp: &[u8],
            now: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
            match chain.verify_server_cert(first, others, name, ocsp, now) {
                // The name is checked last.
                Err(Error::InvalidCertificate(
                    CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
                )) => Ok(ServerCertVerified::assertion()),
                verified => verified,
            }
        }

        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let algorithms = &self.provider.signature_verification_algorithms;
            verify_tls12_signature(message, certificate, signed, algorithms)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let algorithms = &self.provider.signature_verification_algorithms;
            verify_tls13_signature(message, certificate, signed, algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.provider.signature_verification_algorithms.supported_schemes()
        }
    }
}
