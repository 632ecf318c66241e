//! The protocol itself: raw bytes, and misbehaving clients. If a redis-server is installed, its bytes are compared with
//! ours.

use lockwheel::{Config, Server};
use lockwheel_tests::client::{Client, encode};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::quoted;
use std::io::ErrorKind;
use std::net::SocketAddr;

/// A server with these parameters.
fn server_with(parameters: &[(&str, &str)]) -> Server {
    let mut config = Config::default();
    let pairs: Vec<(&[u8], &[u8])> =
        parameters.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
    config.set(&pairs, true).expect("the parameters are right");
    Server::builder().config(config).port(0).seed(ours::SEED).start().expect("loopback has a free port")
}

/// Returns the bytes that a server sends, up to the end of the connection, to a client that sends only these bytes.
fn answer(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut client = Client::connect(address);
    // The server may hang up before it has read all bytes.
    let _ = client.try_send_raw(bytes);
    client.finish_sending();
    client.read_to_close()
}

/// Requires the same bytes of our server and, if it is installed, of a redis-server. Both have this password.
fn same_bytes(password: &str, inputs: &[&[u8]]) {
    let own = server_with(&[("requirepass", password)]);
    let real = RealServer::start(Kind::Redis, &["--requirepass", password]);
    for &input in inputs {
        let got = answer(own.addr(), input);
        if let Some(real) = &real {
            let expected = answer(real.addr(), input);
            let shown = quoted(&input[..input.len().min(200)]);
            assert_eq!(quoted(&got), quoted(&expected), "for {shown}");
        }
    }
    assert_eq!(answer(own.addr(), b"QUIT\r\n"), b"+OK\r\n", "the server lives");
}

#[test]
fn malformed_requests_are_refused_as_redis_refuses_them() {
    let long_line = [b'x'; 70_000];
    let long_count = [b"*", &[b'1'; 70_000][..]].concat();
    let long_length = [b"*1\r\n$", &[b'1'; 70_000][..]].concat();
    same_bytes(
        "",
        &[
            b"*3000000000\r\n",
            b"*-2147483649\r\nPING\r\n",
            b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n",
            b"*1\r\n$-10\r\n",
            b"*1\r\n$2000000000\r\n",
            b"*1\r\n$536870913\r\n",
            b"*1\r\n$blabla\r\n",
            b"*1\r\n$\r\n",
            b"*1\r\n$4 \r\n",
            b"*1\r\n$+4\r\nPING\r\n",
            b"*1\r\nfoo\r\n",
            b"*1\r\n:1\r\n",
            b"*1\r\n*1\r\n*1\r\n",
            b"*x\r\n",
            b"*\r\n",
            b"* 1\r\n$4\r\nPING\r\n",
            b"*01\r\n$4\r\nPING\r\n",
            b"*\x00\r\n",
            b"*1\r\n$\x00\r\n",
            b"\x00\r\n",
            b"SET a \"unbalanced\r\n",
            b"SET a 'unbalanced\r\n",
            b"SET a \"x\"y\r\n",
            &long_line,
            &long_count,
            &long_length,
        ],
    );
}

#[test]
fn a_protocol_error_quotes_a_byte_unchanged() {
    let inputs: Vec<Vec<u8>> = (0..=255).map(|byte| [b"*1\r\n", &[byte][..], b"x\r\n"].concat()).collect();
    same_bytes("", &inputs.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let server = ours::server();
    for byte in [1, b'\t', b'\'', b'"', b'\\', 0x7f, 0x80, 0xff] {
        let expected = [b"-ERR Protocol error: expected '$', got '", &[byte][..], b"'\r\n"].concat();
        assert_eq!(answer(server.addr(), &inputs[usize::from(byte)]), expected);
    }
}

#[test]
fn errors_quote_words_as_they_are_up_to_a_nul() {
    const PLACES: &[&[&str]] = &[
        &["nosuch?", "a"],
        &["nosuch", "a?c", "d"],
        &["CLIENT", "a?c"],
        &["OBJECT", "a?c", "d"],
        &["CONFIG", "SET", "a?c", "1"],
        &["CLIENT", "KILL", "TYPE", "a?c"],
        &["CLIENT", "KILL", "USER", "a?c"],
        &["HELLO", "3", "a?c"],
        &["PUBSUB", "CHANNELS", "a?c", "d", "e"],
        &["EXPIRE", "k", "1", "a?c"],
        &["CLIENT", "UNBLOCK", "1", "a?c"],
    ];
    for place in PLACES {
        let with = |byte: u8| {
            let word = |word: &&str| {
                word.bytes().map(|letter| if letter == b'?' { byte } else { letter }).collect::<Vec<u8>>()
            };
            encode(&place.iter().map(word).collect::<Vec<_>>())
        };
        let inputs: Vec<Vec<u8>> = (0..=255).map(with).collect();
        same_bytes("", &inputs.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }
    let server = ours::server();
    let sent = answer(server.addr(), &encode(&[&b"CLIENT"[..], b"a\xff\x00c"]));
    assert_eq!(sent, b"-ERR unknown subcommand 'a\xff'. Try CLIENT HELP.\r\n");
}

#[test]
fn empty_requests_are_skipped() {
    same_bytes(
        "",
        &[
            b"\r\n\r\nPING\r\n",
            b"*0\r\nPING\r\n",
            b"*-1\r\n*1\r\n$4\r\nPING\r\n",
            b"*-5\r\nPING\r\n",
            b"   \r\nPING\r\n",
            b"\nPING\n",
            b"PING\r\n*0\r\n\r\nPING\r\n",
        ],
    );
}

#[test]
fn inline_requests_are_read_as_redis_reads_them() {
    same_bytes(
        "",
        &[
            b"PING\r\n",
            b"PING\n",
            b"  PING   hello  \r\n",
            b"ECHO \"a b\\n\\x41\\\"\"\r\n",
            b"ECHO 'a\\'b\"c'\r\n",
            b"ECHO \"\"\r\n",
            b"\tPING\t\r\n",
            b"SET k v\r\nGET k\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\nDEL k\r\n",
            b"nonsense a b c\r\nPING\r\n",
            b"PING\r\nQUIT\r\nPING\r\n",
            b"PING",
        ],
    );
}

#[test]
fn a_web_page_cannot_command_the_server() {
    same_bytes(
        "",
        &[
            b"POST / HTTP/1.1\r\nHost: x\r\n\r\nPING\r\n",
            b"PING\r\nhost: example.org\r\nPING\r\n",
            b"*1\r\n$4\r\npost\r\n*1\r\n$4\r\nPING\r\n",
            b"GET / HTTP/1.1\r\nHost: x\r\nPING\r\n",
        ],
    );
}

#[test]
fn only_small_requests_are_accepted_before_authentication() {
    let long = encode(&[b"PING".to_vec(), vec![b'x'; 20_000]]);
    let fits = encode(&[b"ECHO".to_vec(), vec![b'x'; 16_384]]);
    let many = encode(&["x"; 11]);
    let after_auth = [&b"AUTH secret\r\n"[..], &encode(&["MGET"; 100]), b"PING\r\n"].concat();
    same_bytes(
        "secret",
        &[
            b"*100\r\n",
            b"*11\r\n",
            b"*2\r\n$4\r\nPING\r\n$16385\r\n",
            b"*1\r\n$100000000\r\n",
            &long,
            &fits,
            &many,
            &after_auth,
            b"PING\r\nGET a\r\nnonsense\r\nGET\r\n",
            b"MULTI\r\nEXEC\r\nSUBSCRIBE c\r\n",
            b"HELLO 3 AUTH default wrong\r\nHELLO 9\r\nHELLO x\r\n",
            b"AUTH wrong\r\nAUTH default wrong\r\nAUTH nobody secret\r\nAUTH a b c\r\nAUTH secret\r\nDBSIZE\r\n",
            b"AUTH secret\r\nRESET\r\nDBSIZE\r\n",
        ],
    );
}

#[test]
fn requests_may_arrive_in_pieces_or_pipelined() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    for byte in encode(&["SET", "key", "va\r\nlue"]) {
        client.send_raw(&[byte]);
    }
    assert_eq!(client.read_reply().to_string(), "+OK");
    let pipeline: Vec<Vec<&str>> = (0..5000).map(|_| vec!["GET", "key"]).collect();
    let replies = client.pipeline(&pipeline);
    assert!(replies.iter().all(|reply| reply.as_bytes() == Some(b"va\r\nlue")));
}

#[test]
fn a_header_reserves_no_memory() {
    let server = ours::server();
    // If the server believed each of these lengths, the machine would run out of memory.
    let mut clients: Vec<Client> = (0..64).map(|_| Client::connect(server.addr())).collect();
    for client in &mut clients {
        client.send_raw(b"*1000000000\r\n$500000000\r\nx");
    }
    assert_eq!(clients.len(), 64);
    assert_eq!(Client::connect(server.addr()).line("PING").to_string(), "+PONG");
}

#[test]
fn an_unfinished_request_over_the_limit_ends_the_connection() {
    let server = server_with(&[("client-query-buffer-limit", "1mb")]);
    let mut client = Client::connect(server.addr());
    client.send_raw(b"*2\r\n$4\r\nECHO\r\n$10000000\r\n");
    let _ = client.try_send_raw(&vec![b'x'; 10_000_000]);
    // The close of the connection overtakes the bytes on their way to the server.
    match client.try_read_frame() {
        Ok(frame) => assert_eq!(frame, None),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
    assert_eq!(Client::connect(server.addr()).line("PING").to_string(), "+PONG");
}

#[test]
fn clients_beyond_maxclients_are_refused() {
    let server = server_with(&[("maxclients", "2")]);
    let mut first = Client::connect(server.addr());
    let mut second = Client::connect(server.addr());
    first.line("PING");
    second.line("PING");
    let mut third = Client::connect(server.addr());
    assert_eq!(third.read_to_close(), b"-ERR max number of clients reached\r\n");
    let rejected = first.line("INFO stats");
    let rejected = String::from_utf8_lossy(rejected.as_bytes().unwrap()).into_owned();
    assert!(rejected.contains("rejected_connections:1\r\n"), "{rejected}");
    assert!(rejected.contains("total_error_replies:0\r\n"), "{rejected}");
    assert_eq!(second.line("CONFIG SET maxclients 10").to_string(), "+OK");
    assert_eq!(Client::connect(server.addr()).line("PING").to_string(), "+PONG");
}

#[test]
fn a_disconnected_client_frees_its_place_under_maxclients() {
    let server = server_with(&[("maxclients", "2")]);
    let mut first = Client::connect(server.addr());
    let mut second = Client::connect(server.addr());
    second.line("PING");
    assert_eq!(second.line("QUIT").to_string(), "+OK");
    assert_eq!(second.read_to_close(), b"");
    while !first.line("INFO clients").to_string().contains("connected_clients:1\\r") {}
    // The place of a client is freed after its session, so the first attempt may be too early.
    loop {
        let mut third = Client::connect(server.addr());
        third.send_line("PING");
        if third.read_frame().to_string() == "+PONG" {
            return;
        }
    }
}

/// Publishes until a subscriber that does not read is disconnected. Returns the number of messages.
fn publish_until_cut_off(server: &Server, message: &[u8]) -> usize {
    let mut deaf = Client::connect(server.addr());
    deaf.line("SUBSCRIBE c");
    let mut publisher = Client::connect(server.addr());
    for count in 1..10_000 {
        if publisher.cmd(&[b"PUBLISH", &b"c"[..], message]).as_int() == Some(0) {
            let info = publisher.line("INFO stats").to_string();
            assert!(info.contains("client_output_buffer_limit_disconnections:1\\r"), "{info}");
            assert!(deaf.read_to_close().len() < count * message.len());
            return count;
        }
    }
    panic!("it was not cut off");
}

#[test]
fn a_subscriber_that_does_not_read_is_disconnected() {
    let server = server_with(&[("client-output-buffer-limit", "pubsub 1mb 0 0")]);
    let message = vec![b'x'; 100_000];
    // The limit counts the bytes that the system has not taken yet; the system's own buffers come on top.
    let count = publish_until_cut_off(&server, &message);
    assert!(count > 10, "{count}");
}

#[test]
fn a_subscriber_that_reads_is_never_disconnected() {
    let server = server_with(&[("client-output-buffer-limit", "pubsub 1mb 0 0")]);
    let mut subscriber = Client::connect(server.addr());
    subscriber.line("SUBSCRIBE c");
    let mut publisher = Client::connect(server.addr());
    let message = vec![b'x'; 900_000];
    for _ in 0..8 {
        assert_eq!(publisher.cmd(&[b"PUBLISH", &b"c"[..], &message]).as_int(), Some(1));
        subscriber.read_push();
    }
}

#[test]
fn an_unauthenticated_client_that_does_not_read_is_disconnected() {
    let server = server_with(&[("requirepass", "secret")]);
    let mut deaf = Client::connect(server.addr());
    let requests = encode(&["PING"]).repeat(10_000);
    // Each answer is longer than its request; without a limit, the output would grow as long as the client sends.
    while deaf.try_send_raw(&requests).is_ok() {}
    let mut client = Client::connect(server.addr());
    assert_eq!(client.line("AUTH secret").to_string(), "+OK");
    assert_eq!(client.line("PING").to_string(), "+PONG");
}

#[test]
fn a_client_that_quits_and_reads_late_gets_all_replies() {
    let server = ours::server();
    let (mut client, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
    let big = "x".repeat(1 << 24);
    assert_eq!(client.cmd(&["SET", "big", &big]).to_string(), "+OK");
    client.send_line("GET big");
    let calls = |other: &mut Client, name: &str| {
        let stats = other.line("INFO commandstats").to_string();
        stats.contains(&format!("cmdstat_{name}:calls=1,"))
    };
    while !calls(&mut other, "get") {}
    client.send_line("QUIT");
    while !calls(&mut other, "quit") {}
    assert_eq!(client.read_reply().as_bytes().map(<[u8]>::len), Some(big.len()));
    assert_eq!(client.read_reply().to_string(), "+OK");
}

#[test]
fn a_protocol_error_is_sent_once_after_all_replies() {
    const GETS: usize = 3000;
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    let value = "x".repeat(10_000);
    assert_eq!(client.cmd(&["SET", "k", &value]).to_string(), "+OK");
    let requests = [&encode(&["GET", "k"]).repeat(GETS)[..], b"*x\r\n"].concat();
    client.send_raw(&requests);
    let mut other = Client::connect(server.addr());
    let done = format!("cmdstat_get:calls={GETS},");
    while !other.line("INFO commandstats").to_string().contains(&done) {}
    for _ in 0..GETS {
        assert_eq!(client.read_reply().as_bytes().map(<[u8]>::len), Some(value.len()));
    }
    assert_eq!(client.read_reply().to_string(), "-ERR Protocol error: invalid multibulk length");
    assert!(client.read_to_close().is_empty());
}

#[test]
fn a_half_closed_client_gets_all_replies() {
    const PINGS: usize = 6000;
    let server = ours::server();
    // The bytes exceed one read. The moment at which the server sees the end varies.
    let requests = encode(&["PING"]).repeat(PINGS);
    for _ in 0..50 {
        assert_eq!(answer(server.addr(), &requests).len(), PINGS * b"+PONG\r\n".len());
    }
}
