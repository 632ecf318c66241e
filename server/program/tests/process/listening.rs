//! Moving to other addresses while the server runs: CONFIG SET bind and port. Replies are redis-server 7.0.15's.

use crate::harness::{Client, Directory, Process, SAFETY_NET};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Instant;

const FIRST: Ipv4Addr = Ipv4Addr::LOCALHOST;
const SECOND: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const BIND_FAILED: &str =
    "-ERR CONFIG SET failed (possibly related to argument 'bind') - Failed to bind to specified addresses.";
const PORT_FAILED: &str = "-ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this \
                           port. Check server logs.";

/// Whether a server replies there. If not, the port must be closed.
#[track_caller]
fn answers(ip: Ipv4Addr, port: u16) -> bool {
    match TcpStream::connect((ip, port)) {
        Ok(stream) => {
            stream.set_read_timeout(Some(SAFETY_NET)).expect("the time is not zero");
            Client::over(stream).ask("PING") == "+PONG"
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            false
        }
    }
}

/// Makes the server listen on a free port. Another process may take the port first, though hardly ten times.
fn move_to_free_port(client: &mut Client) -> u16 {
    let free = |_| {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("there is a free port");
        listener.local_addr().expect("it is bound").port()
    };
    let found = (0..10).map(free).find(|port| client.ask(&format!("CONFIG SET port {port}")) == "+OK");
    found.expect("it moves to a free port")
}

#[test]
fn the_server_listens_only_on_the_addresses_of_bind() {
    let process = Process::start(&["--bind", "127.0.0.1"]);
    let (mut client, port) = (process.client(), process.port);
    assert!(!answers(SECOND, port));
    for (bind, first, second) in [
        ("127.0.0.1 127.0.0.2", true, true),
        ("127.0.0.2", false, true),
        ("127.0.0.1 -::1", true, false),
        ("0.0.0.0", true, true),
        ("* -::*", true, true),
        ("127.0.0.1 -192.0.2.1", true, false),
        ("", false, false),
        ("127.0.0.1", true, false),
    ] {
        assert_eq!(client.ask(&format!("CONFIG SET bind \"{bind}\"")), "+OK", "{bind}");
        assert_eq!(client.parameter("bind"), bind);
        assert_eq!((answers(FIRST, port), answers(SECOND, port)), (first, second), "{bind}");
        assert_eq!(client.parameter("port"), port.to_string());
    }
}

#[test]
fn a_failed_change_of_bind_changes_nothing() {
    let process = Process::start(&["--bind", "127.0.0.1"]);
    let (mut client, port) = (process.client(), process.port);
    let other = TcpListener::bind((SECOND, port)).expect("nobody has this port there");
    for bind in ["192.0.2.1", "127.0.0.1 192.0.2.1", "127.0.0.1 127.0.0.2", "127.0.0.1 nosuchname.invalid"] {
        assert_eq!(client.ask(&format!("CONFIG SET timeout 5 BIND \"{bind}\"")), BIND_FAILED, "{bind}");
        assert_eq!(client.parameter("bind"), "127.0.0.1");
        assert_eq!(client.parameter("timeout"), "0");
        assert!(answers(FIRST, port), "{bind}");
    }
    drop(other);
    // A process that another test is just starting may also hold the socket for a moment.
    let begin = Instant::now();
    while client.ask("CONFIG SET bind \"127.0.0.1 127.0.0.2\"") != "+OK" {
        assert!(begin.elapsed() < SAFETY_NET, "the address is free again");
    }
    assert!(answers(SECOND, port));
}

#[test]
fn the_port_can_be_changed_and_closed() {
    let process = Process::start(&["--bind", "127.0.0.1"]);
    let (mut client, port) = (process.client(), process.port);
    let new = move_to_free_port(&mut client);
    assert_eq!((answers(FIRST, port), answers(FIRST, new)), (false, true));
    assert_eq!(client.parameter("port"), new.to_string());
    assert!(client.ask("INFO server").contains(&format!("tcp_port:{new}\r\n")));

    let holder = TcpListener::bind((FIRST, 0)).expect("loopback has a free port");
    let taken = holder.local_addr().expect("it is bound").port();
    assert_eq!(client.ask(&format!("CONFIG SET port {taken}")), PORT_FAILED);
    assert_eq!(client.ask(&format!("CONFIG SET port {taken} bind 192.0.2.1")), PORT_FAILED);
    assert_eq!(client.ask(&format!("CONFIG SET bind 192.0.2.1 port {taken}")), BIND_FAILED);
    assert!(answers(FIRST, new));

    // Existing connections stay.
    assert_eq!(client.ask("CONFIG SET port 0"), "+OK");
    assert!(!answers(FIRST, new));
    assert_eq!(client.parameter("port"), "0");
    let again = move_to_free_port(&mut client);
    assert!(answers(FIRST, again));
}

#[test]
fn a_transaction_may_change_the_port() {
    let process = Process::start(&["--bind", "127.0.0.1"]);
    let mut client = process.client();
    client.send("MULTI\r\nCONFIG SET bind 127.0.0.2\r\nSET k v\r\nEXEC");
    let replies: Vec<String> = (0..4).map(|_| client.read()).collect();
    assert_eq!(replies, ["+OK", "+QUEUED", "+QUEUED", "+OK +OK"]);
    assert_eq!((answers(FIRST, process.port), answers(SECOND, process.port)), (false, true));
}

#[cfg(unix)]
#[test]
fn a_server_of_a_unix_socket_can_open_a_port() {
    let directory = Directory::new();
    let path = directory.file("redis.sock");
    let _process = Process::start(&["--unixsocket", &path, "--bind", "127.0.0.1"]);
    let stream = std::os::unix::net::UnixStream::connect(&path).expect("it listens");
    let port = move_to_free_port(&mut Client::over(stream));
    assert!(answers(FIRST, port));
}
