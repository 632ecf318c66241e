//! The clients that are admitted, their certificates, and the change of certificates while the server runs.

use crate::tls::{client, ping, server};
use lockwheel::{AuthClients, Server, TlsParameters};
use lockwheel_tests::tls::{Certificates, TlsStream, address, stream};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::version::{TLS12, TLS13};
use rustls::{ALL_VERSIONS, ClientConfig, HandshakeKind, SupportedProtocolVersion};
use std::fs;
use std::io::{Read, Write};

#[test]
fn tls_auth_clients_decides_which_certificates_are_accepted() {
    let certificates = Certificates::new();
    for (auth_clients, none, stranger) in [
        (AuthClients::Yes, false, false),
        (AuthClients::Optional, true, false),
        (AuthClients::No, true, true),
    ] {
        let server = server(TlsParameters { auth_clients, ..certificates.parameters() }, 1);
        for (identity, expected) in [
            (None, none),
            (Some("stranger"), stranger),
            // This certificate is for servers.
            (Some("other-server"), auth_clients == AuthClients::No),
            (Some("client"), true),
        ] {
            for versions in [ALL_VERSIONS, &[&TLS12]] {
                let answer = ping(&server, certificates.client_config(identity, versions));
                let expected = expected.then_some("+PONG\r\n");
                assert_eq!(answer.as_deref(), expected, "{auth_clients:?} {identity:?}");
            }
        }
    }
}

#[test]
fn trusted_certificates_may_be_in_a_directory() {
    let certificates = Certificates::new();
    // The keys in the file are no certificates, and are ignored.
    let directory = certificates.path("");
    let tls =
        TlsParameters { ca_cert_file: String::new(), ca_cert_dir: directory, ..certificates.parameters() };
    let server = server(tls, 1);
    for (identity, expected) in [(Some("client"), true), (Some("stranger"), true), (None, false)] {
        let answer = ping(&server, certificates.client_config(identity, ALL_VERSIONS));
        assert_eq!(answer.is_some(), expected, "{identity:?}");
    }
}

/// A connection that has been used, so that its handshake is complete.
fn used(server: &Server, config: ClientConfig) -> TlsStream {
    let mut stream = stream(address(server), config);
    stream.write_all(b"PING\r\n").expect("the server is there");
    stream.read_exact(&mut [0; 7]).expect("the server answers");
    stream
}

fn shown(certificates: &Certificates, server: &Server) -> CertificateDer<'static> {
    let stream = used(server, certificates.client_config(Some("client"), ALL_VERSIONS));
    stream.conn.peer_certificates().expect("the server has shown one")[0].clone().into_owned()
}

#[test]
fn certificates_can_be_replaced_while_the_server_runs() {
    let certificates = Certificates::new();
    let file = |name: &str| CertificateDer::from_pem_file(certificates.path(name)).expect("it is there");
    let server = server(certificates.parameters(), 2);
    let mut old = client(&server, &certificates, Some("client"));
    old.line("PING");
    assert_eq!(shown(&certificates, &server), file("server.crt"));
    let [other, other_key] = ["other-server.crt", "other-server.key"].map(|name| certificates.path(name));
    let set = format!("CONFIG SET tls-cert-file {other} tls-key-file {other_key}");
    assert_eq!(old.line(&set).to_string(), "+OK");
    assert_eq!(shown(&certificates, &server), file("other-server.crt"));
    // The path is unchanged; the new contents are read.
    let read_before = file("other-server.crt");
    for kind in ["crt", "key"] {
        let [from, to] = ["server", "other-server"].map(|name| certificates.path(&format!("{name}.{kind}")));
        fs::copy(from, to).expect("the directory is there");
    }
    assert_eq!(shown(&certificates, &server), read_before);
    assert_eq!(old.line(&format!("CONFIG SET tls-cert-file {other}")).to_string(), "+OK");
    assert_eq!(shown(&certificates, &server), file("server.crt"));
    assert_eq!(old.line("PING").to_string(), "+PONG");
}

#[test]
fn unusable_certificates_change_nothing() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 1);
    let mut client = client(&server, &certificates, Some("client"));
    let [client_key, nowhere, key] =
        ["client.key", "nowhere", "server.key"].map(|name| certificates.path(name));
    for (pairs, name) in [
        (format!("tls-cert-file {nowhere}"), "tls-cert-file"),
        (format!("tls-cert-file {key}"), "tls-cert-file"),
        (format!("timeout 7 tls-key-file {client_key}"), "tls-key-file"),
        (format!("tls-ca-cert-file {key}"), "tls-ca-cert-file"),
        (format!("tls-ca-cert-dir {nowhere}"), "tls-ca-cert-dir"),
        ("tls-ca-cert-file ''".to_owned(), "tls-ca-cert-file"),
        ("tls-protocols TLSv9".to_owned(), "tls-protocols"),
        ("tls-ciphers NOPE".to_owned(), "tls-ciphers"),
        ("tls-ciphersuites NOPE".to_owned(), "tls-ciphersuites"),
        (format!("tls-dh-params-file {nowhere}"), "tls-dh-params-file"),
    ] {
        let expected = format!(
            "-ERR CONFIG SET failed (possibly related to argument '{name}') - Unable to update TLS configuration. \
             Check server logs."
        );
        let before = client.line("CONFIG GET *").to_string();
        assert_eq!(client.line(&format!("CONFIG SET {pairs}")).to_string(), expected, "{pairs}");
        assert_eq!(client.line("CONFIG GET *").to_string(), before, "{pairs}");
        let answer = ping(&server, certificates.client_config(Some("client"), ALL_VERSIONS));
        assert!(answer.is_some(), "{pairs}");
    }
}

#[test]
fn the_configured_versions_and_ciphers_are_used() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 1);
    let mut control = client(&server, &certificates, Some("client"));
    let spoken = |version: &'static SupportedProtocolVersion| {
        let config = certificates.client_config(Some("client"), &[version]);
        let mut stream = stream(address(&server), config);
        let asked = stream.write_all(b"PING\r\n").and_then(|()| stream.read_exact(&mut [0; 7]));
        let suite = stream.conn.negotiated_cipher_suite().filter(|_| asked.is_ok());
        suite.map_or_else(String::new, |suite| format!("{:?}", suite.suite()))
    };
    for (set, new, old) in [
        ("tls-protocols ''", "TLS13_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
        ("tls-protocols TLSv1.3", "TLS13_AES_256_GCM_SHA384", ""),
        ("tls-protocols 'tlsv1.1 TLSv1.2'", "", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
        (
            "tls-protocols 'TLSv1.2 TLSv1.3' tls-ciphersuites TLS_AES_128_GCM_SHA256",
            "TLS13_AES_128_GCM_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        ),
        (
            "tls-ciphers ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384",
            "TLS13_AES_128_GCM_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        ),
        (
            "tls-prefer-server-ciphers yes",
            "TLS13_AES_128_GCM_SHA256",
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        ),
    ] {
        assert_eq!(control.line(&format!("CONFIG SET {set}")).to_string(), "+OK", "{set}");
        assert_eq!((spoken(&TLS13).as_str(), spoken(&TLS12).as_str()), (new, old), "{set}");
    }
}

#[test]
fn sessions_can_be_resumed_unless_caching_is_off() {
    let certificates = Certificates::new();
    for (caching, lifetime, expected) in [
        (true, 300, HandshakeKind::Resumed),
        (true, 0, HandshakeKind::Full),
        (false, 300, HandshakeKind::Full),
    ] {
        let tls = TlsParameters {
            session_caching: caching,
            session_cache_timeout: lifetime,
            ..certificates.parameters()
        };
        let server = server(tls, 1);
        for versions in [&[&TLS13], &[&TLS12]] {
            let config = certificates.client_config(Some("client"), versions);
            let first = used(&server, config.clone());
            assert_eq!(first.conn.handshake_kind(), Some(HandshakeKind::Full));
            let second = used(&server, config);
            assert_eq!(second.conn.handshake_kind(), Some(expected), "{caching} {lifetime} {versions:?}");
        }
    }
}
