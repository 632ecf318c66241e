//! The parameters of connections over TLS.

/// Whether clients must show a certificate (`tls-auth-clients`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuthClients {
    /// Clients are not asked for a certificate.
    No,
    /// Clients must show a trusted certificate.
    #[default]
    Yes,
    /// Clients may show a certificate, which must then be trusted.
    Optional,
}

impl AuthClients {
    pub(super) const NAMES: &[&str] = &["no", "yes", "optional"];
    pub(super) const ALL: [Self; 3] = [AuthClients::No, AuthClients::Yes, AuthClients::Optional];
}

/// The parameters of TLS connections. Each field's parameter has `tls-` in front, and `-` for `_`. Files are in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsParameters {
    /// The port. `None` disables TLS. Port 0, which only a program can ask for, picks a free port.
    pub port: Option<u16>,
    /// The file for the port when the server is ready; empty: none. With a file and no port, a free one is picked.
    pub port_file: String,
    /// The file of the server's certificate, followed by the certificates that lead to a trusted one.
    pub cert_file: String,
    /// The file of the server's private key.
    pub key_file: String,
    /// The password of `key_file`. Empty: none.
    pub key_file_pass: String,
    /// The file of the certificates by which clients' certificates are trusted. Empty: none.
    pub ca_cert_file: String,
    /// A directory of such files. Empty: none.
    pub ca_cert_dir: String,
    /// A file of parameters for a key exchange that is not offered. Empty: none.
    pub dh_params_file: String,
    /// Whether clients must show a certificate.
    pub auth_clients: AuthClients,
    /// The versions of TLS, parted by spaces. Empty: 1.2 and 1.3.
    pub protocols: String,
    /// The ciphers of TLS 1.2, as OpenSSL writes them. Empty: all available ciphers.
    pub ciphers: String,
    /// The ciphers of TLS 1.3, parted by colons. Empty: all available ciphers.
    pub ciphersuites: String,
    /// Whether the server's order of ciphers decides, not the client's.
    pub prefer_server_ciphers: bool,
    /// Whether clients may resume sessions.
    pub session_caching: bool,
    /// The most sessions that are kept. 0: no limit.
    pub session_cache_size: u32,
    /// Seconds for which a session can be resumed.
    pub session_cache_timeout: u32,
}

impl Default for TlsParameters {
    fn default() -> Self {
        TlsParameters {
            port: None,
            port_file: String::new(),
            cert_file: String::new(),
            key_file: String::new(),
            key_file_pass: String::new(),
            ca_cert_file: String::new(),
            ca_cert_dir: String::new(),
            dh_params_file: String::new(),
            auth_clients: AuthClients::Yes,
            protocols: String::new(),
            ciphers: String::new(),
            ciphersuites: String::new(),
            prefer_server_ciphers: false,
            session_caching: true,
            session_cache_size: 20_480,
            session_cache_timeout: 300,
        }
    }
}

impl TlsParameters {
    /// Whether connections over TLS are asked for.
    pub fn is_on(&self) -> bool {
        self.port.is_some() || !self.port_file.is_empty()
    }
}
