//! Clients of a unix socket.

use crate::harness::{Client, Directory, Process, SAFETY_NET, program, refused};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;

fn stream(path: &str) -> UnixStream {
    let stream = UnixStream::connect(path).expect("it listens");
    stream.set_read_timeout(Some(SAFETY_NET)).expect("the time is not zero");
    stream
}

fn client(path: &str) -> Client {
    Client::over(stream(path))
}

fn end(process: &mut Process) {
    process.signal("-TERM");
    assert_eq!(process.wait().0.code(), Some(0));
}

#[test]
fn with_port_0_the_server_listens_only_on_the_unix_socket() {
    let directory = Directory::new();
    let path = directory.file("redis.sock");
    let mut process = Process::start(&["--unixsocket", &path]);
    let ready = format!(" * The server is now ready to accept connections at {path}\n");
    assert!(process.ready.ends_with(&ready), "{}", process.ready);
    let mut client = client(&path);
    assert_eq!(client.ask("PING"), "+PONG");
    assert_eq!(client.parameter("port"), "0");
    assert_eq!(client.parameter("unixsocket"), path);
    assert!(client.ask("INFO server").contains("tcp_port:0\r\n"));
    end(&mut process);
    assert!(!fs::exists(&path).expect("the directory can be read"), "the file goes with the server");
}

#[test]
fn the_server_listens_on_a_unix_socket_and_a_requested_port() {
    let directory = Directory::new();
    let (path, port) = (directory.file("redis.sock"), directory.file("port"));
    let process = Process::start(&["--unixsocket", &path, "--port-file", &port]);
    assert_ne!(process.port, 0);
    assert_eq!(fs::read_to_string(&port).expect("it is there").trim(), process.port.to_string());
    assert_eq!(client(&path).ask("SET k v"), "+OK");
    assert_eq!(process.client().ask("GET k"), "v");

    let (number, other) = (process.port.to_string(), directory.file("other.sock"));
    drop(process);
    let process = Process::from(program().args(["--unixsocket", &other, "--port", &number]));
    assert_eq!(process.port.to_string(), number);
    assert_eq!(process.client().ask("PING"), "+PONG");
    assert_eq!(client(&other).ask("PING"), "+PONG");
}

#[test]
fn unix_socket_clients_count_as_local_clients() {
    let directory = Directory::new();
    let path = directory.file("redis.sock");
    let _process = Process::start(&[
        "--unixsocket",
        &path,
        "--enable-debug-command",
        "local",
        "--enable-protected-configs",
        "local",
    ]);
    let mut client = client(&path);
    let list = client.ask("CLIENT LIST");
    assert!(list.contains(&format!(" addr={path}:0 laddr={path}:0 fd=")), "{list}");
    assert!(list.contains(" flags=U "), "{list}");
    assert_eq!(client.ask("DEBUG SLEEP 0"), "+OK");
    assert_eq!(client.ask("CONFIG SET dbfilename other.rdb"), "+OK");
    let me = client.ask(&format!("CLIENT KILL ADDR \"{path}:0\" SKIPME yes"));
    assert_eq!(me, ":0");
}

#[test]
fn the_socket_file_has_the_configured_permissions() {
    let directory = Directory::new();
    for (asked, mode) in [("700", 0o700), ("777", 0o777), ("0600", 0o600)] {
        let path = directory.file(asked);
        let _process = Process::start(&["--unixsocket", &path, "--unixsocketperm", asked]);
        let data = fs::metadata(&path).expect("it is there before the ready line");
        assert!(data.file_type().is_socket());
        assert_eq!(data.permissions().mode() & 0o777, mode, "{asked}");
    }
}

#[test]
fn the_socket_file_of_a_killed_server_is_replaced() {
    let directory = Directory::new();
    let path = directory.file("redis.sock");
    let mut process = Process::start(&["--unixsocket", &path]);
    process.signal("-KILL");
    process.wait();
    assert!(fs::exists(&path).expect("the directory can be read"));
    let _process = Process::start(&["--unixsocket", &path]);
    assert_eq!(client(&path).ask("PING"), "+PONG");
}

#[test]
fn a_server_that_ends_keeps_the_socket_file_of_its_successor() {
    let directory = Directory::new();
    let path = directory.file("redis.sock");
    let mut first = Process::start(&["--unixsocket", &path]);
    let _second = Process::start(&["--unixsocket", &path]);
    end(&mut first);
    assert_eq!(client(&path).ask("PING"), "+PONG");
}

#[test]
fn an_unusable_socket_path_is_reported() {
    let directory = Directory::new();
    refused(
        &["--port", "0", "--unixsocket", &directory.file("no/redis.sock")],
        &["Failed opening Unix socket: bind: No such file or directory\n"],
    );
    let directory = directory.0.to_str().expect("the path is text");
    refused(
        &["--port", "0", "--unixsocket", directory],
        &["Failed opening Unix socket: bind: Address already in use\n"],
    );
    let long = format!("/tmp/{}", "a".repeat(120));
    refused(
        &["--port", "0", "--unixsocket", &long],
        &["Failed opening Unix socket: unix socket path too long (125), must be under 108\n"],
    );
}

#[test]
fn long_pipelines_and_large_replies_pass() {
    let directory = Directory::new();
    let path = directory.file("redis.sock");
    let _process = Process::start(&["--unixsocket", &path]);
    let value = "x".repeat(1 << 20);
    let mut stream = stream(&path);
    let mut writer = stream.try_clone().expect("the stream can be shared");
    let set = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}\r\n", value.len());
    let requests = set + &"GET k\r\n".repeat(50) + "QUIT\r\n";
    let writer = std::thread::spawn(move || writer.write_all(requests.as_bytes()).expect("it is read"));
    let mut replies = Vec::new();
    stream.read_to_end(&mut replies).expect("the server answers, and closes");
    writer.join().expect("it was written");
    let reply = format!("${}\r\n{value}\r\n", value.len());
    let expected = format!("+OK\r\n{}+OK\r\n", reply.repeat(50));
    assert!(replies == expected.as_bytes(), "{} bytes of {}", replies.len(), expected.len());
}

#[test]
fn clients_beyond_maxclients_get_an_error() {
    let directory = Directory::new();
    let path = directory.file("redis.sock");
    let _process = Process::start(&["--unixsocket", &path, "--maxclients", "1"]);
    let mut first = client(&path);
    assert_eq!(first.ask("PING"), "+PONG");
    assert_eq!(client(&path).read(), "-ERR max number of clients reached");
}
