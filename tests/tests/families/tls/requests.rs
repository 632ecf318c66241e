//! Requests over TLS are answered as they are over plain connections.

use crate::tls::{client, server};
use lockwheel_tests::client::{Client, Protocol, encode};
use lockwheel_tests::tls::{Certificates, address, stream};
use rustls::version::{TLS12, TLS13};

#[test]
fn both_tls_versions_work_on_any_number_of_threads() {
    let certificates = Certificates::new();
    for threads in [1, 2, 4] {
        let server = server(certificates.parameters(), threads);
        let [mut new, mut old] = [&TLS13, &TLS12].map(|version| {
            let config = certificates.client_config(Some("client"), &[version]);
            Client::over(stream(address(&server), config))
        });
        assert_eq!(new.line("SET k v").to_string(), "+OK");
        assert_eq!(old.line("GET k").to_string(), "\"v\"");
        assert_eq!(new.line("MULTI").to_string(), "+OK");
        assert_eq!(new.line("INCR n").to_string(), "+QUEUED");
        assert_eq!(new.line("EXEC").to_string(), "[:1]");
        assert!(old.line("HELLO 3").to_string().contains("\"proto\": :3"));
        assert_eq!(old.protocol(), Protocol::Resp3);
        old.send_line("BLPOP list 0");
        assert_eq!(new.line("AWAIT.BLOCKED 1").to_string(), ":1");
        assert_eq!(new.line("RPUSH list x").to_string(), ":1");
        assert_eq!(old.read_reply().to_string(), "[\"list\", \"x\"]");
        old.line("SUBSCRIBE channel");
        assert_eq!(new.line("PUBLISH channel m").to_string(), ":1");
        assert_eq!(old.read_push().to_string(), ">[\"message\", \"channel\", \"m\"]");
        assert_eq!(new.line("QUIT").to_string(), "+OK");
        // The client sends close_notify: without it, the end of the stream would be an error.
        assert_eq!(new.read_to_close(), b"");
    }
}

#[test]
fn client_list_shows_the_tls_port_of_a_client() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 1);
    let mut client = certificates.connect(&server);
    let (own, port) = (client.local(), address(&server));
    let list = client.line("CLIENT LIST").to_string();
    assert!(list.contains(&format!(" addr={own} laddr={port} ")), "{list}");
    assert!(client.line("INFO server").to_string().contains(&format!("tcp_port:{}\\r\\n", port.port())));
    let pair = format!("[\"tls-port\", \"{}\"]", port.port());
    assert_eq!(client.line("CONFIG GET tls-port").to_string(), pair);
    assert_eq!(client.line("CONFIG GET port").to_string(), "[\"port\", \"0\"]");
    assert_eq!((server.port(), server.tls_port()), (0, Some(port.port())));
}

/// A record holds 16 KiB; the server reads 32 KiB at a time and holds back 64 KiB.
#[test]
fn values_of_any_size_are_transferred_whole() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 1);
    let mut client = certificates.connect(&server);
    for size in [1, 16_300, 16_383, 16_384, 16_385, 32_767, 32_768, 49_000, 65_536, 131_073, 3_000_000] {
        let value: Vec<u8> = (0..size).map(|index| (index % 251) as u8).collect();
        assert_eq!(client.cmd(&[b"SET", &b"k"[..], &value]).to_string(), "+OK", "{size}");
        assert_eq!(client.cmd(&["GET", "k"]).as_bytes(), Some(&value[..]), "{size}");
        assert_eq!(client.line("APPEND k x").to_string(), format!(":{}", size + 1));
    }
}

#[test]
fn long_pipelines_are_answered_in_order() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 2);
    let mut client = certificates.connect(&server);
    let requests: Vec<_> =
        (0..20_000).map(|number| vec!["ECHO".to_owned(), format!("{number:08}")]).collect();
    let replies = client.pipeline(&requests);
    for (reply, request) in replies.iter().zip(&requests) {
        assert_eq!(reply.as_bytes(), Some(request[1].as_bytes()));
    }
}

#[test]
fn a_client_may_read_its_replies_late() {
    const MIB: usize = 1 << 20;
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 1);
    let [mut late, mut other] = [0; 2].map(|_| certificates.connect(&server));
    assert_eq!(other.cmd(&["SET", "k", &"x".repeat(MIB)]).to_string(), "+OK");
    late.send_raw(&encode(&["GET", "k"]).repeat(40));
    late.send_line("PUBLISH all read");
    // The last of the client's requests has run, and other clients are served.
    while !other.line("CLIENT LIST").to_string().contains("cmd=publish") {}
    for _ in 0..40 {
        assert_eq!(late.read_reply().as_bytes().map(<[u8]>::len), Some(MIB));
    }
    assert_eq!(late.read_reply().to_string(), ":0");
    assert_eq!(late.line("PING").to_string(), "+PONG");
}

#[test]
fn a_client_that_never_reads_is_disconnected() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 2);
    let [mut deaf, mut other] = [0; 2].map(|_| certificates.connect(&server));
    assert_eq!(other.line("CONFIG SET client-output-buffer-limit 'pubsub 4mb 0 0'").to_string(), "+OK");
    deaf.line("SUBSCRIBE channel");
    let message = "x".repeat(100_000);
    let mut sent = 0;
    while other.cmd(&["PUBLISH", "channel", &message]).to_string() == ":1" {
        sent += message.len();
        assert!(sent < 1 << 30, "nobody was cut off");
    }
    assert!(
        other.line("INFO stats").to_string().contains("client_output_buffer_limit_disconnections:1\\r\\n")
    );
}

#[test]
fn a_killed_client_gets_a_close_notification() {
    let certificates = Certificates::new();
    let server = server(certificates.parameters(), 2);
    let [mut victim, mut other] = [0; 2].map(|_| client(&server, &certificates, Some("client")));
    let id = victim.line("CLIENT ID").as_int().expect("a number");
    assert_eq!(other.line(&format!("CLIENT KILL ID {id}")).to_string(), ":1");
    assert_eq!(victim.read_to_close(), b"");
    assert_eq!(other.line("CLIENT KILL TYPE normal SKIPME no").to_string(), ":1");
    assert_eq!(other.read_to_close(), b"");
}
