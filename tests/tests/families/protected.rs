//! Protected mode, compared with redis-server. It uses addresses of the loopback interface that only Linux provides by
//! default.
#![cfg(target_os = "linux")]

use lockwheel::{Config, Server};
use lockwheel_tests::client::Client;
use lockwheel_tests::redis_server::{Kind, RealServer};
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};

/// An address of this machine that neither server considers local.
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 5);

/// Connects from an address.
fn from(source: Ipv4Addr, server: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SockAddr::from(SocketAddr::new(IpAddr::V4(source), 0))).expect("an address of the loopback");
    socket.connect(&SockAddr::from(server)).expect("the server listens");
    socket.into()
}

/// The whole text, which a client that sends nothing reads to its end.
fn text(source: Ipv4Addr, server: SocketAddr) -> String {
    let mut text = String::new();
    from(source, server).read_to_string(&mut text).expect("the connection is closed in order");
    text
}

fn servers() -> Option<(RealServer, Server)> {
    let real = RealServer::start(Kind::Redis, &["--protected-mode", "yes"])?;
    Some((
        real,
        Server::builder().config(Config::default()).port(0).start().expect("loopback has a free port"),
    ))
}

#[test]
fn clients_from_outside_are_refused_as_by_redis() {
    let Some((real, ours)) = servers() else { return };
    let real_text = text(OUTSIDE, real.addr());
    assert!(real_text.starts_with("-DENIED Redis is running in protected mode"), "{real_text}");
    assert_eq!(text(OUTSIDE, ours.addr()), real_text);
    for address in [real.addr(), ours.addr()] {
        let mut inside = Client::connect(address);
        assert!(!is_admitted(OUTSIDE, address) && is_admitted(Ipv4Addr::LOCALHOST, address));
        for (line, refused) in [
            ("CONFIG SET requirepass secret", false),
            ("AUTH secret", false),
            ("CONFIG SET requirepass \"\"", true),
            ("ACL SETUSER default >secret", false),
            ("ACL SETUSER default nopass", true),
            ("CONFIG SET protected-mode no", false),
            ("CONFIG SET protected-mode yes", true),
        ] {
            let answer = inside.line(line);
            assert!(!answer.is_error(), "{line}: {answer}");
            assert_eq!(is_admitted(OUTSIDE, address), !refused, "{address}: {line}");
        }
        let info = inside.line("INFO stats").to_string();
        assert!(!info.contains("rejected_connections:0"), "{info}");
    }
}

/// Whether a client gets an answer. A refused client may not even get the error: its request is never read, and unread
/// bytes at the close of a connection can cut short the text that was sent.
fn is_admitted(source: Ipv4Addr, server: SocketAddr) -> bool {
    let mut stream = from(source, server);
    if stream.write_all(b"PING\r\n").is_err() {
        return false;
    }
    let mut answer = [0; 7];
    // A server that accepts the client may ask for a password.
    stream.read_exact(&mut answer).is_ok() && (answer == *b"+PONG\r\n" || answer == *b"-NOAUTH")
}
