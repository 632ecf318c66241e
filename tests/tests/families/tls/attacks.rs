//! Bytes on the TLS port that are no sound conversation over TLS: the server survives, and other clients are served.

use crate::tls::server;
use lockwheel_tests::client::{Client, connected, encode};
use lockwheel_tests::rng::Rng;
use lockwheel_tests::tls::{Certificates, TlsStream, address, stream};
use rustls::pki_types::ServerName;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

/// All bytes until the connection ends, in whatever way.
fn rest(mut stream: &TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "it ends"),
    }
    bytes
}

fn greeted(server: &lockwheel::Server, certificates: &Certificates) -> TlsStream {
    let config = certificates.client_config(Some("client"), rustls::ALL_VERSIONS);
    let mut stream = stream(address(server), config);
    stream.write_all(b"PING\r\n").expect("the server is there");
    let mut answer = [0; 7];
    stream.read_exact(&mut answer).expect("the server answers");
    assert_eq!(&answer, b"+PONG\r\n");
    stream
}

#[test]
fn input_that_is_not_tls_ends_only_its_connection() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 1);
    let mut other = certificates.connect(&server);
    for text in [&b"PING\r\n"[..], b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\r\n\r\n\r\n\r\n", &[0xff; 70_000]]
    {
        let mut stream = connected(address(&server));
        // The server may hang up meanwhile.
        let _sent = stream.write_all(text);
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer).expect_err("it is reset");
        assert_eq!((ended.kind(), &*answer), (ErrorKind::ConnectionReset, &b""[..]), "{text:?}");
        assert_eq!(other.line("PING").to_string(), "+PONG");
    }
    assert_eq!(other.line("DBSIZE").to_string(), ":0");
}

/// A client that has sent less than the header of a record, or nothing, gets no TLS bytes either.
#[test]
fn a_client_that_sends_no_tls_gets_no_tls_bytes() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 1);
    for text in [&b""[..], b"P", b"\r\n", b"PING"] {
        let mut stream = connected(address(&server));
        stream.write_all(text).expect("the server is there");
        stream.shutdown(Shutdown::Write).expect("the socket is open");
        assert_eq!(rest(&stream), b"", "{text:?}");
    }
}

#[test]
fn plain_bytes_behind_a_handshake_reset_the_connection() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 1);
    let mut stream = greeted(&server, &certificates);
    stream.sock.write_all(b"*1\r\n$4\r\nPING\r\n").expect("the server is there");
    let ended = stream.sock.read_to_end(&mut Vec::new()).expect_err("it is reset");
    assert_eq!(ended.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn random_bytes_at_any_position_end_only_their_connection() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 2);
    let mut other = certificates.connect(&server);
    let mut random = Rng::new(7);
    for round in 0..60 {
        let mut stream = greeted(&server, &certificates);
        let mut noise: Vec<u8> = (0..random.below(400) + 1).map(|_| random.below(256) as u8).collect();
        if round % 2 == 0 {
            // The header of a record, whose content does not decrypt.
            noise.splice(0..0, [23, 3, 3, (noise.len() >> 8) as u8, noise.len() as u8]);
        }
        stream.sock.write_all(&noise).expect("the server is there");
        // Bytes that are no record cause a reset.
        let _open_or_reset = stream.sock.shutdown(Shutdown::Write);
        rest(&stream.sock);
        assert_eq!(other.line("PING").to_string(), "+PONG");
    }
}

#[test]
fn a_handshake_may_arrive_byte_by_byte() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 1);
    let config = certificates.client_config(Some("client"), rustls::ALL_VERSIONS);
    let name = ServerName::from(address(&server).ip());
    let mut connection = rustls::ClientConnection::new(Arc::new(config), name).expect("the name fits");
    let mut socket = connected(address(&server));
    while connection.is_handshaking() || connection.wants_write() {
        let mut bytes = Vec::new();
        while connection.wants_write() {
            connection.write_tls(&mut bytes).expect("a vector takes everything");
        }
        bytes.chunks(1).for_each(|byte| socket.write_all(byte).expect("the server is there"));
        if connection.is_handshaking() {
            connection.read_tls(&mut socket).expect("the server answers");
            connection.process_new_packets().expect("the server speaks TLS");
        }
    }
    let mut client = Client::over(rustls::StreamOwned::new(connection, socket));
    assert_eq!(client.line("PING").to_string(), "+PONG");
}

/// A client that does not finish its handshake counts as a client, as in Redis, and `timeout` ends it.
#[test]
fn an_unfinished_handshake_ends_at_the_timeout() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 1);
    let mut other = certificates.connect(&server);
    let mut silent = connected(address(&server));
    let mut slow = connected(address(&server));
    slow.write_all(&[22, 3, 1, 2, 0, 1, 0]).expect("the server is there");
    for stream in [&silent, &slow] {
        let own = format!(" addr={} ", stream.local_addr().expect("it is connected"));
        while !other.line("CLIENT LIST").to_string().contains(&own) {}
    }
    assert_eq!(other.line("CONFIG SET timeout 5").to_string(), "+OK");
    other.line("CLOCK.ADVANCE 6000");
    for stream in [&mut silent, &mut slow] {
        rest(stream);
    }
    assert_eq!(other.line("CONFIG SET timeout 0").to_string(), "+OK");
}

#[test]
fn requests_before_a_close_are_answered() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 1);
    for says_so in [true, false] {
        for requests in [1, 5000] {
            let mut stream = greeted(&server, &certificates);
            let asked = encode(&["ECHO", "x"]).repeat(requests);
            stream.write_all(&asked).expect("the server is there");
            if says_so {
                stream.conn.send_close_notify();
                stream.conn.complete_io(&mut stream.sock).expect("the server is there");
            } else {
                stream.sock.shutdown(Shutdown::Write).expect("the socket is open");
            }
            let mut answers = Vec::new();
            stream.read_to_end(&mut answers).expect("the server says that nothing more comes");
            assert_eq!(answers, b"$1\r\nx\r\n".repeat(requests), "{says_so} {requests}");
        }
    }
}

#[test]
fn requests_before_random_bytes_are_executed() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 1);
    let mut other = certificates.connect(&server);
    let mut stream = greeted(&server, &certificates);
    let mut bytes = Vec::new();
    stream.conn.writer().write_all(b"SET k v\r\n").expect("there is room");
    while stream.conn.wants_write() {
        stream.conn.write_tls(&mut bytes).expect("a vector takes everything");
    }
    bytes.extend([23, 3, 3, 0, 30]);
    bytes.extend([1; 30]);
    stream.sock.write_all(&bytes).expect("the server is there");
    // No answer can come after an alert.
    let ended = stream.read_to_end(&mut Vec::new());
    assert_eq!(ended.expect_err("an alert comes").kind(), ErrorKind::InvalidData);
    assert_eq!(other.line("GET k").to_string(), "\"v\"");
}

#[test]
fn a_client_beyond_maxclients_is_disconnected() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 1);
    let mut client = certificates.connect(&server);
    assert_eq!(client.line("CONFIG SET maxclients 1").to_string(), "+OK");
    assert_eq!(rest(&connected(address(&server))), b"");
    assert!(client.line("INFO stats").to_string().contains("rejected_connections:1\\r\\n"));
}

/// Clients that vanish in all states leave nothing behind.
#[test]
fn lost_clients_leave_nothing_behind() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 2);
    let mut other = certificates.connect(&server);
    let mut waiting = certificates.connect(&server);
    waiting.send_line("BLPOP list 0");
    other.line("AWAIT.BLOCKED 1");
    waiting.reset();
    for _ in 0..20 {
        let stream = connected(address(&server));
        (&stream).write_all(&[22, 3, 1]).expect("the server is there");
        drop(stream);
        drop(greeted(&server, &certificates));
        certificates.connect(&server).reset();
    }
    while !other.line("INFO clients").to_string().contains("connected_clients:1\\r\\n") {}
    assert_eq!(other.line("RPUSH list x").to_string(), ":1");
    assert_eq!(other.line("LLEN list").to_string(), ":1");
}
