//! The TLS parameters of the program, on its command line and while it runs, compared with a real redis-server that has
//! TLS.

use lockwheel_tests::client::{Client, connected};
use lockwheel_tests::program;
use lockwheel_tests::redis_server::{Kind, skip};
use lockwheel_tests::tls::{Certificates, stream};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Returns a port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    listener.local_addr().expect("it is bound").port()
}

fn run(program: &PathBuf, arguments: &[String]) -> Output {
    Command::new(program).args(arguments).stdin(Stdio::null()).output().expect("the program starts")
}

/// A way to start that fails, and the beginning of the first line that says why.
struct Mistake {
    arguments: Vec<String>,
    reason: String,
}

fn mistake(certificates: &Certificates, changed: &[(&str, &str)], reason: &str) -> Mistake {
    let mut pairs = vec![
        ("port".to_owned(), "0".to_owned()),
        ("tls-port".to_owned(), free_port().to_string()),
        ("tls-cert-file".to_owned(), certificates.path("server.crt")),
        ("tls-key-file".to_owned(), certificates.path("server.key")),
        ("tls-ca-cert-file".to_owned(), certificates.path("ca.crt")),
    ];
    for (name, value) in changed {
        pairs.retain(|(other, _)| other != name);
        let value = value.replace("DIR/", &certificates.path(""));
        pairs.extend(Some(((*name).to_owned(), value)).filter(|(_, value)| !value.is_empty()));
    }
    let arguments = pairs.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]).collect();
    Mistake { arguments, reason: reason.replace("DIR/", &certificates.path("")) }
}

fn mistakes(certificates: &Certificates) -> Vec<Mistake> {
    let taken = free_port().to_string();
    let roots = "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-cluster, tls-replication or \
                 tls-auth-clients are enabled!";
    let protocols =
        "Invalid tls-protocols specified. Use a combination of 'TLSv1', 'TLSv1.1', 'TLSv1.2' and 'TLSv1.3'.";
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("tls-cert-file", "")], "No tls-cert-file configured!"),
        (&[("tls-key-file", "")], "No tls-key-file configured!"),
        (&[("tls-ca-cert-file", "")], roots),
        (&[("tls-ca-cert-file", ""), ("tls-auth-clients", "optional")], roots),
        (&[("tls-cert-file", "DIR/nowhere")], "Failed to load certificate: DIR/nowhere: "),
        (&[("tls-cert-file", "DIR/server.key")], "Failed to load certificate: DIR/server.key: "),
        (&[("tls-key-file", "DIR/nowhere")], "Failed to load private key: DIR/nowhere: "),
        (&[("tls-key-file", "DIR/server.crt")], "Failed to load private key: DIR/server.crt: "),
        (&[("tls-key-file", "DIR/client.key")], "Failed to load private key: DIR/client.key: "),
        (&[("tls-ca-cert-file", "DIR/nowhere")], "Failed to configure CA certificate(s) file/directory: "),
        (&[("tls-ca-cert-file", "DIR/ca.key")], "Failed to configure CA certificate(s) file/directory: "),
        (&[("tls-protocols", "TLSv9")], protocols),
        (&[("tls-ciphers", "NOPE")], "Failed to configure ciphers: NOPE"),
        (&[("tls-ciphersuites", "NOPE")], "Failed to configure ciphersuites: NOPE"),
        (&[("tls-dh-params-file", "DIR/nowhere")], "Failed to load DIR/nowhere: No such file or directory"),
        (&[("port", &taken), ("tls-port", &taken)], "Warning: Could not create server TCP listening socket "),
    ];
    cases.iter().map(|(changed, reason)| mistake(certificates, changed, reason)).collect()
}

#[test]
fn unusable_tls_parameters_are_reported_at_the_start() {
    let certificates = Certificates::new();
    let ours = program::path();
    let redis = Kind::Redis.find();
    if redis.is_none() {
        skip(&["redis-server"], "the errors of TLS are not compared with those of redis-server");
    }
    for Mistake { mut arguments, reason } in mistakes(&certificates) {
        let output = run(&ours, &arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        let mut lines = told.lines();
        assert!(lines.next().is_some_and(|line| line.starts_with(&reason)), "{told}");
        let last = lines.next().expect("there are two lines");
        let Some(redis) = &redis else { continue };
        arguments.extend(["--save".to_owned(), String::new()]);
        let output = run(redis, &arguments);
        let log = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {log}");
        let said: Vec<&str> =
            log.lines().filter_map(|line| line.split_once(" # ")).map(|(_, text)| text).collect();
        assert!(said.iter().any(|text| text.starts_with(&reason)), "{log}");
        assert_eq!(said.last(), Some(&last), "{log}");
    }
}

/// Without a port nothing is read: Redis accepts anything then, too.
#[test]
fn certificates_are_not_read_without_a_tls_port() {
    let process = program::Process::start(&["--tls-cert-file", "nowhere", "--tls-protocols", "none"]);
    let mut client = Client::connect(process.addr());
    assert_eq!(client.line("CONFIG SET tls-key-file nowhere tls-ciphers NOPE").to_string(), "+OK");
    let refused = "-ERR CONFIG SET failed (possibly related to argument 'tls-port') - Unable to update TLS \
                   configuration. Check server logs.";
    assert_eq!(client.line(&format!("CONFIG SET tls-port {}", free_port())).to_string(), refused);
    assert_eq!(client.line("CONFIG GET tls-port").to_string(), "[\"tls-port\", \"0\"]");
}

fn arguments(certificates: &Certificates) -> Vec<String> {
    let file = |name| certificates.path(name);
    let pairs = [("cert-file", "server.crt"), ("key-file", "server.key"), ("ca-cert-file", "ca.crt")];
    pairs.into_iter().flat_map(|(name, value)| [format!("--tls-{name}"), file(value)]).collect()
}

fn start(arguments: &[String], more: &[&str]) -> program::Process {
    let all: Vec<&str> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
    program::Process::start(&all)
}

fn port_of(path: &str) -> SocketAddr {
    let text = fs::read_to_string(path).expect("it is written before the server is ready");
    (Ipv4Addr::LOCALHOST, text.trim().parse().expect("it is a port")).into()
}

#[test]
fn a_free_tls_port_is_written_to_its_file() {
    let certificates = Certificates::new();
    let (plain, tls) = (certificates.path("port"), certificates.path("tls-port"));
    let with_tls = ["--tls-port-file", &tls];
    let over = |address| {
        let config = certificates.client_config(Some("client"), rustls::ALL_VERSIONS);
        Client::over(stream(address, config))
    };
    // TLS alone: port 0 then means no other port.
    let process = start(&arguments(&certificates), &with_tls);
    assert_eq!(process.addr(), port_of(&tls), "the ready line has it");
    let mut client = over(port_of(&tls));
    assert_eq!(client.line("CONFIG GET port").to_string(), "[\"port\", \"0\"]");
    drop(process);
    // TLS in addition to a plain port that is requested in the same way.
    let process = start(&arguments(&certificates), &["--port-file", &plain, "--tls-port-file", &tls]);
    assert_eq!(process.addr(), port_of(&plain));
    assert_eq!(Client::connect(port_of(&plain)).line("SET k v").to_string(), "+OK");
    assert_eq!(over(port_of(&tls)).line("GET k").to_string(), "\"v\"");
}

#[test]
fn the_tls_port_can_be_opened_moved_and_closed_at_run_time() {
    let certificates = Certificates::new();
    let process = start(&arguments(&certificates), &[]);
    let mut client = Client::connect(process.addr());
    let config = || certificates.client_config(Some("client"), rustls::ALL_VERSIONS);
    let move_to = |client: &mut Client| {
        // Another process may take the port first, though hardly ten times.
        let mut free = (0..10).map(|_| free_port());
        let port = free.find(|port| client.line(&format!("CONFIG SET tls-port {port}")).to_string() == "+OK");
        SocketAddr::from((Ipv4Addr::LOCALHOST, port.expect("it moves to a free port")))
    };
    let first = move_to(&mut client);
    let mut over = Client::over(stream(first, config()));
    assert_eq!(over.line("PING").to_string(), "+PONG");
    let second = move_to(&mut client);
    assert_eq!(Client::over(stream(second, config())).line("PING").to_string(), "+PONG");
    assert!(std::net::TcpStream::connect(first).is_err());
    assert_eq!(over.line("PING").to_string(), "+PONG", "existing connections stay");
    let taken = process.addr().port();
    let refused = "-ERR CONFIG SET failed (possibly related to argument 'tls-port') - Unable to listen on this port. \
                   Check server logs.";
    assert_eq!(client.line(&format!("CONFIG SET tls-port {taken}")).to_string(), refused);
    let refused = "-ERR CONFIG SET failed (possibly related to argument 'bind') - Failed to bind to specified \
                   addresses.";
    assert_eq!(client.line("CONFIG SET bind 192.0.2.1").to_string(), refused);
    assert_eq!(Client::over(stream(second, config())).line("PING").to_string(), "+PONG");
    assert_eq!(client.line("CONFIG SET tls-port 0").to_string(), "+OK");
    assert!(std::net::TcpStream::connect(second).is_err());
    assert_eq!(over.line("PING").to_string(), "+PONG");
    drop(connected(process.addr()));
}
